/**
 * Erases an account. One transaction replaces it with an anonymous document and publishes the event. From then on no
 * credential of the account is accepted, and nothing about it is stored. The transaction deletes credentials and
 * notifications up to the limit of one step. If there are more, the event deletes the rest.
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
 * Runs in the transaction of `session`. With `dueOn`, only while a deletion is pending for that date. `isRepeated`: after a restore.
 * Returns false and writes nothing when there is no such live account.
 */
export type EraseAccount = (
  session: ClientSession,
  userId: number,
  options?: { dueOn?: Date; isRepeated?: boolean },
) => Promise<boolean>;

export const createEraseAccount = (dependencies: EraseAccountDependencies): EraseAccount => {
  const { store, audit, outbox, clock, realTime } = dependencies;
  const eraseRest = createEraseRest(dependencies);
  return async (session, userId, { dueOn, isRepeated = false } = {}) => {
    const now = clock.now();
    // First: every transaction that stores data about the account also writes this document, and therefore conflicts.
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
      data: {
        user_id: userId,
        deleted_at: formatTimestamp(now),
        ...(isRepeated && { is_repeated: true }),
      },
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

/** Runs last in the transaction: a refused or conflicting erasure leaves no entry, and nothing is erased without one. */
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

/** Deletes one step of unlimited data. It is no longer accessible, because introspection refuses an erased account. */
export const createEraseRest =
  ({ store, idempotency }: Pick<Dependencies, 'store' | 'idempotency'>) =>
  (session: ClientSession, userId: number): Promise<Rest> =>
    oneStep(
      (limit) => store.tokens.eraseAccount(session, userId, limit),
      (limit) => store.notifications.eraseAccount(session, userId, limit),
      (limit) => idempotency.eraseAccount(session, userId, limit),
    );
