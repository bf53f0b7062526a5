/**
 * Fixed-window limits, exact over any number of replicas: counted in Redis, and in MongoDB while Redis is down. The two
 * do not share counters: a change between them starts a new window.
 */

import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import { unavailable } from '../kernel/error.ts';
import type { RateLimit, RateLimiter, RateLimitState } from '../kernel/rate-limit.ts';
import type { Connection } from '../mongo/connect.ts';
import { createRateLimitWindows } from '../mongo/rate-limit-windows.ts';
import type { Redis } from './redis.ts';

export interface RateLimiterOptions {
  redis: Redis;
  /** Without it each process counts in memory while Redis is down. */
  connection?: Connection | undefined;
  /** Separates test runs that share a Redis. */
  keyPrefix: string;
}

type Count = (key: string) => Promise<RateLimitState>;

export const createRateLimiter = ({ redis, connection, keyPrefix }: RateLimiterOptions): RateLimiter => {
  const windows = connection === undefined ? undefined : createRateLimitWindows(connection);
  const counters = new Map<string, { count: Count; fallback: Count }>();
  const countersOf = (limit: RateLimit): { count: Count; fallback: Count } => {
    const known = counters.get(limit.name);
    if (known !== undefined) return known;
    const prefix = `${keyPrefix}:limit:${limit.name}`;
    const options = { keyPrefix: prefix, points: limit.points, duration: limit.windowS };
    const made = {
      count: countWith(
        limit,
        new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true }),
      ),
      fallback:
        windows === undefined
          ? countWith(limit, new RateLimiterMemory(options))
          : (key: string) => windows.take(limit, `${prefix}:${key}`),
    };
    counters.set(limit.name, made);
    return made;
  };
  return {
    consume: async (limit, key) => {
      const { count, fallback } = countersOf(limit);
      try {
        return await count(key);
      } catch {
        return await fallback(key).catch((error: unknown) => {
          throw unavailable(`the limit ${limit.name} could not be counted`, error);
        });
      }
    },
  };
};

/** The library rejects with a result when the budget is spent, and with an error when it cannot count. */
const countWith =
  (limit: RateLimit, limiter: RateLimiterRedis | RateLimiterMemory): Count =>
  async (key) => {
    try {
      return toState(limit, await limiter.consume(key), true);
    } catch (outcome) {
      if (typeof (outcome as RateLimiterRes | null)?.msBeforeNext !== 'number') throw outcome;
      return toState(limit, outcome as RateLimiterRes, false);
    }
  };

const toState = (limit: RateLimit, result: RateLimiterRes, allowed: boolean): RateLimitState => ({
  allowed,
  limit: limit.points,
  remaining: Math.max(0, result.remainingPoints),
  resetS: Math.max(1, Math.ceil(result.msBeforeNext / 1_000)),
});
