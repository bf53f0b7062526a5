/** `gym_ownership`: the user owns one or more gyms, active or not (specification 4.1, rule 5). */
import type { BlockerExtras } from '@fitness/shared/blocker-catalogue.ts';
import type { Parts } from '../parts.ts';

/** The extra keys of the blocker, or undefined when it does not apply. */
export type EvaluateBlocker = (userId: number) => Promise<BlockerExtras<'gym_ownership'> | undefined>;

export const createGymOwnership =
  ({ gyms }: Pick<Parts, 'gyms'>): EvaluateBlocker =>
  async (userId) => {
    const count = await gyms.countOwnedBy(userId);
    return count === 0 ? undefined : { count };
  };
