import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';

/** Identity erased the account before it published this. Consuming it drops the account's dead-lettered events. */
export const onAccountDeleted = (): EventConsumer => onEvent(accountDeleted, async () => undefined);
