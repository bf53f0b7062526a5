/**
 * Erases accounts whose grace period has ended. The blockers of each account are evaluated again, and one transaction then
 * erases the account or postpones its deletion by a day. The transaction applies only while the deletion is pending for the
 * date that was read. Cancellations, replicas and repeated rounds therefore need no lock, and the next round continues after
 * a crash.
 */
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { AppliedBlocker } from '../../clients/blockers.ts';
import type { Dependencies } from '../../dependencies.ts';
import { postponeDeletion } from '../../domain/deletion.ts';
import type { DueAccount } from '../../store/users.ts';
import type { DeliverNotification } from '../notifications/deliver-notification.ts';
import type { EraseAccount } from './erase-account.ts';

interface PurgeAccountsDependencies extends Dependencies {
  eraseAccount: EraseAccount;
  deliverNotification: DeliverNotification;
}

/**
 * `not_due`: the deletion was cancelled or postponed, or the account was erased concurrently. `failed`: a blocker could not be
 * evaluated, or the database failed. Nothing was changed, and the next round tries again.
 */
type PurgeOutcome = 'erased' | 'postponed' | 'not_due' | 'failed';

/** Runs one round over all due accounts, earliest first. Ends early when `stopping` is aborted. */
type PurgeAccounts = (stopping?: AbortSignal) => Promise<Record<PurgeOutcome, number>>;

export const createPurgeAccounts = (dependencies: PurgeAccountsDependencies): PurgeAccounts => {
  const { store, blockers, clock, log, eraseAccount, deliverNotification } = dependencies;

  const erase = ({ userId, scheduledAt }: DueAccount): Promise<PurgeOutcome> =>
    store.transaction(async (session) =>
      (await eraseAccount(session, userId, { dueOn: scheduledAt })) ? 'erased' : 'not_due',
    );

  const postpone = (
    { userId, scheduledAt }: DueAccount,
    applied: readonly AppliedBlocker[],
  ): Promise<PurgeOutcome> =>
    store.transaction(async (session) => {
      const at = clock.now();
      const dates = { from: scheduledAt, to: postponeDeletion(scheduledAt, at) };
      if ((await store.users.postponeDeletion(session, userId, dates)) === null) return 'not_due';
      const data = {
        deletion_scheduled_at: formatTimestamp(dates.to),
        blockers: applied.map(({ code }) => code),
      };
      await deliverNotification(session, { userId, type: 'account_deletion_postponed', data, at });
      return 'postponed';
    });

  const purge = async (due: DueAccount): Promise<PurgeOutcome> => {
    try {
      const applied = await blockers.evaluate(due.userId);
      return await (applied.length === 0 ? erase(due) : postpone(due, applied));
    } catch (error) {
      log.warn({ err: error, user_id: due.userId }, 'an account was not purged; the next round tries again');
      return 'failed';
    }
  };

  return async (stopping) => {
    const count = { erased: 0, postponed: 0, not_due: 0, failed: 0 };
    for await (const due of store.users.dueForDeletion(clock.now())) {
      if (stopping?.aborted === true) break;
      count[await purge(due)] += 1;
    }
    if (Object.values(count).some((n) => n > 0))
      log.info(count, 'purged accounts whose grace period has ended');
    return count;
  };
};
