import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { NotificationType } from './notification-resource.ts';

/** In the transaction of `session`. An erased account gets no notification. */
export type DeliverNotification = (
  session: ClientSession,
  notification: { userId: number; type: NotificationType; data: Record<string, unknown>; at: Date },
) => Promise<void>;

export const createDeliverNotification =
  ({ store, sequences }: Pick<Dependencies, 'store' | 'sequences'>): DeliverNotification =>
  async (session, { userId, type, data, at }) => {
    if (!(await store.users.touchIfLive(session, userId))) return;
    const id = await sequences.next('notifications');
    await store.notifications.insert(session, {
      _id: id,
      user_id: userId,
      type,
      data,
      created_at: at,
      read_at: null,
    });
  };
