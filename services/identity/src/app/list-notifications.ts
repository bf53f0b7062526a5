import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { NotificationRow } from '../store/notifications.ts';

/** Newest first; `unread` counts all of the user's unread notifications. */
export const createListNotifications =
  ({ notifications }: Pick<Dependencies, 'notifications'>) =>
  async (
    userId: number,
    request: PageRequest,
  ): Promise<{ page: PageOf<NotificationRow>; unread: number }> => {
    const page = await notifications.list(userId, request);
    return { page, unread: await notifications.unreadCount(userId) };
  };
