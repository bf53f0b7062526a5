/**
 * Fixed-window limits, exact over any number of replicas: counted in Redis, and in MongoDB while Redis is gone. The
 * counters of the two are apart: a window that a change of store cuts in two starts anew.
 */
import type { Redis } from 'ioredis';
import type { Connection } from 'mongoose';
import {
  RateLimiterMemory,
  RateLimiterMongo,
  RateLimiterRedis,
  type RateLimiterRes,
} from 'rate-limiter-flexible';
import { AppError, message } from '../error.ts';

export interface RateLimit {
  /** Part of the key: two routes with one name share one budget. */
  name: string;
  points: number;
  windowS: number;
}

export interface RateLimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  resetS: number;
}

export interface RateLimiter {
  /** Takes one point of `key`'s budget. */
  consume(limit: RateLimit, key: string): Promise<RateLimitState>;
}

const COLLECTION = 'rate_limits';

export interface RateLimiterOptions {
  redis: Redis;
  /** Without one each process counts for itself while Redis is gone. */
  connection?: Connection | undefined;
  /** Separates test runs that share a Redis. */
  keyPrefix: string;
}

/** The index that the fallback needs; awaited at start, before the first write. */
export const createRateLimitIndexes = async (connection: Connection): Promise<void> => {
  const collection = connection.collection(COLLECTION);
  await collection.createIndex({ expire: -1 }, { expireAfterSeconds: 0 });
  await collection.createIndex({ key: 1 }, { unique: true });
};

export const createRateLimiter = ({ redis, connection, keyPrefix }: RateLimiterOptions): RateLimiter => {
  const limiters = new Map<string, RateLimiterRedis>();
  const limiterOf = (limit: RateLimit): RateLimiterRedis => {
    const known = limiters.get(limit.name);
    if (known !== undefined) return known;
    const common = {
      keyPrefix: `${keyPrefix}:limit:${limit.name}`,
      points: limit.points,
      duration: limit.windowS,
    };
    const fallback =
      connection === undefined
        ? new RateLimiterMemory(common)
        : new RateLimiterMongo({
            ...common,
            storeClient: connection,
            tableName: COLLECTION,
            disableIndexesCreation: true,
          });
    const limiter = new RateLimiterRedis({
      ...common,
      storeClient: redis,
      rejectIfRedisNotReady: true,
      insuranceLimiter: fallback,
    });
    limiters.set(limit.name, limiter);
    return limiter;
  };
  return {
    consume: async (limit, key) => {
      try {
        return toState(limit, await limiterOf(limit).consume(key), true);
      } catch (outcome) {
        // The library rejects with its result when the budget is spent, and with an error when it could not count.
        if (typeof (outcome as RateLimiterRes | null)?.msBeforeNext !== 'number') throw outcome;
        return toState(limit, outcome as RateLimiterRes, false);
      }
    },
  };
};

const toState = (limit: RateLimit, result: RateLimiterRes, allowed: boolean): RateLimitState => ({
  allowed,
  limit: limit.points,
  remaining: Math.max(0, result.remainingPoints),
  resetS: Math.max(1, Math.ceil(result.msBeforeNext / 1_000)),
});

export const rateLimited = (state: RateLimitState): AppError =>
  new AppError({
    kind: 'rate_limited',
    code: 'rate_limited',
    message: message('error.rate_limited'),
    retryAfterS: state.resetS,
  });

export const rateLimitHeaders = (state: RateLimitState): Record<string, string> => ({
  'x-ratelimit-limit': String(state.limit),
  'x-ratelimit-remaining': String(state.remaining),
});
