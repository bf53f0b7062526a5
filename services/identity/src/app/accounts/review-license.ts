/** An operator's review of a trainer's license (specification 3.3). PUT /users/{id} sends it alone or with other fields. */
import {
  type LicenseRequest,
  renameLicense,
  requestsReview,
  reviewLicense,
} from '@fitness/contracts/license.ts';
import { assertReviewedDocument } from '@fitness/contracts/license-review.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { invalid, message, notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { licenseChanges, licenseOf, nameOf } from '../../domain/trainer-license.ts';
import type { User } from '../../domain/user.ts';
import type { DeliverNotification } from '../notifications/deliver-notification.ts';
import { REMOVED_LICENSE } from '../notifications/notification-resource.ts';
import { findManageableUser } from '../roles/manageable-user.ts';
import { recordUserChange } from './record-user-change.ts';

export interface LicenseUpdate extends LicenseRequest {
  /** The document that the request refers to. Null: no document. Undefined: any document. */
  reviewedMediaId?: number | null | undefined;
}

export interface ReviewDependencies extends Dependencies {
  deliverNotification: DeliverNotification;
}

/**
 * The fields of the license that a request changes. `named` has the name of the account after the request. Throws 409 when
 * another document is there, and 422 when there is none to approve or reject.
 */
export const licenseUpdateOf = (
  user: User,
  { reviewedMediaId, ...request }: LicenseUpdate,
  named: Pick<User, 'first_name' | 'last_name'>,
) => {
  assertReviewedDocument(user.trainer_license_media_id, reviewedMediaId);
  const before = licenseOf(user);
  if (!request.clearDocument && typeof request.approved === 'boolean' && before.mediaId === null) {
    throw invalid({ trainer_license_approved: message('users.no_trainer_license') });
  }
  const { license, clearedMediaId } = reviewLicense(before, request);
  const isVerdict = request.approved !== undefined;
  const renamed = renameLicense(license, { from: nameOf(user), to: nameOf(named), isVerdict });
  return { changes: licenseChanges(user, renamed), clearedMediaId };
};

/** Notifies the trainer, and records what the operator changed. */
export const recordLicenseUpdate = async (
  dependencies: ReviewDependencies,
  session: ClientSession,
  caller: UserCaller,
  request: LicenseRequest,
  states: { before: User; after: User },
): Promise<void> => {
  await notifyOfReview(dependencies, session, caller, request, states);
  const isVerdict = request.approved !== undefined;
  await recordUserChange(dependencies, session, caller, { ...states, isVerdict });
};

/**
 * Notifies the trainer of a changed verdict. A reset review or a removed document is notified if someone else did it without
 * a verdict, as for gyms.
 */
const notifyOfReview = async (
  { deliverNotification, clock }: ReviewDependencies,
  session: ClientSession,
  caller: UserCaller,
  request: LicenseRequest,
  { before, after }: { before: User; after: User },
): Promise<void> => {
  const isRemoval = request.clearDocument;
  if (isRemoval ? requestsReview(request) : request.approved === undefined) return;
  const approved = after.trainer_license_approved;
  const isRemoved = isRemoval && before.trainer_license_media_id !== null;
  if (!isRemoved && approved === before.trainer_license_approved) return;
  if (approved === null && caller.userId === after._id) return;
  const review = { approved, reason: after.trainer_license_rejection_reason ?? '' };
  await deliverNotification(session, {
    userId: after._id,
    type: 'trainer_license_reviewed',
    data: isRemoved ? REMOVED_LICENSE : review,
    at: clock.now(),
  });
};

/** Throws 404, 409 and 422. Throws 403 for an account that the caller may not manage. */
export const createReviewLicense =
  (dependencies: ReviewDependencies) =>
  (caller: UserCaller, userId: number, review: LicenseUpdate): Promise<User> =>
    dependencies.store.transaction(async (session) => {
      const { users } = dependencies.store;
      const before = await findManageableUser(dependencies, caller, userId, session);
      const after = await users.update(session, userId, licenseUpdateOf(before, review, before).changes);
      if (after === null) throw notFound();
      await recordLicenseUpdate(dependencies, session, caller, review, { before, after });
      return after;
    });
