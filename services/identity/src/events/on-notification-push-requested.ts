import { notificationPushRequested } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** Identity consumes its own event: a push message to an unreachable device is retried alone. */
export const onNotificationPushRequested = ({ sendPush }: UseCases): EventConsumer =>
  onEvent(notificationPushRequested, ({ data }, { session }) => sendPush(session, data));
