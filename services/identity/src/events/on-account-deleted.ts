import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';

/** Identity's own part was done when this was told. What it has parked about the person is dropped as this is handled. */
export const onAccountDeleted = (): EventConsumer => onEvent(accountDeleted, async () => undefined);
