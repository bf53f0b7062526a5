import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Boost } from '../domain/boost.ts';

/** The read model of boosts, for the order of the list. The boost in a response comes from store-billing. */
export const createUpdateBoost =
  ({ store }: Pick<Dependencies, 'store'>) =>
  (session: ClientSession, gymId: number, boost: Boost): Promise<void> =>
    store.gyms.saveBoost(session, gymId, boost);
