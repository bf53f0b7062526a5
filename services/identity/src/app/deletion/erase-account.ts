/**
 * Erasing an account: one transaction makes it an anonymous document, which no credential is accepted for and nothing is
 * stored about, and publishes the event. It deletes credentials and notifications as far as a step goes; what is left of very
 * many goes on that event.
 */
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { JournalEntry } from '@fitness/shared/kernel/journal.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import { afterCommit, beforeCommit } from '@fitness/shared/mongo/transaction.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Erasure } from '../../domain/erasure.ts';
import { publishCredentialsRevoked } from '../sign-in/publish-credentials-revoked.ts';

type EraseAccountDependencies = Pick<
  Dependencies,
  'store' | 'idempotency' | 'outbox' | 'audit' | 'clock' | 'realTime' | 'erasureJournal'
>;

/**
 * In the transaction of `session`. With `dueOn`, only while a deletion is pending for that date. False, and nothing is
 * written, when there is no such live account.
 */
export type EraseAccount = (session: ClientSession, userId: number, dueOn?: Date) => Promise<boolean>;

export const createEraseAccount = (dependencies: EraseAccountDependencies): EraseAccount => {
  const { store, audit, outbox, clock, realTime } = dependencies;
  const eraseRest = createEraseRest(dependencies);
  return async (session, userId, dueOn) => {
    const now = clock.now();
    // First, because every transaction that stores data about the account writes this document, too: they conflict.
    const tombstone = await store.users.erase(session, userId, now, dueOn);
    if (tombstone === null) return false;
    const { version } = tombstone;
    await store.secondFactors.delete(session, userId);
    await store.codes.eraseAccount(session, userId);
    await store.preferences.eraseAccount(session, userId);
    await store.scores.eraseAccount(session, userId);
    await audit.eraseAccount(session, userId);
    await eraseRest(session, userId);
    await publishCredentialsRevoked(dependencies, session, { userId, version }, 'account_erased');
    await outbox.publish(session, accountDeleted, {
      subject: userId,
      aggregateVersion: version,
      data: { user_id: userId, deleted_at: formatTimestamp(now) },
    });
    recordInJournal(dependencies, session, {
      user_id: userId,
      created_at: tombstone.created_at,
      erased_at: now,
      begun_at: realTime.now(),
    });
    return true;
  };
};

/** Last in the transaction: what is refused or conflicts leaves no entry. Without an entry nothing is erased. */
const recordInJournal = (
  { erasureJournal }: Pick<Dependencies, 'erasureJournal'>,
  session: ClientSession,
  erasure: Erasure,
): void => {
  let entry: JournalEntry<Erasure> | undefined;
  beforeCommit(session, async () => {
    entry = await erasureJournal.begin(erasure.user_id, erasure);
  });
  afterCommit(session, () => entry?.markDone());
};

/** One step of what has no limit. Nobody reads it any more: introspection refuses an erased account. */
export const createEraseRest =
  ({ store, idempotency }: Pick<Dependencies, 'store' | 'idempotency'>) =>
  (session: ClientSession, userId: number): Promise<Rest> =>
    oneStep(
      (limit) => store.tokens.eraseAccount(session, userId, limit),
      (limit) => store.notifications.eraseAccount(session, userId, limit),
      (limit) => idempotency.eraseAccount(session, userId, limit),
    );
