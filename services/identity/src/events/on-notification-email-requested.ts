import { notificationEmailRequested } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onNotificationEmailRequested = ({ sendEmail }: UseCases): EventConsumer =>
  onEvent(notificationEmailRequested, ({ id, data }) => sendEmail(id, data));
