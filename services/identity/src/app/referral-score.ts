/**
 * Referral counts and scores (specification 2.2). The score goes level by level, in batches, and is kept for ten hours;
 * the count is always counted.
 */
import { type Clock, HOUR_MS } from '@fitness/shared/clock.ts';
import { addLevel, canStillChange, EMPTY_SCORE } from '../domain/referral-score.ts';
import type { ReferralScoreStore } from '../store/referral-scores.ts';
import type { UserStore } from '../store/users.ts';

const KEPT_MS = 10 * HOUR_MS;
const BATCH = 1_000;

export interface Referrals {
  count: number;
  score: number;
}

export interface ReferralsReader {
  /** For each of these users. */
  read(userIds: readonly number[]): Promise<Map<number, Referrals>>;
}

export interface ReferralsReaderParts {
  users: UserStore;
  scores: ReferralScoreStore;
  clock: Clock;
}

export const createReferralsReader = ({ users, scores, clock }: ReferralsReaderParts): ReferralsReader => {
  const computing = new Map<number, Promise<number>>();

  const nextLevel = async (level: readonly number[]): Promise<number[]> => {
    const next: number[] = [];
    for (let start = 0; start < level.length; start += BATCH) {
      next.push(...(await users.findReferralsOf(level.slice(start, start + BATCH))));
    }
    return next;
  };

  const compute = async (userId: number): Promise<number> => {
    const computedAt = clock.now();
    const allUsers = await users.estimateCount();
    let sum = EMPTY_SCORE;
    let level = await nextLevel([userId]);
    while (level.length > 0) {
      sum = addLevel(sum, level.length);
      level = canStillChange(sum, allUsers) ? await nextLevel(level) : [];
    }
    await scores.save({ _id: userId, score: sum.score, computed_at: computedAt });
    return sum.score;
  };

  /** Those who ask for the same score at the same time wait for one computation. */
  const computeOnce = (userId: number): Promise<number> => {
    const running = computing.get(userId);
    if (running !== undefined) return running;
    const started = compute(userId).finally(() => computing.delete(userId));
    computing.set(userId, started);
    return started;
  };

  return {
    read: async (userIds) => {
      const counts = await users.countReferrals(userIds);
      // Without a referral the score is 0 at once, and is not kept: the ten hours begin with the first one.
      const kept = await scores.findComputedSince(
        [...counts.keys()],
        new Date(clock.now().getTime() - KEPT_MS),
      );
      const result = new Map<number, Referrals>();
      for (const userId of userIds) {
        const count = counts.get(userId) ?? 0;
        const score = count === 0 ? 0 : (kept.get(userId) ?? (await computeOnce(userId)));
        result.set(userId, { count, score });
      }
      return result;
    },
  };
};
