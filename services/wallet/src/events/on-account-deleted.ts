import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onAccountDeleted = ({ eraseAccount }: UseCases): EventConsumer =>
  onEvent(accountDeleted, ({ data }, { session }) =>
    eraseAccount(session, data.user_id, data.is_repeated === true),
  );
