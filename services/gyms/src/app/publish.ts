/** The events of a gym. Each is stored in the transaction of the change. */
import {
  gymBoostEnded,
  gymChanged,
  gymDeleted,
  gymLicenseCleared,
  gymLicenseReviewed,
} from '@fitness/proto/events/gyms.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Outbox } from '@fitness/shared/messaging/outbox.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Boost } from '../domain/boost.ts';
import type { Gym } from '../domain/gym.ts';

export const publishChanged = (outbox: Outbox, session: ClientSession, gym: Gym): Promise<void> =>
  outbox.publish(session, gymChanged, {
    subject: gym.id,
    data: { gym_id: gym.id, name: gym.name, user_id: gym.ownerId, is_active: gym.isActive },
    aggregateVersion: gym.version,
  });

export const publishDeleted = (outbox: Outbox, session: ClientSession, gym: Gym): Promise<void> =>
  outbox.publish(session, gymDeleted, {
    subject: gym.id,
    data: { gym_id: gym.id },
    aggregateVersion: gym.version + 1,
  });

/** Notifies the current owner, if there is one. `approved` is null when an operator has deleted the document. */
export const publishLicenseReviewed = async (
  outbox: Outbox,
  session: ClientSession,
  gym: Gym,
  approved: boolean | null,
): Promise<void> => {
  if (gym.ownerId === null) return;
  await outbox.publish(session, gymLicenseReviewed, {
    subject: gym.id,
    data: {
      gym_id: gym.id,
      gym_name: gym.name ?? '',
      owner_user_id: gym.ownerId,
      approved,
      rejection_reason: gym.license.rejectionReason,
    },
    aggregateVersion: gym.version,
  });
};

/** Notifies the current owner, if there is one. The subject is the boost, because its end does not change the gym. */
export const publishBoostEnded = async (
  outbox: Outbox,
  session: ClientSession,
  gym: Gym,
  boost: Boost,
): Promise<void> => {
  if (gym.ownerId === null) return;
  await outbox.publish(session, gymBoostEnded, {
    subject: `boost-${boost.id}`,
    data: {
      boost_id: boost.id,
      gym_id: gym.id,
      gym_name: gym.name ?? '',
      owner_user_id: gym.ownerId,
      level: boost.level,
      ended_at: formatTimestamp(boost.endsAt),
    },
    aggregateVersion: boost.version,
  });
};

/**
 * Media deletes the document on this event, which commits together with the clearing. A call before the commit could delete what a
 * rollback keeps, and a call after it could be lost in a crash. The event names the document, so a late delivery deletes no newer
 * one.
 */
export const publishLicenseCleared = (
  outbox: Outbox,
  session: ClientSession,
  gym: Gym,
  mediaId: number,
): Promise<void> =>
  outbox.publish(session, gymLicenseCleared, {
    subject: gym.id,
    data: { gym_id: gym.id, media_id: mediaId },
    aggregateVersion: gym.version,
  });
