import { subscriptionExpiring } from '@fitness/proto/events/store-billing.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onSubscriptionExpiring = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(subscriptionExpiring, async ({ data: event, time }, { session }) => {
    const { user_id: userId, subscription_id, type, expires_at } = event;
    const data = { subscription_id, type, expires_at };
    await deliverNotification(session, { userId, type: 'subscription_expiring', data, at: time });
  });
