/**
 * After a restore from a backup, gives every pending deletion the whole grace period again, because members may have
 * cancelled since. It runs before the job that erases due accounts, and may be repeated.
 */
import { accountDeletionRequested } from '@fitness/proto/events/identity.ts';
import type { Dependencies } from '../../dependencies.ts';
import { scheduleDeletion, toDeletionSchedule } from '../../domain/deletion.ts';

/** Returns how many deletions were postponed. */
type PostponeRestoredDeletions = () => Promise<number>;

export const createPostponeRestoredDeletions =
  ({ store, outbox, clock, graceDays }: Dependencies): PostponeRestoredDeletions =>
  async () => {
    let postponed = 0;
    const { scheduledAt: to } = scheduleDeletion(clock.now(), graceDays);
    // Excludes `to` itself, because the cursor would return the postponed deletions again.
    for await (const { userId, scheduledAt: from } of store.users.dueForDeletion(
      new Date(to.getTime() - 1),
    )) {
      await store.transaction(async (session) => {
        const user = await store.users.postponeDeletion(session, userId, { from, to });
        if (user?.deletion_requested_at == null) return;
        // Notifies members who have cancelled that the deletion is pending again.
        const dates = { requestedAt: user.deletion_requested_at, scheduledAt: to };
        await outbox.publish(session, accountDeletionRequested, {
          subject: userId,
          aggregateVersion: user.version,
          data: { user_id: userId, ...toDeletionSchedule(dates) },
        });
      });
      postponed += 1;
    }
    return postponed;
  };
