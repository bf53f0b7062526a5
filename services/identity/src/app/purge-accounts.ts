/**
 * The end of the grace period (contract 2.2). Each due account is dealt with alone: the blockers are asked again, and
 * one transaction then erases it, or postpones it by a day and says so. Both hold only while the deletion is still
 * pending for the day that was read, so neither a cancellation, another replica nor a repeated round can be overtaken,
 * and a crash at any point leaves an account that the next round takes up.
 */
import { formatTimestamp } from '@fitness/shared/clock.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { AppliedBlocker, Blockers } from '../clients/blockers.ts';
import { postponeDeletion } from '../domain/deletion.ts';
import type { DueAccount } from '../store/users.ts';
import { type EraseAccountParts, eraseAccount } from './erase-account.ts';
import type { Notifications } from './notifications.ts';
import type { Transact } from './transact.ts';

export interface PurgeAccountsParts extends EraseAccountParts {
  blockers: Blockers;
  deliver: Notifications['deliver'];
  transact: Transact;
  log: Logger;
}

/**
 * `failed`: a blocker could not be evaluated, or the database did not answer; the next round tries again, and nothing
 * was changed. `not_due`: cancelled, postponed or erased by somebody else meanwhile.
 */
type PurgeOutcome = 'erased' | 'postponed' | 'not_due' | 'failed';

/** One round over everything that is due, the longest waiting first; it ends early when `stopping` says so. */
export type PurgeAccounts = (stopping?: AbortSignal) => Promise<Record<PurgeOutcome, number>>;

export const createPurgeAccounts = (parts: PurgeAccountsParts): PurgeAccounts => {
  const { users, clock, log } = parts;
  return async (stopping) => {
    const count = { erased: 0, postponed: 0, not_due: 0, failed: 0 };
    for await (const due of users.dueForDeletion(clock.now())) {
      if (stopping?.aborted === true) break;
      count[await purge(parts, due)] += 1;
    }
    if (Object.values(count).some((n) => n > 0)) log.info(count, 'accounts whose grace period is over');
    return count;
  };
};

const purge = async (parts: PurgeAccountsParts, due: DueAccount): Promise<PurgeOutcome> => {
  try {
    const applied = await parts.blockers.evaluate(due.userId);
    return await (applied.length === 0 ? erase(parts, due) : postpone(parts, due, applied));
  } catch (error) {
    parts.log.warn({ err: error, user_id: due.userId }, 'a due account is left for the next round');
    return 'failed';
  }
};

const erase = (parts: PurgeAccountsParts, { userId, scheduledAt }: DueAccount): Promise<PurgeOutcome> =>
  parts.transact(async (session) =>
    (await eraseAccount(parts, session, userId, scheduledAt)) ? 'erased' : 'not_due',
  );

const postpone = (
  { users, deliver, clock, transact }: PurgeAccountsParts,
  { userId, scheduledAt }: DueAccount,
  applied: readonly AppliedBlocker[],
): Promise<PurgeOutcome> =>
  transact(async (session) => {
    const at = clock.now();
    const day = { from: scheduledAt, to: postponeDeletion(scheduledAt, at) };
    if ((await users.postponeDeletion(session, userId, day)) === null) return 'not_due';
    const data = {
      deletion_scheduled_at: formatTimestamp(day.to),
      blockers: applied.map(({ code }) => code),
    };
    await deliver(session, { userId, type: 'account_deletion_postponed', data, at });
    return 'postponed';
  });
