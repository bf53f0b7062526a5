import { securitySmsRequested } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** Identity consumes its own event: the SMS is sent after the commit and retried after a failure. */
export const onSecuritySmsRequested = ({ sendSecuritySms }: UseCases): EventConsumer =>
  onEvent(securitySmsRequested, ({ id, data }) => sendSecuritySms(id, data));
