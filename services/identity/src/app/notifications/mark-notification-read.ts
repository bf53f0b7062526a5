import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { NotificationRow } from '../../store/notifications.ts';

/** Throws 404 for another user's notification. */
export const createMarkNotificationRead =
  ({ store, clock }: Dependencies) =>
  async (userId: number, id: number): Promise<NotificationRow> => {
    const row = await store.notifications.markRead(userId, id, clock.now());
    if (row === null) throw notFound();
    return row;
  };
