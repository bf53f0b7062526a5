import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { EraseUser } from '../app/erase-user.ts';

/** The payments stay, what is personal in them goes. */
export const onAccountDeleted = (eraseUser: EraseUser): EventConsumer =>
  onEvent(accountDeleted, ({ data }, { session }) => eraseUser(session, data.user_id));
