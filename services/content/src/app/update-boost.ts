import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Boost } from '../domain/boost.ts';

/** The read model of boosts, for the order of the list. The boost in a response comes from store-billing. */
export const createUpdateBoost =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (session: ClientSession, boost: Boost, version: number): Promise<void> => {
    if (!(await store.boosts.saveIfNewer(session, boost, version))) return;
    const last = await store.boosts.last(session, boost.trainingServiceId);
    await store.trainingServices.setBoost(session, boost.trainingServiceId, last);
  };
