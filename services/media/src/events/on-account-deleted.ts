import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { ForgetAccount } from '../app/forget-target.ts';

export const onAccountDeleted = (forgetAccount: ForgetAccount): EventConsumer =>
  onEvent(accountDeleted, ({ data }) => forgetAccount(data.user_id));
