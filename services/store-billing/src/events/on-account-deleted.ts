import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { ForgetUser } from '../app/close-slot.ts';

export const onAccountDeleted = (forgetUser: ForgetUser): EventConsumer =>
  onEvent(accountDeleted, async ({ data }, { session }) => forgetUser(session, data.user_id));
