import { accountDeletionRequested } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** Identity consumes its own event: the inbox delivers the notification exactly once. */
export const onAccountDeletionRequested = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(accountDeletionRequested, async ({ data, time }, { session }) => {
    const { user_id: userId, ...dates } = data;
    await deliverNotification(session, {
      userId,
      type: 'account_deletion_requested',
      data: dates,
      at: time,
    });
  });
