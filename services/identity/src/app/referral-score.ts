/**
 * Referral counts and scores (specification 2.2). The count is always counted. The score is kept for ten hours, and
 * computed once however many ask for it: in this process they wait for one promise, in another for its result.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, HOUR_MS } from '@fitness/shared/clock.ts';
import type { ScoreTurns } from '../clients/score-turns.ts';
import { sumLevels } from '../domain/referral-score.ts';
import type { ReferralScoreStore } from '../store/referral-scores.ts';
import type { UserStore } from '../store/users.ts';

const KEPT_MS = 10 * HOUR_MS;
/** Each may hold the ids of a whole level; the others wait. */
const MAX_AT_ONCE = 4;
const LOOK_AGAIN_MS = 50;

export interface Referrals {
  count: number;
  score: number;
}

export interface ReferralsReader {
  /** For each of these users. */
  read(userIds: readonly number[]): Promise<Map<number, Referrals>>;
}

export interface ReferralsReaderParts {
  users: Pick<UserStore, 'countReferrals' | 'referralsOf'>;
  scores: Pick<ReferralScoreStore, 'findComputedSince' | 'save'>;
  turns: ScoreTurns;
  clock: Clock;
}

export const createReferralsReader = (parts: ReferralsReaderParts): ReferralsReader => {
  const { users, scores, turns, clock } = parts;
  const computing = new Map<number, Promise<number>>();
  const inLine = createLine(MAX_AT_ONCE);

  const findKept = (userIds: readonly number[]): Promise<Map<number, number>> =>
    scores.findComputedSince(userIds, new Date(clock.now().getTime() - KEPT_MS));

  const compute = async (userId: number): Promise<number> => {
    const computedAt = clock.now();
    const score = await sumLevels(userId, users.referralsOf);
    await scores.save({ _id: userId, score, computed_at: computedAt });
    return score;
  };

  /** Computes it, or waits until the process whose turn it is has. */
  const obtain = async (userId: number): Promise<number> => {
    for (;;) {
      const endTurn = await turns.take(userId);
      try {
        // Another may have finished since it was looked for.
        const kept = (await findKept([userId])).get(userId);
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
    read: async (userIds) => {
      const counts = await users.countReferrals(userIds);
      // Without a referral the score is 0 at once, and is not kept: the ten hours begin with the first one.
      const invited = [...counts.keys()];
      const kept = await findKept(invited);
      const scored = await Promise.all(
        invited.map(async (userId) => [userId, kept.get(userId) ?? (await obtainOnce(userId))] as const),
      );
      const scoreOf = new Map(scored);
      return new Map(
        userIds.map((userId) => [
          userId,
          { count: counts.get(userId) ?? 0, score: scoreOf.get(userId) ?? 0 },
        ]),
      );
    },
  };
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
