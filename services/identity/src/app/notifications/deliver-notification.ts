import type { NotificationContent } from '@fitness/contracts/notifications.ts';
import { notificationEmailRequested, notificationPushRequested } from '@fitness/proto/events/identity.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { AllDependencies } from '../../dependencies.ts';
import { isWanted } from './notification-preferences.ts';

type NewNotification = NotificationContent & {
  userId: number;
  at: Date;
  /** Address for the email, instead of the account's. */
  email?: string | undefined;
};

/**
 * In the transaction of `session`, stores the notification and requests one push message for each device and one
 * email. An erased account receives no notification.
 */
export type DeliverNotification = (session: ClientSession, notification: NewNotification) => Promise<void>;

type DeliverDependencies = Pick<
  AllDependencies,
  'store' | 'newNotifications' | 'sequences' | 'outbox' | 'pushes' | 'mails'
>;

export const createDeliverNotification = (dependencies: DeliverDependencies): DeliverNotification => {
  const { store, newNotifications, sequences, outbox, pushes, mails } = dependencies;

  const requestChannels = async (
    session: ClientSession,
    id: number,
    { userId, type, email, at }: NewNotification,
  ): Promise<void> => {
    if (pushes === undefined && mails === undefined) return;
    const preferences = await store.preferences.find(userId, session);
    // A notification is written only once, so it has only one version.
    const aggregate = { subject: `notification-${id}`, aggregateVersion: 1 };
    const data = { user_id: userId, notification_id: id };
    if (pushes !== undefined && isWanted(preferences, type, 'push')) {
      for (const deviceId of await store.devices.idsOf(session, userId, at)) {
        const request = { ...data, device_id: deviceId };
        await outbox.publish(session, notificationPushRequested, { ...aggregate, data: request });
      }
    }
    if (mails !== undefined && isWanted(preferences, type, 'email')) {
      const request = { ...data, email: email ?? null };
      await outbox.publish(session, notificationEmailRequested, { ...aggregate, data: request });
    }
  };

  return async (session, notification) => {
    const { userId, type, data, at } = notification;
    if (!(await store.users.touchIfLive(session, userId))) return;
    const id = await sequences.next('notifications');
    await newNotifications.insert(session, {
      _id: id,
      user_id: userId,
      type,
      data,
      created_at: at,
      read_at: null,
    });
    await requestChannels(session, id, notification);
  };
};
