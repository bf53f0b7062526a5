import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Boost } from '../domain/boost.ts';
import type { TrainingService } from '../domain/training-service.ts';

/**
 * Updates the read model of boosts, which orders the list. Returns the boosted training service; undefined, without a write, if it
 * is deleted or the event is not newer.
 */
export const createUpdateBoost =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (session: ClientSession, boost: Boost, version: number): Promise<TrainingService | undefined> => {
    const service = await store.trainingServices.find(boost.trainingServiceId, session);
    if (service === undefined || !(await store.boosts.saveIfNewer(session, boost, version))) return undefined;
    const last = await store.boosts.last(session, service.id);
    await store.trainingServices.setBoost(session, service.id, last);
    return service;
  };
