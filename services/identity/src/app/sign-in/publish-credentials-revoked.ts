import { credentialsRevoked } from '@fitness/proto/events/identity.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';

/** Runs in the transaction that revokes the credentials. `version`: the account's version after it. */
export const publishCredentialsRevoked = (
  { outbox }: Pick<Dependencies, 'outbox'>,
  session: ClientSession,
  { userId, version }: { userId: number; version: number },
  reason:
    | 'password_changed'
    | 'password_reset'
    | 'second_factor_armed'
    | 'second_factor_removed'
    | 'deletion_scheduled'
    | 'account_erased',
): Promise<void> =>
  outbox.publish(session, credentialsRevoked, {
    subject: userId,
    aggregateVersion: version,
    data: { user_id: userId, reason },
  });
