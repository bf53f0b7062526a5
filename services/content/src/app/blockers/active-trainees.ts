import type { BlockerExtras } from '@fitness/shared/blocker-catalogue.ts';
import type { Parts } from '../parts.ts';

/** Trainees of the user's services that are paid, or being paid, and not yet delivered (specification 4.1, rule 5). */
export const activeTrainees =
  ({ store }: Pick<Parts, 'store'>) =>
  async (userId: number): Promise<BlockerExtras<'active_trainees'> | undefined> => {
    const count = await store.trainees.countUndelivered(userId);
    return count === 0 ? undefined : { count };
  };
