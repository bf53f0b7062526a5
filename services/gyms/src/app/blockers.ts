/** What blocks the deletion of an account (specification 4.1, rule 5). */
import type { BlockersOf } from '@fitness/contracts/blockers.ts';
import type { Dependencies } from '../dependencies.ts';

export const createBlockers = ({ store }: Dependencies): BlockersOf<'gyms'> => ({
  /** The user owns one or more gyms, active or not. */
  gym_ownership: async (userId) => {
    const count = await store.gyms.countOwnedBy(userId);
    return count === 0 ? undefined : { count };
  },
});
