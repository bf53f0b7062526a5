/**
 * Referral counts and scores (specification 2.2). The count is always counted. The score is kept for ten hours, and
 * computed once however many ask for it: in this process they wait for one promise, in another for its result. Whoever
 * has no time for that gets the last known one, while it is computed for the next.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, HOUR_MS } from '@fitness/shared/clock.ts';
import type { ScoreTurns } from '../clients/score-turns.ts';
import { sumLevels } from '../domain/referral-score.ts';
import type { CachedScore, ReferralScoreStore } from '../store/referral-scores.ts';
import type { UserStore } from '../store/users.ts';

const KEPT_MS = 10 * HOUR_MS;
/** Each may hold the ids of a whole level; the others wait. */
const MAX_AT_ONCE = 4;
const LOOK_AGAIN_MS = 50;

interface Referrals {
  count: number;
  score: number;
}

export interface ReferralsReader {
  /**
   * For each of these users. With `patienceMs`, a score that takes longer is the last known one, of whatever age; where
   * there is none, the count: what the direct referrals alone make, and never more than the score.
   */
  read(userIds: readonly number[], options?: { patienceMs?: number }): Promise<Map<number, Referrals>>;
}

export interface ReferralsReaderParts {
  users: Pick<UserStore, 'countReferrals' | 'countReferred' | 'referrersReferred'>;
  scores: Pick<ReferralScoreStore, 'findLast' | 'save'>;
  turns: ScoreTurns;
  clock: Clock;
}

export const createReferralsReader = (parts: ReferralsReaderParts): ReferralsReader => {
  const { users, scores, turns, clock } = parts;
  const computing = new Map<number, Promise<number>>();
  const inLine = createLine(MAX_AT_ONCE);

  /** Undefined: it is too old, or there is none. */
  const keptScore = (last: CachedScore | undefined): number | undefined =>
    last !== undefined && last.computed_at.getTime() > clock.now().getTime() - KEPT_MS
      ? last.score
      : undefined;

  const compute = async (userId: number): Promise<number> => {
    const computedAt = clock.now();
    const score = await sumLevels(userId, users);
    await scores.save({ _id: userId, score, computed_at: computedAt });
    return score;
  };

  /** Computes it, or waits until the process whose turn it is has. */
  const obtain = async (userId: number): Promise<number> => {
    for (;;) {
      const endTurn = await turns.take(userId);
      try {
        // Another may have finished since it was looked for.
        const kept = keptScore((await scores.findLast([userId])).get(userId));
        if (kept !== undefined) return kept;
        if (endTurn !== undefined) return await inLine(() => compute(userId));
      } finally {
        await endTurn?.();
      }
      await pause(LOOK_AGAIN_MS);
    }
  };

  const obtainOnce = (userId: number): Promise<number> => {
    const running = computing.get(userId);
    if (running !== undefined) return running;
    const started = obtain(userId).finally(() => computing.delete(userId));
    computing.set(userId, started);
    return started;
  };

  return {
    read: async (userIds, { patienceMs } = {}) => {
      const counts = await users.countReferrals(userIds);
      // Without a referral the score is 0 at once, and is not kept: the ten hours begin with the first one.
      const invited = [...counts.keys()];
      const lastKnown = await scores.findLast(invited);
      const scoreOf = async (userId: number, impatient: Promise<unknown> | undefined): Promise<number> => {
        const last = lastKnown.get(userId);
        const kept = keptScore(last);
        if (kept !== undefined) return kept;
        const score = obtainOnce(userId);
        if (impatient === undefined) return score;
        return Promise.race([score, impatient.then(() => last?.score ?? counts.get(userId) ?? 0)]);
      };
      const scored = await withPatience(patienceMs, (impatient) =>
        Promise.all(invited.map(async (userId) => [userId, await scoreOf(userId, impatient)] as const)),
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

/** Gives `work` a promise that is kept when the patience is over; undefined: it never is. */
const withPatience = async <T>(
  patienceMs: number | undefined,
  work: (impatient: Promise<unknown> | undefined) => Promise<T>,
): Promise<T> => {
  if (patienceMs === undefined) return work(undefined);
  let timer: NodeJS.Timeout | undefined;
  const impatient = new Promise((resolve) => {
    timer = setTimeout(resolve, patienceMs);
  });
  try {
    return await work(impatient);
  } finally {
    clearTimeout(timer);
  }
};

/** Runs at most `size` pieces of work at once, in the order of asking. */
const createLine = (size: number) => {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= size) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
};
