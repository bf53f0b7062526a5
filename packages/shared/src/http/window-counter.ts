/**
 * Fixed windows counted in MongoDB, exact over any number of replicas: one document a key, changed by updates that
 * carry their own condition. Real time, as in Redis.
 */
import type { Connection } from 'mongoose';
import { SECOND_MS, systemClock } from '../clock.ts';
import { jitteredDelayMs, sleep } from '../mongo/backoff.ts';
import { collectionPrivacy, retain } from '../mongo/privacy.ts';
import { isDuplicateKey } from '../mongo/transaction.ts';
import type { RateLimit, RateLimitState } from './rate-limit-types.ts';

const COLLECTION = 'rate_limits';
const WRITE_CONFLICT = 112;
/** With jitter, several seconds of a database that answers nothing but conflicts. */
const ATTEMPTS = 50;

interface Window {
  /** The key. */
  _id: string;
  points: number;
  expire: Date;
}

collectionPrivacy<Window>(
  COLLECTION,
  retain(
    'counts for a minute, by the number of an account or the hash of a login',
    '_id',
    'points',
    'expire',
  ),
);

export interface WindowCounter {
  /** Takes one point of the window of `key`, if there is one left. Rejects when the database cannot be asked. */
  take(limit: Pick<RateLimit, 'points' | 'windowS'>, key: string): Promise<RateLimitState>;
}

/** Awaited at start, before the first write: two first writers would both make the collection. */
export const createRateLimitIndexes = async (connection: Connection): Promise<void> => {
  const collection = connection.collection(COLLECTION);
  await collection.createIndex({ expire: -1 }, { expireAfterSeconds: 0 });
};

export const createWindowCounter = (connection: Connection): WindowCounter => {
  const windows = connection.collection<Window>(COLLECTION);

  /** Undefined when somebody else began or ended the window between two questions: ask again. */
  const attempt = async (limit: Pick<RateLimit, 'points' | 'windowS'>, key: string) => {
    const now = systemClock.now();
    const taken = await windows.findOneAndUpdate(
      { _id: key, expire: { $gt: now }, points: { $lt: limit.points } },
      { $inc: { points: 1 } },
      { returnDocument: 'after' },
    );
    if (taken !== null) return toState(limit, taken, now, true);
    const standing = await windows.findOne({ _id: key });
    // A spent window is only read: whoever hammers at it causes no writes.
    if (standing !== null && standing.expire > now) {
      return standing.points < limit.points ? undefined : toState(limit, standing, now, false);
    }
    const fresh = { _id: key, points: 1, expire: new Date(now.getTime() + limit.windowS * SECOND_MS) };
    if (standing === null) {
      await windows.insertOne(fresh);
      return toState(limit, fresh, now, true);
    }
    const renewed = await windows.updateOne({ _id: key, expire: standing.expire }, { $set: fresh });
    return renewed.matchedCount === 1 ? toState(limit, fresh, now, true) : undefined;
  };

  return {
    take: async (limit, key) => {
      for (let tries = 1; ; tries += 1) {
        try {
          const state = await attempt(limit, key);
          if (state !== undefined) return state;
          if (tries >= ATTEMPTS) throw new Error('the window could not be agreed upon');
        } catch (error) {
          const raced = isDuplicateKey(error) || (error as { code?: unknown }).code === WRITE_CONFLICT;
          if (!raced || tries >= ATTEMPTS) throw error;
        }
        await sleep(jitteredDelayMs(tries, 1, 50));
      }
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
