/**
 * Referral counts and scores (specification 2.2). Counts are always current. A score is cached for ten hours, and computed
 * once for all concurrent readers. Readers in one process share a promise; other processes wait for the stored result.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { createFairQueue } from '@fitness/shared/kernel/fair-queue.ts';
import { outsideRequest } from '@fitness/shared/kernel/request-scope.ts';
import type { Dependencies } from '../../dependencies.ts';
import { computeScore } from '../../domain/referral-score.ts';
import type { CachedScore } from '../../store/referral-scores.ts';

const CACHE_MS = 10 * HOUR_MS;
/** A computation may hold the ids of a whole level in memory. */
const MAX_COMPUTATIONS = 4;
const POLL_INTERVAL_MS = 50;

export interface Referrals {
  count: number;
  score: number;
}

export interface ReferralsReader {
  /**
   * Reads the referrals of each of these users. A score that takes longer than `timeoutMs` is replaced by the last stored
   * score of any age, or else by the count. The count is the score of the direct referrals alone, and never exceeds it.
   */
  read(
    userIds: readonly number[],
    options?: { timeoutMs?: number | undefined },
  ): Promise<Map<number, Referrals>>;
}

const freshScore = (cached: CachedScore | undefined, now: Date): number | undefined =>
  cached !== undefined && cached.computed_at.getTime() > now.getTime() - CACHE_MS ? cached.score : undefined;

export const createReferralsReader = ({
  store,
  scoreLocks,
  clock,
}: Pick<Dependencies, 'store' | 'scoreLocks' | 'clock'>): ReferralsReader => {
  const computations = new Map<number, Promise<number>>();
  const queue = createFairQueue({ maxRunning: MAX_COMPUTATIONS });

  const compute = async (userId: number): Promise<number> => {
    const computedAt = clock.now();
    const score = await computeScore(userId, store.users);
    await store.scores.save({ _id: userId, score, computed_at: computedAt });
    return score;
  };

  /** Computes the score, or waits until the process that holds the lock has stored it. */
  const computeOrWait = async (userId: number): Promise<number> => {
    for (;;) {
      const release = await scoreLocks.acquire(userId);
      try {
        // Another process may have stored it before this one acquired the lock.
        const score = freshScore((await store.scores.findLast([userId])).get(userId), clock.now());
        if (score !== undefined) return score;
        if (release !== undefined) return await queue('scores', () => compute(userId));
      } finally {
        await release?.();
      }
      await sleep(POLL_INTERVAL_MS);
    }
  };

  const sharedComputation = (userId: number): Promise<number> => {
    const running = computations.get(userId);
    if (running !== undefined) return running;
    // The deadline of the first request does not apply, because other requests wait for the same computation.
    const started = outsideRequest(() => computeOrWait(userId)).finally(() => computations.delete(userId));
    computations.set(userId, started);
    return started;
  };

  return {
    read: async (userIds, { timeoutMs } = {}) => {
      const counts = await store.users.countReferralsByUser(userIds);
      // Without referrals the score is 0 and not cached: the ten hours begin with the first referral.
      const referrerIds = [...counts.keys()];
      const cached = await store.scores.findLast(referrerIds);
      const scoreOf = async (userId: number, timeout: Promise<unknown> | undefined): Promise<number> => {
        const last = cached.get(userId);
        const fresh = freshScore(last, clock.now());
        if (fresh !== undefined) return fresh;
        const score = sharedComputation(userId);
        if (timeout === undefined) return score;
        return Promise.race([score, timeout.then(() => last?.score ?? counts.get(userId) ?? 0)]);
      };
      const scored = await withTimeout(timeoutMs, (timeout) =>
        Promise.all(referrerIds.map(async (userId) => [userId, await scoreOf(userId, timeout)] as const)),
      );
      const scoreById = new Map(scored);
      return new Map(
        userIds.map((userId) => [
          userId,
          { count: counts.get(userId) ?? 0, score: scoreById.get(userId) ?? 0 },
        ]),
      );
    },
  };
};

/** Passes to `work` a promise that resolves after `timeoutMs`; undefined without a timeout. */
const withTimeout = async <T>(
  timeoutMs: number | undefined,
  work: (timeout: Promise<unknown> | undefined) => Promise<T>,
): Promise<T> => {
  if (timeoutMs === undefined) return work(undefined);
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  try {
    return await work(timeout);
  } finally {
    clearTimeout(timer);
  }
};
