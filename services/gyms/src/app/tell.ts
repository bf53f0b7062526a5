/** The events of a gym, in the transaction of what they tell. */
import { gymChanged, gymDeleted, gymLicenseCleared, gymLicenseReviewed } from '@fitness/proto/events/gyms.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Gym } from '../domain/gym.ts';

export const tellChanged = (outbox: Outbox, session: ClientSession, gym: Gym): Promise<void> =>
  outbox.emit(session, gymChanged, {
    subject: gym.id,
    data: { gym_id: gym.id, name: gym.name, user_id: gym.ownerId, is_active: gym.isActive },
    aggregateVersion: gym.version,
  });

export const tellDeleted = (outbox: Outbox, session: ClientSession, gym: Gym): Promise<void> =>
  outbox.emit(session, gymDeleted, {
    subject: gym.id,
    data: { gym_id: gym.id },
    aggregateVersion: gym.version + 1,
  });

/** Tells the owner of this moment; a gym without one has nobody to tell. */
export const tellReviewed = async (
  outbox: Outbox,
  session: ClientSession,
  gym: Gym,
  approved: boolean,
): Promise<void> => {
  if (gym.ownerId === null) return;
  await outbox.emit(session, gymLicenseReviewed, {
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

/**
 * The document is deleted by media, on this event. An event and not a call, because the clearing and the promise to
 * delete must commit together: a call before the commit may delete what a roll-back keeps, one after it is lost in a
 * crash. It names the document, so that however late it arrives it never hits a newer one.
 */
export const tellLicenseCleared = (
  outbox: Outbox,
  session: ClientSession,
  gym: Gym,
  mediaId: number,
): Promise<void> =>
  outbox.emit(session, gymLicenseCleared, {
    subject: gym.id,
    data: { gym_id: gym.id, media_id: mediaId },
    aggregateVersion: gym.version,
  });
