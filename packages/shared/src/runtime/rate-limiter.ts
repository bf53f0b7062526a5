/**
 * Fixed-window limits, exact over any number of replicas: counted in Redis, and in MongoDB while Redis is down. The two
 * do not share counters: a change between them starts a new window. A durable limit is counted in MongoDB only.
 */
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import { type AdvancingClock, SECOND_MS, systemClock } from '../kernel/clock.ts';
import { unavailable } from '../kernel/error.ts';
import { type RateLimit, type RateLimiter, type RateLimitState, unusedBudget } from '../kernel/rate-limit.ts';
import type { Connection } from '../mongo/connect.ts';
import { createRateLimitWindows } from '../mongo/rate-limit-windows.ts';
import type { Redis } from './redis.ts';

export interface RateLimiterOptions {
  redis: Redis;
  /** Without it each process counts in memory while Redis is down, and no limit is durable. */
  connection?: Connection | undefined;
  /** Separates test runs that share a Redis. */
  keyPrefix: string;
  clock?: AdvancingClock;
}

type Count = (key: string) => Promise<RateLimitState>;

interface Counter {
  consume: Count;
  peek: Count;
}

export const createRateLimiter = ({
  redis,
  connection,
  keyPrefix,
  clock = systemClock,
}: RateLimiterOptions): RateLimiter => {
  const windows = connection === undefined ? undefined : createRateLimitWindows(connection, clock);
  /** Counters by the name and points of their limit. */
  const counters = new Map<string, readonly Counter[]>();

  const prefixOf = (limit: RateLimit): string => `${keyPrefix}:limit:${limit.name}`;

  /** The counters in the order in which they are tried. */
  const createCounters = (limit: RateLimit): readonly Counter[] => {
    const prefix = prefixOf(limit);
    const options = { keyPrefix: prefix, points: limit.points, duration: limit.windowS };
    const stored = windows && {
      consume: (key: string) => windows.consume(limit, `${prefix}:${key}`),
      peek: (key: string) => windows.peek(limit, `${prefix}:${key}`),
    };
    if (limit.durable === true && stored !== undefined) return [stored];
    const inRedis = countWith(
      limit,
      new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true }),
      clock,
    );
    return [inRedis, stored ?? countWith(limit, new RateLimiterMemory(options), clock)];
  };

  const notCounted = (limit: RateLimit, failure: unknown) =>
    unavailable(`the limit ${limit.name} could not be counted`, failure);

  const ask = async (limit: RateLimit, key: string, method: keyof Counter): Promise<RateLimitState> => {
    // A part of a limit has its name and fewer points.
    const id = `${limit.name}:${limit.points}`;
    const existing = counters.get(id) ?? createCounters(limit);
    counters.set(id, existing);
    let failure: unknown;
    for (const counter of existing) {
      try {
        return await counter[method](key);
      } catch (error) {
        failure = error;
      }
    }
    throw notCounted(limit, failure);
  };

  return {
    consume: (limit, key) => ask(limit, key, 'consume'),
    peek: (limit, key) => ask(limit, key, 'peek'),
    giveBack: async (limit, key) => {
      if (windows === undefined) throw new Error('without MongoDB no limit is durable');
      try {
        await windows.giveBack(`${prefixOf(limit)}:${key}`);
      } catch (error) {
        throw notCounted(limit, error);
      }
    },
  };
};

/**
 * The library rejects with a result when the budget is spent, and with an error when it cannot count. Its windows end in real time: one
 * that has ended by an advance of `clock` begins again.
 */
const countWith = (
  limit: RateLimit,
  limiter: RateLimiterRedis | RateLimiterMemory,
  clock: AdvancingClock,
): Counter => {
  const windowMs = limit.windowS * SECOND_MS;

  const leftMs = ({ msBeforeNext }: RateLimiterRes): number =>
    msBeforeNext - clock.advancedWithin(windowMs - msBeforeNext);

  const current = async (key: string): Promise<RateLimiterRes | null> => {
    const window = await limiter.get(key);
    if (window === null || leftMs(window) > 0 || clock.advancedWithin(windowMs) === 0) return window;
    await limiter.set(key, 0, limit.windowS);
    return null;
  };

  const toState = (result: RateLimiterRes, allowed: boolean): RateLimitState => ({
    allowed,
    limit: limit.points,
    remaining: Math.max(0, result.remainingPoints),
    resetS: Math.max(1, Math.ceil(leftMs(result) / SECOND_MS)),
  });

  return {
    consume: async (key) => {
      if (clock.advancedWithin(windowMs) > 0) await current(key);
      try {
        return toState(await limiter.consume(key), true);
      } catch (outcome) {
        if (typeof (outcome as RateLimiterRes | null)?.msBeforeNext !== 'number') throw outcome;
        return toState(outcome as RateLimiterRes, false);
      }
    },
    peek: async (key) => {
      const window = await current(key);
      return window === null ? unusedBudget(limit) : toState(window, window.remainingPoints > 0);
    },
  };
};
