/** Events of an account; each is stored in the transaction of its effect. `version`: of the account after the change. */
import {
  accountDeleted,
  accountDeletionCancelled,
  accountDeletionRequested,
  credentialsRevoked,
  trainerLicenseCleared,
} from '@fitness/proto/events/identity.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { DeletionSchedule } from '../deletion/deletion-schedule.ts';

type Publisher = Pick<Dependencies, 'outbox'>;

interface Account {
  userId: number;
  version: number;
}

export const publishCredentialsRevoked = (
  { outbox }: Publisher,
  session: ClientSession,
  { userId, version }: Account,
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

export const publishDeletionRequested = (
  { outbox }: Publisher,
  session: ClientSession,
  { userId, version }: Account,
  schedule: DeletionSchedule,
): Promise<void> =>
  outbox.publish(session, accountDeletionRequested, {
    subject: userId,
    aggregateVersion: version,
    data: { user_id: userId, ...schedule },
  });

export const publishDeletionCancelled = (
  { outbox }: Publisher,
  session: ClientSession,
  { userId, version }: Account,
): Promise<void> =>
  outbox.publish(session, accountDeletionCancelled, {
    subject: userId,
    aggregateVersion: version,
    data: { user_id: userId },
  });

/**
 * Media deletes the document on this event, which commits together with the clearing: a call before the commit could
 * delete what a rollback keeps, a call after it is lost in a crash. The event names the document, so that a late delivery
 * deletes no newer one.
 */
export const publishLicenseCleared = (
  { outbox }: Publisher,
  session: ClientSession,
  { userId, version }: Account,
  mediaId: number,
): Promise<void> =>
  outbox.publish(session, trainerLicenseCleared, {
    subject: userId,
    aggregateVersion: version,
    data: { user_id: userId, media_id: mediaId },
  });

export const publishAccountDeleted = (
  { outbox }: Publisher,
  session: ClientSession,
  { userId, version }: Account,
  deletedAt: Date,
): Promise<void> =>
  outbox.publish(session, accountDeleted, {
    subject: userId,
    aggregateVersion: version,
    data: { user_id: userId, deleted_at: formatTimestamp(deletedAt) },
  });
