/**
 * Fixed-window limits, exact over any number of replicas: counted in Redis, and in MongoDB while Redis is gone. The
 * counters of the two are apart: a window that a change of store cuts in two starts anew.
 */
import type { Redis } from 'ioredis';
import type { Connection } from 'mongoose';
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import { AppError, message, unavailable } from '../error.ts';
import type { RateLimit, RateLimitState } from './rate-limit-types.ts';
import { createWindowCounter } from './window-counter.ts';

export interface RateLimiter {
  /** Takes one point of `key`'s budget. Throws `unavailable` when neither store can count. */
  consume(limit: RateLimit, key: string): Promise<RateLimitState>;
}

export interface RateLimiterOptions {
  redis: Redis;
  /** Without one each process counts for itself while Redis is gone. */
  connection?: Connection | undefined;
  /** Separates test runs that share a Redis. */
  keyPrefix: string;
}

type Count = (key: string) => Promise<RateLimitState>;

export const createRateLimiter = ({ redis, connection, keyPrefix }: RateLimiterOptions): RateLimiter => {
  const windows = connection === undefined ? undefined : createWindowCounter(connection);
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

/** The library rejects with its result when the budget is spent, and with an error when it could not count. */
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

/** 429 with its headers, wherever it is thrown: some budgets are taken only after the body is read. */
export const rateLimited = (state: RateLimitState): AppError =>
  new AppError({
    kind: 'rate_limited',
    code: 'rate_limited',
    message: message('error.rate_limited'),
    retryAfterS: state.resetS,
    headers: rateLimitHeaders(state),
  });

export const rateLimitHeaders = (state: RateLimitState): Record<string, string> => ({
  'x-ratelimit-limit': String(state.limit),
  'x-ratelimit-remaining': String(state.remaining),
});
