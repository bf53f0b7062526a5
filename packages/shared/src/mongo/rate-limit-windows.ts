/**
 * Fixed-window counters in MongoDB, exact over any number of replicas: one document per key, changed by conditional
 * updates. The TTL index only removes them. The MongoDB store of rate-limiter-flexible is not used: it writes for every refused
 * request, and its upserts fail under 200 concurrent calls on SecantusDB.
 */
import type { Connection } from 'mongoose';
import { type Clock, SECOND_MS, systemClock } from '../kernel/clock.ts';
import { type RateLimit, type RateLimitState, unusedBudget } from '../kernel/rate-limit.ts';
import { jitteredDelayMs, sleep } from '../kernel/timing.ts';
import { createIndex } from './indexes.ts';
import type { Notice } from './notice.ts';
import { collectionPrivacy, retain } from './privacy.ts';
import { isDuplicateKey, isWriteConflict } from './transaction.ts';

const COLLECTION = 'rate_limits';
/** Enough for several seconds of write conflicts, with jitter. */
const ATTEMPTS = 50;

interface Window {
  _id: string;
  points: number;
  expire: Date;
}

collectionPrivacy<Window>(
  COLLECTION,
  retain(
    'counts for at most a day, by the number of an account, the hash of a login, phone or email, or an address',
    '_id',
    'points',
    'expire',
  ),
);

export interface RateLimitWindows {
  /** Takes one point of the window of `key`, if one is left. Rejects when the database cannot be reached. */
  consume(limit: Pick<RateLimit, 'points' | 'windowS'>, key: string): Promise<RateLimitState>;
  /** The state without taking a point. Rejects when the database cannot be reached. */
  peek(limit: Pick<RateLimit, 'points' | 'windowS'>, key: string): Promise<RateLimitState>;
  /** Gives back a point; does nothing when its window has ended. Rejects when the database cannot be reached. */
  giveBack(key: string): Promise<void>;
}

/** Await it before the first write: concurrent first writers would both create the collection. */
export const createRateLimitIndexes = async (connection: Connection, notice?: Notice): Promise<void> => {
  const collection = connection.collection(COLLECTION);
  await createIndex(collection, { expire: -1 }, { expireAfterSeconds: 0 }, notice);
};

export const createRateLimitWindows = (
  connection: Connection,
  clock: Clock = systemClock,
): RateLimitWindows => {
  const windows = connection.collection<Window>(COLLECTION);

  /** Undefined when another process changed the window between two queries: the caller tries again. */
  const attempt = async (limit: Pick<RateLimit, 'points' | 'windowS'>, key: string) => {
    const now = clock.now();
    const updated = await windows.findOneAndUpdate(
      { _id: key, expire: { $gt: now }, points: { $lt: limit.points } },
      { $inc: { points: 1 } },
      { returnDocument: 'after' },
    );
    if (updated !== null) return toState(limit, updated, now, true);
    const current = await windows.findOne({ _id: key });
    // A spent window is only read: refused requests cause no writes.
    if (current !== null && current.expire > now) {
      return current.points < limit.points ? undefined : toState(limit, current, now, false);
    }
    const fresh = { _id: key, points: 1, expire: new Date(now.getTime() + limit.windowS * SECOND_MS) };
    if (current === null) {
      await windows.insertOne(fresh);
      return toState(limit, fresh, now, true);
    }
    const renewed = await windows.updateOne({ _id: key, expire: current.expire }, { $set: fresh });
    return renewed.matchedCount === 1 ? toState(limit, fresh, now, true) : undefined;
  };

  /** Repeats `work` until it has a result. */
  const repeat = async <Result>(work: () => Promise<Result | undefined>): Promise<Result> => {
    for (let tries = 1; ; tries += 1) {
      try {
        const result = await work();
        if (result !== undefined) return result;
        if (tries >= ATTEMPTS) throw new Error('the rate-limit window kept changing');
      } catch (error) {
        const raced = isDuplicateKey(error) || isWriteConflict(error);
        if (!raced || tries >= ATTEMPTS) throw error;
      }
      await sleep(jitteredDelayMs(tries, 1, 50));
    }
  };

  return {
    consume: (limit, key) => repeat(() => attempt(limit, key)),

    giveBack: async (key) => {
      const isUsed = { _id: key, expire: { $gt: clock.now() }, points: { $gt: 0 } };
      await repeat(() => windows.updateOne(isUsed, { $inc: { points: -1 } }));
    },

    peek: async (limit, key) => {
      const now = clock.now();
      const current = await windows.findOne({ _id: key });
      if (current === null || current.expire <= now) return unusedBudget(limit);
      return toState(limit, current, now, current.points < limit.points);
    },
  };
};

const toState = (
  limit: Pick<RateLimit, 'points'>,
  { points, expire }: Window,
  now: Date,
  allowed: boolean,
): RateLimitState => ({
  allowed,
  limit: limit.points,
  remaining: Math.max(0, limit.points - points),
  resetS: Math.max(1, Math.ceil((expire.getTime() - now.getTime()) / SECOND_MS)),
});
