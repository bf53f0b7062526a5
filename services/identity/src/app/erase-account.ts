/** The end of an account (contract 2.2): what is personal goes, an anonymous row stays, the others are told. */
import { accountDeleted, credentialsRevoked } from '@fitness/proto/events/identity.ts';
import { type Clock, formatTimestamp } from '@fitness/shared/clock.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { Idempotency } from '@fitness/shared/http/idempotency.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { CodeStore } from '../store/codes.ts';
import type { NotificationStore } from '../store/notifications.ts';
import type { ReferralScoreStore } from '../store/referral-scores.ts';
import type { TokenStore } from '../store/tokens.ts';
import type { UserStore } from '../store/users.ts';

export interface EraseAccountParts {
  users: UserStore;
  tokens: TokenStore;
  codes: CodeStore;
  notifications: NotificationStore;
  scores: ReferralScoreStore;
  idempotency: Idempotency;
  outbox: Outbox;
  clock: Clock;
}

/**
 * Within the caller's transaction; `dueOn`: only while a deletion is pending for that day. False when there is no such
 * live account; then nothing is written.
 */
export const eraseAccount = async (
  { users, tokens, codes, notifications, scores, idempotency, outbox, clock }: EraseAccountParts,
  session: ClientSession,
  userId: number,
  dueOn?: Date,
): Promise<boolean> => {
  const now = clock.now();
  // The account's document first: whoever writes about the account at the same moment writes it too, and one waits.
  const version = await users.erase(session, userId, now, dueOn);
  if (version === null) return false;
  await tokens.revokeAll(session, userId);
  await codes.forget(session, userId);
  await notifications.deleteOf(session, userId);
  await scores.forget(session, userId);
  await idempotency.forgetUser(session, userId);
  const about = { subject: userId, aggregateVersion: version };
  await outbox.emit(session, credentialsRevoked, {
    ...about,
    data: { user_id: userId, reason: 'account_erased' },
  });
  await outbox.emit(session, accountDeleted, {
    ...about,
    data: { user_id: userId, deleted_at: formatTimestamp(now) },
  });
  return true;
};
