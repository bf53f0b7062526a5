import { accountDeletionRequested } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { Notifications } from '../app/notifications.ts';

/** Identity's own event: the notification is delivered by the same road as everybody's, so that it is there once. */
export const onAccountDeletionRequested = (notifications: Notifications): EventConsumer =>
  onEvent(accountDeletionRequested, async ({ data, time }, { session }) => {
    const { user_id: userId, ...dates } = data;
    await notifications.deliver(session, {
      userId,
      type: 'account_deletion_requested',
      data: dates,
      at: time,
    });
  });
