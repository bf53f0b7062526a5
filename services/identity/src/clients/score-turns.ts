/** Whose turn it is to compute a cold referral score, over all replicas. Lost turns cost work, never a wrong score. */
import type { Random } from '@fitness/shared/clock.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { Redis } from '@fitness/shared/redis.ts';

export interface ScoreTurns {
  /**
   * How to end the turn, or undefined while another process has it. Without Redis everyone has a turn: a score that is
   * computed twice is better than none.
   */
  take(userId: number): Promise<(() => Promise<void>) | undefined>;
}

/** A holder that died keeps the others waiting for this long at most; one that lives renews its turn. */
const TURN_MS = 10_000;
const RENEW_MS = 3_000;
// Only the own turn: it may be over, and another's by now.
const IF_OWN = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end";
const RENEW = `${IF_OWN} return redis.call('pexpire', KEYS[1], ARGV[2])`;
const RELEASE = `${IF_OWN} return redis.call('del', KEYS[1])`;

export const createScoreTurns = (
  redis: Redis,
  { keyPrefix, random, log }: { keyPrefix: string; random: Random; log: Logger },
): ScoreTurns => ({
  take: async (userId) => {
    const key = `${keyPrefix}:referral-score:${userId}`;
    const holder = random.uuid();
    try {
      if ((await redis.set(key, holder, 'PX', TURN_MS, 'NX')) === null) return undefined;
    } catch (error) {
      log.warn(
        { err: error },
        'a referral score is computed without asking whether another process is at it',
      );
      return async () => {};
    }
    // What fails here leaves a turn that ends by itself.
    const renewal = setInterval(() => {
      redis.eval(RENEW, 1, key, holder, TURN_MS).catch(() => {});
    }, RENEW_MS);
    return async () => {
      clearInterval(renewal);
      await redis.eval(RELEASE, 1, key, holder).catch(() => {});
    };
  },
});
