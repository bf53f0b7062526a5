/** PUT /gyms/{id}/rating: one score for each user, replaced when he rates again. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, notFound } from '@fitness/shared/error.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { type Gym, sees } from '../domain/gym.ts';
import type { Parts } from './parts.ts';

export type RateGym = (id: number, score: number, caller: UserCaller) => Promise<Gym>;

const ATTEMPTS = 5;

/**
 * Throws 404, 403 when the caller's account was erased meanwhile. The rating and the gym's sums change together, so the average is exact at every moment. Two first
 * ratings of one user at once meet in the unique index; the one that loses finds the other's and replaces it.
 */
export const createRateGym = ({ gyms, owners, ratings, clock, lanes, transact }: Parts): RateGym => {
  const rate: RateGym = (id, score, caller) =>
    transact(async (session) => {
      const gym = await gyms.find(id, session);
      if (gym === undefined || !sees(gym, caller)) throw notFound();
      if (!(await owners.pin(session, caller.userId))) throw forbidden('the account is erased');
      const rating = { gymId: id, userId: caller.userId, score, now: clock.now() };
      const before = await ratings.put(session, rating);
      const add = { sum: score - (before ?? 0), count: before === undefined ? 1 : 0 };
      const rated = await gyms.addRating(session, id, add);
      if (rated === undefined) throw notFound();
      return rated;
    });
  const rateOnce: RateGym = async (id, score, caller) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await rate(id, score, caller);
      } catch (error) {
        if (!isDuplicateKey(error) || attempt >= ATTEMPTS) throw error;
      }
    }
  };
  return async (id, score, caller) => {
    await owners.prepare(caller.userId);
    return lanes.run(String(id), () => rateOnce(id, score, caller));
  };
};
