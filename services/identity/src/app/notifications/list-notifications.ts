import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { NotificationRow } from '../../store/notifications.ts';

/** Lists notifications newest first. `unread` counts all of the user's unread notifications. */
export const createListNotifications =
  ({ store }: Dependencies) =>
  async (
    userId: number,
    request: PageRequest,
  ): Promise<{ page: PageOf<NotificationRow>; unread: number }> => {
    const page = await store.notifications.list(userId, request);
    return { page, unread: await store.notifications.unreadCount(userId) };
  };
