import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { activityOf } from '../domain/training-service.ts';
import { publishTrainingServiceDeleted } from './publish.ts';

/** Removes a training service and its boosts, updates the counters, and publishes it. Nothing for an unknown one. */
export const createRemoveTrainingService = (dependencies: Pick<Dependencies, 'store' | 'outbox'>) => {
  const { store } = dependencies;
  return async (session: ClientSession, id: number): Promise<void> => {
    const removed = await store.trainingServices.remove(session, id);
    if (removed === undefined) return;
    await store.counters.incrementServices(session, { [activityOf(removed)]: -1 });
    await store.boosts.removeOf(session, id);
    await publishTrainingServiceDeleted(dependencies, session, removed);
  };
};
