/** The blockers of content for the deletion of an account (specification 4.1, rule 5). */
import type { BlockersOf } from '@fitness/contracts/blockers.ts';
import type { Dependencies } from '../dependencies.ts';

export const createBlockers = ({ store }: Dependencies): BlockersOf<'content'> => ({
  /** The seller’s undelivered trainees that are paid or may be paid. */
  active_trainees: async (userId) => {
    const count = await store.trainees.countUndelivered(userId);
    return count === 0 ? undefined : { count };
  },
});
