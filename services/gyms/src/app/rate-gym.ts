/** PUT /gyms/{id}/rating: one score per user. Rating again replaces it. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Gym, sees } from '../domain/gym.ts';

const ATTEMPTS = 5;
/** Keeps the transaction short. */
const BATCH_MAX = 25;

interface Rating {
  caller: UserCaller;
  score: number;
  resolve: (gym: Gym) => void;
  reject: (error: unknown) => void;
}

/** The errors of those ratings of a batch that were refused. */
type Refusals = Map<Rating, unknown>;

/**
 * Stores ratings of one gym in the order they arrived, together with the sums of the gym, so the average is always exact. If a user
 * sends two first ratings concurrently, the unique index refuses one. Its batch runs again and replaces the other score.
 */
const createStoreBatch = ({ store, clock }: Dependencies) => {
  const storeAll = async (session: ClientSession, id: number, batch: readonly Rating[]) => {
    const refusals: Refusals = new Map();
    const gym = await store.gyms.find(id, session);
    const add = { sum: 0, count: 0 };
    for (const rating of batch) {
      const { caller, score } = rating;
      if (gym === undefined || !sees(gym, caller)) refusals.set(rating, notFound());
      else if (gym.ownerId === caller.userId)
        refusals.set(rating, forbidden('owners do not rate their own gym'));
      else if (!(await store.owners.lockUnlessErased(session, caller.userId)))
        refusals.set(rating, forbidden('the account is erased'));
      else {
        const now = clock.now();
        const before = await store.ratings.put(session, { gymId: id, userId: caller.userId, score, now });
        add.sum += score - (before ?? 0);
        add.count += before === undefined ? 1 : 0;
      }
    }
    if (refusals.size === batch.length) return { rated: undefined, refusals };
    const rated = await store.gyms.addRating(session, id, add);
    if (rated === undefined) throw notFound();
    return { rated, refusals };
  };

  return async (id: number, batch: readonly Rating[]) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await store.transaction((session) => storeAll(session, id, batch));
      } catch (error) {
        if (!isDuplicateKey(error) || attempt >= ATTEMPTS) throw error;
      }
    }
  };
};

/**
 * Throws 404 for a gym that the caller may not see. Throws 403 if they own it, or if their account has since been erased.
 * Ratings that arrive while others of the gym are being stored wait, and are then stored together. Stored one by one, many
 * concurrent ratings on several replicas would conflict until their transactions time out.
 */
export const createRateGym = (dependencies: Dependencies) => {
  const { store, gymQueue } = dependencies;
  const storeBatch = createStoreBatch(dependencies);
  const waiting = new Map<number, Rating[]>();

  const storeWaiting = async (id: number): Promise<void> => {
    const queue = waiting.get(id) ?? [];
    const batch = queue.splice(0, BATCH_MAX);
    if (queue.length === 0) waiting.delete(id);
    if (batch.length === 0) return;
    try {
      const { rated, refusals } = await storeBatch(id, batch);
      for (const rating of batch) {
        if (rated === undefined || refusals.has(rating)) rating.reject(refusals.get(rating) ?? notFound());
        else rating.resolve(rated);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };

  return async (id: number, score: number, caller: UserCaller): Promise<Gym> => {
    await store.owners.ensureExists(caller.userId);
    return new Promise((resolve, reject) => {
      const rating = { caller, score, resolve, reject };
      const queue = waiting.get(id);
      if (queue === undefined) waiting.set(id, [rating]);
      else queue.push(rating);
      // Each rating queues a run. The first run stores up to a whole batch; a run that finds no rating waiting does nothing.
      void gymQueue.run(String(id), () => storeWaiting(id));
    });
  };
};
