import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Boost } from '../domain/boost.ts';
import type { Gym } from '../domain/gym.ts';

/**
 * Updates the read model of boosts, which orders the list. The boost in a response comes from store-billing. Returns the boosted
 * gym, or undefined without a write when the gym is deleted or the event is not newer.
 */
export const createUpdateBoost =
  ({ store }: Pick<Dependencies, 'store'>) =>
  (session: ClientSession, gymId: number, boost: Boost): Promise<Gym | undefined> =>
    store.gyms.saveBoost(session, gymId, boost);
