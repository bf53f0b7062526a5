import { subscriptionEnded, subscriptionStarted } from '@fitness/proto/events/store-billing.ts';
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** Handles the start and the end, which have the same data: both say when the subscription ends. */
const onSubscriptionEvent = (
  event: typeof subscriptionStarted,
  { saveSubscription }: UseCases,
): EventConsumer =>
  onEvent(event, ({ data, aggregateVersion: version }, { session }) =>
    saveSubscription(session, data.user_id, {
      ...{ id: data.subscription_id, type: data.type, version },
      ...{ starts_at: parseTimestamp(data.starts_at), expires_at: parseTimestamp(data.expires_at) },
    }),
  );

export const onSubscriptionChanged = (useCases: UseCases): EventConsumer[] => [
  onSubscriptionEvent(subscriptionStarted, useCases),
  onSubscriptionEvent(subscriptionEnded, useCases),
];
