import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';
import { activityOf, type TrainingService } from '../domain/training-service.ts';
import { publishTrainingServiceDeleted } from './publish.ts';

/** Updates the counters and publishes each removal, in the transaction that removes the training services. */
export const createRecordRemoval = (dependencies: Pick<Dependencies, 'store' | 'outbox'>) => {
  const { store } = dependencies;
  return async (session: ClientSession, removed: readonly TrainingService[]): Promise<void> => {
    if (removed.length === 0) return;
    const active = removed.filter((service) => activityOf(service) === 'active').length;
    const ids = removed.map(({ id }) => id);
    // Not `-active`, which would be -0 for none.
    const deltas = { active: 0 - active, inactive: active - removed.length };
    await store.counters.incrementServices(session, deltas, { shardKey: ids[0] ?? 0, changed: ids });
    for (const service of removed) await publishTrainingServiceDeleted(dependencies, session, service);
  };
};

/** One step: deletes the boosts of a deleted training service. Nobody reads them, and no new ones are added. */
export const createDeleteBoosts =
  ({ store }: Pick<Dependencies, 'store'>) =>
  (session: ClientSession, trainingServiceId: number): Promise<Rest> =>
    oneStep((limit) => store.boosts.removeOf(session, trainingServiceId, limit));
