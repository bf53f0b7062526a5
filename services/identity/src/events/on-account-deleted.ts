import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** Identity erased the account before it published this. Consuming it also drops the account's dead-lettered events. */
export const onAccountDeleted = ({ eraseRest }: UseCases): EventConsumer =>
  onEvent(accountDeleted, ({ data }, { session }) => eraseRest(session, data.user_id));
