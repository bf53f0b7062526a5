import { accountDeletionRequested } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import type { NotificationStore } from '../store/notifications.ts';

export interface NotifyParts {
  notifications: NotificationStore;
  sequences: Sequences;
}

/** Identity's own event: the notification is delivered by the same road as everybody's, so that it is there once. */
export const onAccountDeletionRequested = ({ notifications, sequences }: NotifyParts): EventConsumer =>
  onEvent(accountDeletionRequested, async ({ data, time }, { session }) => {
    const { user_id, ...dates } = data;
    await notifications.insert(session, {
      _id: await sequences.next('notifications'),
      user_id,
      type: 'account_deletion_requested',
      data: dates,
      created_at: time,
      read_at: null,
    });
  });
