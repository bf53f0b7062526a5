/**
 * Distributed locks in Redis, one for each referral score that is being computed. They only avoid duplicate work: the score
 * is correct without them.
 */
import type { Random } from '@fitness/shared/kernel/clock.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { Redis } from '@fitness/shared/runtime/redis.ts';

export interface ScoreLocks {
  /**
   * Returns a function that releases the lock; undefined while it has another holder. When Redis does not respond, every
   * caller acquires the lock.
   */
  acquire(userId: number): Promise<(() => Promise<void>) | undefined>;
}

/** The lock of a crashed process expires after this time; a living holder renews it. */
const LOCK_TTL_MS = 10_000;
// An expired lock may belong to another holder by now.
const IF_HELD = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end";
const RENEW = `${IF_HELD} return redis.call('pexpire', KEYS[1], ARGV[2])`;
const RELEASE = `${IF_HELD} return redis.call('del', KEYS[1])`;

interface ScoreLocksOptions {
  keyPrefix: string;
  random: Random;
  log: Logger;
  /** How often a holder renews its lock, in milliseconds. */
  renewIntervalMs?: number;
}

export const createScoreLocks = (
  redis: Redis,
  { keyPrefix, random, log, renewIntervalMs = 3_000 }: ScoreLocksOptions,
): ScoreLocks => ({
  acquire: async (userId) => {
    const key = `${keyPrefix}:referral-score:${userId}`;
    const holder = random.uuid();
    try {
      if ((await redis.set(key, holder, 'PX', LOCK_TTL_MS, 'NX')) === null) return undefined;
    } catch (error) {
      log.warn({ err: error }, 'a referral score is computed without a lock');
      return async () => {};
    }
    // When renewal or release fails, the lock expires by itself.
    const renewal = setInterval(() => {
      redis.eval(RENEW, 1, key, holder, LOCK_TTL_MS).catch(() => {});
    }, renewIntervalMs);
    return async () => {
      clearInterval(renewal);
      await redis.eval(RELEASE, 1, key, holder).catch(() => {});
    };
  },
});
