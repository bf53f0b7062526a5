/** An operator's update of another account: its profile, its roles, and the review of the trainer license. */
import {
  type License,
  type LicenseRequest,
  renameLicense,
  reviewLicense,
} from '@fitness/contracts/license.ts';
import { assertReviewedDocument } from '@fitness/contracts/license-review.ts';
import { trainerLicenseCleared } from '@fitness/proto/events/identity.ts';
import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, invalid, message, notFound } from '@fitness/shared/kernel/error.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import { holdsAll, MEMBER_ROLE_ID, permissionsOf } from '../../domain/roles.ts';
import { licenseChanges, licenseOf, nameOf } from '../../domain/trainer-license.ts';
import type { User } from '../../domain/user.ts';
import type { DeliverNotification } from '../notifications/deliver-notification.ts';
import { REMOVED_LICENSE } from '../notifications/notification-resource.ts';
import { findManageableUser } from '../roles/manageable-user.ts';
import { assertRoleManagerRemains, canManageRoles, ROLE_MANAGEMENT } from '../roles/role-managers.ts';
import { type SecurityNotices, securityChanges } from '../sign-in/security-notices.ts';
import {
  assertNotBornInFuture,
  assertUsername,
  changesBankAccount,
  changesContact,
  changesForToken,
  changesPhone,
  type ProfileChanges,
  withBankAccount,
} from './profile-changes.ts';
import { assertReceivesSms } from './receives-sms.ts';
import { recordUserChange } from './record-user-change.ts';
import { assertNotTaken, rejectTaken } from './unique-fields.ts';

interface UpdateUserDependencies
  extends Pick<
    Dependencies,
    'store' | 'licenseDocuments' | 'clock' | 'smsCountries' | 'audit' | 'outbox' | 'roleQueue'
  > {
  securityNotices: SecurityNotices;
  deliverNotification: DeliverNotification;
}

interface OperatorChanges extends ProfileChanges {
  role_ids?: readonly number[] | undefined;
  trainer_license_approved?: boolean | null | undefined;
  trainer_license_rejection_reason?: string | null | undefined;
  /** The document that the request refers to. Null: no document. Undefined: any document. */
  trainer_license_media_id?: number | null | undefined;
}

/**
 * 422: invalid or taken fields. 404: no such account. 409: nobody could manage roles any more, or the license document is not
 * the one that the request names.
 *
 * 403: an account or a role with a permission that the caller lacks; the account of another operator, or any role but
 * `member`, without `roles.manage`; a new username, email, phone or bank account with a token other than a session's;
 * a new email, phone or bank account of the caller's own account.
 */
type UpdateUser = (
  caller: UserCaller,
  userId: number,
  changes: OperatorChanges,
  locale: Locale,
) => Promise<User>;

export const createUpdateUser = (dependencies: UpdateUserDependencies): UpdateUser => {
  const { store, licenseDocuments, clock, outbox, securityNotices, roleQueue } = dependencies;

  const assertRolesExist = async (roleIds: readonly number[]): Promise<void> => {
    const roles = await store.roles.findMany(roleIds);
    if (roles.length < new Set(roleIds).size) throw invalid({ role_ids: message('validation.unknown') });
  };

  const assertCanAssign = async (
    caller: UserCaller,
    user: User,
    roleIds: readonly number[],
    session?: ClientSession,
  ): Promise<void> => {
    const changed = changedRoles(user.role_ids, roleIds);
    if (changed.some((id) => id !== MEMBER_ROLE_ID) && !can(caller, ROLE_MANAGEMENT)) {
      throw forbidden('roles need roles.manage');
    }
    const allowed = permissionsOf(await store.roles.findMany(roleIds, session));
    if (!holdsAll(caller.permissions, allowed)) {
      throw forbidden('the role has a permission that the caller lacks');
    }
  };

  const assertNotLastManager = async (
    current: User,
    roleIds: readonly number[],
    session: ClientSession,
  ): Promise<void> => {
    if (canManageRoles(await store.roles.findMany(roleIds, session))) return;
    if (!canManageRoles(await store.roles.findMany(current.role_ids, session))) return;
    await assertRoleManagerRemains(dependencies, session, { userId: current._id });
  };

  /** A phone that an operator sets takes effect at once, and its previous owner is notified. */
  const notifyOwner = async (
    session: ClientSession,
    caller: UserCaller,
    { before, after }: { before: User; after: User },
    locale: Locale,
  ): Promise<void> => {
    for (const change of securityChanges(before, after)) {
      await securityNotices.notify(session, after, change, 'operator', before.email);
    }
    if (caller.userId !== after._id && changedRoles(before.role_ids, after.role_ids).length > 0) {
      await securityNotices.notify(session, after, 'roles_changed', 'operator');
    }
    if (before.phone === after.phone) return;
    await store.codes.invalidate(session, after._id);
    await securityNotices.requestSms(session, after, {
      notice: 'phone_changed',
      phone: before.phone,
      locale,
    });
  };

  return async (caller, userId, changes, locale) => {
    const { role_ids, trainer_license_image, trainer_license_approved, ...rest } = changes;
    const {
      trainer_license_rejection_reason,
      trainer_license_media_id: reviewedMediaId,
      ...requested
    } = rest;
    assertNotBornInFuture(requested, clock.now());
    const request = {
      clearDocument: trainer_license_image === null,
      approved: trainer_license_approved,
      rejectionReason: trainer_license_rejection_reason,
    };
    const roleIds = role_ids === undefined ? undefined : [...new Set(role_ids)];
    if (roleIds !== undefined) await assertRolesExist(roleIds);
    const user = await findManageableUser(dependencies, caller, userId);
    if (roleIds !== undefined) await assertCanAssign(caller, user, roleIds);
    const profile = permittedChanges(caller, user, withBankAccount(user, requested));
    assertUsername(user, profile);
    if (changesPhone(user, profile)) assertReceivesSms(dependencies, profile.phone);
    await assertNotTaken(dependencies, profile, userId);
    const write = async (session: ClientSession) => {
      // Roles may have been assigned since the first check.
      const current = await findManageableUser(dependencies, caller, userId, session);
      if (roleIds !== undefined) {
        await assertCanAssign(caller, current, roleIds, session);
        await assertNotLastManager(current, roleIds, session);
      }
      assertReviewedDocument(current.trainer_license_media_id, reviewedMediaId);
      const { license, clearedMediaId } = reviewDocument(licenseOf(current), request);
      const isVerdict = trainer_license_approved !== undefined;
      const names = { ...current, ...omitUndefined(profile) };
      const renamed = renameLicense(license, { from: nameOf(current), to: nameOf(names), isVerdict });
      const updated = await store.users.update(session, userId, {
        ...omitUndefined(profile),
        ...(roleIds === undefined ? {} : { role_ids: roleIds }),
        ...licenseChanges(current, renamed),
      });
      if (updated === null) throw notFound();
      await notifyOwner(session, caller, { before: current, after: updated }, locale);
      await notifyOfReview(dependencies, session, caller, changes, { before: current, after: updated });
      await recordUserChange(dependencies, session, caller, { before: current, after: updated, isVerdict });
      if (clearedMediaId !== null) {
        // Media deletes the document on this event. A call before the commit could delete what a rollback keeps, and a call
        // after it would be lost in a crash. The event names the document, so that a late delivery deletes no newer one.
        await outbox.publish(session, trainerLicenseCleared, {
          subject: userId,
          aggregateVersion: updated.version,
          data: { user_id: userId, media_id: clearedMediaId },
        });
      }
      return { updated, clearedMediaId };
    };
    const commit = () => rejectTaken(dependencies, () => store.transaction(write));
    const { updated, clearedMediaId } = await (roleIds === undefined
      ? commit()
      : roleQueue.run('roles', commit));
    if (clearedMediaId !== null) await licenseDocuments.deleteCleared(userId, clearedMediaId);
    return updated;
  };
};

/**
 * Throws 403 as {@link changesForToken} does, and for a new email, phone or bank account of the caller's own account: PUT
 * /auth/me asks for the password, which this route must not bypass.
 */
const permittedChanges = (
  caller: UserCaller,
  user: User,
  changes: Omit<ProfileChanges, 'trainer_license_image'>,
): Omit<ProfileChanges, 'trainer_license_image'> => {
  const isCovered = changesBankAccount(user, changes) || changesContact(user, changes);
  if (isCovered && caller.userId === user._id) {
    throw forbidden('callers change their own contact and bank data with PUT /auth/me');
  }
  return changesForToken(caller, user, changes);
};

/** The roles that are added or removed. */
const changedRoles = (before: readonly number[], after: readonly number[]): number[] => [
  ...before.filter((id) => !after.includes(id)),
  ...after.filter((id) => !before.includes(id)),
];

/** Throws 422 when there is no document to approve or reject. */
const reviewDocument = (license: License, request: LicenseRequest) => {
  if (!request.clearDocument && typeof request.approved === 'boolean' && license.mediaId === null) {
    throw invalid({ trainer_license_approved: message('users.no_trainer_license') });
  }
  return reviewLicense(license, request);
};

/**
 * Notifies the trainer of a changed verdict. A reset review or a removed document is notified if someone else did it without
 * a verdict, as for gyms.
 */
const notifyOfReview = async (
  { deliverNotification, clock }: Pick<UpdateUserDependencies, 'deliverNotification' | 'clock'>,
  session: ClientSession,
  caller: UserCaller,
  changes: OperatorChanges,
  { before, after }: { before: User; after: User },
): Promise<void> => {
  const { trainer_license_approved: verdict, trainer_license_image: image } = changes;
  const isRemoval = image === null;
  const isSilent =
    isRemoval && (verdict !== undefined || changes.trainer_license_rejection_reason !== undefined);
  if (isSilent || (verdict === undefined && !isRemoval)) return;
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
