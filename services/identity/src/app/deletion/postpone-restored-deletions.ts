/**
 * After a restore of a backup: gives every deletion that is pending in it the whole grace period again, because members may have cancelled
 * theirs since. It runs before the job that erases what is due. Repeatable.
 */
import { accountDeletionRequested } from '@fitness/proto/events/identity.ts';
import type { Dependencies } from '../../dependencies.ts';
import { scheduleDeletion } from '../../domain/deletion.ts';
import { toDeletionSchedule } from '../../domain/deletion-schedule.ts';

/** Returns how many were due earlier. */
type PostponeRestoredDeletions = () => Promise<number>;

export const createPostponeRestoredDeletions =
  ({
    store,
    outbox,
    clock,
    graceDays,
  }: Pick<Dependencies, 'store' | 'outbox' | 'clock' | 'graceDays'>): PostponeRestoredDeletions =>
  async () => {
    let postponed = 0;
    const { scheduledAt: to } = scheduleDeletion(clock.now(), graceDays);
    // Not those of `to` itself: the cursor would meet them again.
    for await (const { userId, scheduledAt: from } of store.users.dueForDeletion(
      new Date(to.getTime() - 1),
    )) {
      await store.transaction(async (session) => {
        const user = await store.users.postponeDeletion(session, userId, { from, to });
        if (user?.deletion_requested_at == null) return;
        // A member who has cancelled does not know otherwise that the deletion is pending.
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
