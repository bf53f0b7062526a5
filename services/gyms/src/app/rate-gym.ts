/** PUT /gyms/{id}/rating: one score for each user, replaced when he rates again. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, notFound } from '@fitness/shared/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { type Gym, sees } from '../domain/gym.ts';
import type { Parts } from './parts.ts';

export type RateGym = (id: number, score: number, caller: UserCaller) => Promise<Gym>;

const ATTEMPTS = 5;
/** Ratings that one transaction stores at most: it stays short. */
const BATCH_MAX = 25;

interface Rating {
  caller: UserCaller;
  score: number;
  resolve: (gym: Gym) => void;
  reject: (error: unknown) => void;
}

/** Why a rating of a batch is refused, if it is. */
type Refusals = Map<Rating, unknown>;

/**
 * Stores ratings of one gym, in the order they came. They and the gym's sums change together, so the average is exact at
 * every moment. Two first ratings of one user at once meet in the unique index; the one that loses finds the other's and
 * replaces it.
 */
const createRateTogether = ({ gyms, owners, ratings, clock, transact }: Parts) => {
  const rateAll = async (session: ClientSession, id: number, batch: readonly Rating[]) => {
    const refusals: Refusals = new Map();
    const gym = await gyms.find(id, session);
    const add = { sum: 0, count: 0 };
    for (const rating of batch) {
      const { caller, score } = rating;
      if (gym === undefined || !sees(gym, caller)) refusals.set(rating, notFound());
      else if (!(await owners.pin(session, caller.userId)))
        refusals.set(rating, forbidden('the account is erased'));
      else {
        const now = clock.now();
        const before = await ratings.put(session, { gymId: id, userId: caller.userId, score, now });
        add.sum += score - (before ?? 0);
        add.count += before === undefined ? 1 : 0;
      }
    }
    if (refusals.size === batch.length) return { rated: undefined, refusals };
    const rated = await gyms.addRating(session, id, add);
    if (rated === undefined) throw notFound();
    return { rated, refusals };
  };

  return async (id: number, batch: readonly Rating[]) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await transact((session) => rateAll(session, id, batch));
      } catch (error) {
        if (!isDuplicateKey(error) || attempt >= ATTEMPTS) throw error;
      }
    }
  };
};

/**
 * Throws 404, and 403 when the caller's account was erased meanwhile. Ratings of one gym that come while another is being
 * stored wait, and are stored together: what a crowd sends at once to several replicas would have each of them outrun the
 * others until their deadlines, one rating at a time.
 */
export const createRateGym = (parts: Parts): RateGym => {
  const rateTogether = createRateTogether(parts);
  const waiting = new Map<number, Rating[]>();

  const rateWaiting = async (id: number): Promise<void> => {
    const queue = waiting.get(id) ?? [];
    const batch = queue.splice(0, BATCH_MAX);
    if (queue.length === 0) waiting.delete(id);
    if (batch.length === 0) return;
    try {
      const { rated, refusals } = await rateTogether(id, batch);
      for (const rating of batch) {
        if (rated === undefined || refusals.has(rating)) rating.reject(refusals.get(rating) ?? notFound());
        else rating.resolve(rated);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };

  return async (id, score, caller) => {
    await parts.owners.prepare(caller.userId);
    return new Promise((resolve, reject) => {
      const rating = { caller, score, resolve, reject };
      const queue = waiting.get(id);
      if (queue === undefined) waiting.set(id, [rating]);
      else queue.push(rating);
      // As many turns as ratings: whoever comes first takes the others along, and theirs find nothing left.
      void parts.lanes.run(String(id), () => rateWaiting(id));
    });
  };
};
