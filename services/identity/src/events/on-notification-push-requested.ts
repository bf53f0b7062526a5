import { notificationPushRequested } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** Identity consumes its own event, so that a device that cannot be reached is tried again alone. */
export const onNotificationPushRequested = ({ sendPush }: Pick<UseCases, 'sendPush'>): EventConsumer =>
  onEvent(notificationPushRequested, ({ data }, { session }) => sendPush(session, data));
