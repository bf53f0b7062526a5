/**
 * After a restore from a backup, repeats the erasures in the journal. All services erase on the same event as the first time
 * (docs/adr/0009). The whole step may be repeated.
 */
import { userInfo } from 'node:os';
import { accountDeleted, accountDeletionRequested } from '@fitness/proto/events/identity.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { JournalEntry } from '@fitness/shared/kernel/journal.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { scheduleDeletion, toDeletionSchedule } from '../../domain/deletion.ts';
import type { Erasure } from '../../domain/erasure.ts';
import type { EraseAccount } from './erase-account.ts';

/**
 * `erased`: the account was live in the backup. `published`: it was erased there, and the event is published again because a
 * backup may lack it. `scheduled`: the erasure was begun, and the journal does not record whether it was committed.
 * `unknown`: the account is newer than the backup.
 */
type RepeatedErasure = 'erased' | 'published' | 'scheduled' | 'unknown';

/** `operator`: the name for the audit log of the person who runs the command. */
type RepeatErasures = (operator: string) => Promise<Record<RepeatedErasure, number>>;

export const createRepeatErasures = (
  dependencies: Dependencies & { eraseAccount: EraseAccount },
): RepeatErasures => {
  const { store, erasureJournal, outbox, audit, clock, graceDays, eraseAccount } = dependencies;

  const publishAgain = (session: ClientSession, userId: number, version: number, erasedAt: Date) =>
    outbox.publish(session, accountDeleted, {
      subject: userId,
      aggregateVersion: version,
      data: { user_id: userId, deleted_at: formatTimestamp(erasedAt) },
    });

  const eraseAgain = async (session: ClientSession, erasure: Erasure, operator: string): Promise<void> => {
    await eraseAccount(session, erasure.user_id, { isRepeated: true });
    const before = { erased_at: null };
    const after = {
      erased_at: clock.now(),
      first_erased_at: erasure.erased_at,
      operator,
      system_user: userInfo().username,
    };
    await audit.record(session, {
      actorId: null,
      action: 'user.delete',
      subject: { type: 'user', id: erasure.user_id },
      before: { personId: null, values: before },
      after: { personId: null, values: after },
    });
  };

  /** Safe in both cases: a live member can cancel, and an erased one does not sign in. A pending deletion stays. */
  const schedule = async (session: ClientSession, userId: number): Promise<void> => {
    const dates = scheduleDeletion(clock.now(), graceDays);
    const user = await store.users.scheduleDeletion(session, userId, dates);
    if (user === null) return;
    await outbox.publish(session, accountDeletionRequested, {
      subject: userId,
      aggregateVersion: user.version,
      data: { user_id: userId, ...toDeletionSchedule(dates) },
    });
  };

  const repeat = async (
    { content, markDone }: JournalEntry<Erasure>,
    state: 'begun' | 'done',
    operator: string,
  ): Promise<RepeatedErasure> => {
    const { user_id: userId, created_at: createdAt } = content;
    const outcome = await store.transaction(async (session): Promise<RepeatedErasure> => {
      const account = await store.users.findCreatedAt(session, userId, createdAt);
      if (account === null) return 'unknown';
      if (account.erased_at !== null) {
        await publishAgain(session, userId, account.version, account.erased_at);
        return 'published';
      }
      if (state === 'begun') {
        await schedule(session, userId);
        return 'scheduled';
      }
      await eraseAgain(session, content, operator);
      return 'erased';
    });
    if (outcome === 'published') await markDone();
    return outcome;
  };

  return async (operator) => {
    const count = { erased: 0, published: 0, scheduled: 0, unknown: 0 };
    const seen = new Set<string>();
    // Completed entries first: a begun entry of another attempt adds no information about the account.
    for (const state of ['done', 'begun'] as const) {
      for await (const entry of erasureJournal.entries(state)) {
        const { user_id: userId, created_at: createdAt } = entry.content;
        const account = `${userId} ${createdAt.getTime()}`;
        if (seen.has(account)) continue;
        seen.add(account);
        count[await repeat(entry, state, operator)] += 1;
      }
    }
    return count;
  };
};
