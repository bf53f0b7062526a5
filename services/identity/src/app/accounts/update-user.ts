/** An operator's update of another account: its profile and its roles. It may include a review of the trainer license. */
import { trainerLicenseCleared } from '@fitness/proto/events/identity.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound } from '@fitness/shared/kernel/error.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import type { User } from '../../domain/user.ts';
import {
  assertCanAssign,
  assertNotLastManager,
  assertRolesExist,
  changedRoles,
} from '../roles/assign-roles.ts';
import { findManageableUser } from '../roles/manageable-user.ts';
import { type SecurityNotices, securityChanges } from '../sign-in/security-notices.ts';
import {
  changesBankAccount,
  changesContact,
  changesForToken,
  type ProfileChanges,
  withBankAccount,
} from './profile-changes.ts';
import {
  type LicenseUpdate,
  licenseUpdateOf,
  type ReviewDependencies,
  recordLicenseUpdate,
} from './review-license.ts';
import { assertNotTaken, rejectTaken } from './unique-fields.ts';

interface UpdateUserDependencies
  extends ReviewDependencies,
    Pick<Dependencies, 'licenseDocuments' | 'outbox' | 'roleQueue'> {
  securityNotices: SecurityNotices;
}

interface OperatorChanges extends ProfileChanges {
  role_ids?: readonly number[] | undefined;
  license?: LicenseUpdate;
}

/**
 * 422: taken fields, or unknown roles. The route has judged the other values. 404: no such account. 409: nobody could manage roles any more, or the license document is not
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

const NO_LICENSE_UPDATE: LicenseUpdate = { clearDocument: false };

export const createUpdateUser = (dependencies: UpdateUserDependencies): UpdateUser => {
  const { store, licenseDocuments, outbox, roleQueue } = dependencies;
  return async (caller, userId, { role_ids, license = NO_LICENSE_UPDATE, ...requested }, locale) => {
    const roleIds = role_ids === undefined ? undefined : [...new Set(role_ids)];
    if (roleIds !== undefined) await assertRolesExist(dependencies, roleIds);
    const user = await findManageableUser(dependencies, caller, userId);
    if (roleIds !== undefined) await assertCanAssign(dependencies, caller, user, roleIds);
    const profile = permittedChanges(caller, user, withBankAccount(user, requested));
    await assertNotTaken(dependencies, profile, userId);
    const changes = omitUndefined(profile);
    const write = async (session: ClientSession) => {
      // Roles may have been assigned since the first check.
      const before = await findManageableUser(dependencies, caller, userId, session);
      if (roleIds !== undefined) {
        await assertCanAssign(dependencies, caller, before, roleIds, session);
        await assertNotLastManager(dependencies, before, roleIds, session);
      }
      const licensed = licenseUpdateOf(before, license, { ...before, ...changes });
      const after = await store.users.update(session, userId, {
        ...changes,
        ...(roleIds === undefined ? {} : { role_ids: roleIds }),
        ...licensed.changes,
      });
      if (after === null) throw notFound();
      await notifyOwner(dependencies, session, caller, { before, after }, locale);
      await recordLicenseUpdate(dependencies, session, caller, license, { before, after });
      const { clearedMediaId } = licensed;
      if (clearedMediaId !== null) {
        // Media deletes the document on this event. A call before the commit could delete what a rollback keeps, and a call
        // after it would be lost in a crash. The event names the document, so that a late delivery deletes no newer one.
        await outbox.publish(session, trainerLicenseCleared, {
          subject: userId,
          aggregateVersion: after.version,
          data: { user_id: userId, media_id: clearedMediaId },
        });
      }
      return { after, clearedMediaId };
    };
    const commit = () => rejectTaken(dependencies, () => store.transaction(write));
    const { after, clearedMediaId } = await (roleIds === undefined
      ? commit()
      : roleQueue.run('roles', commit));
    if (clearedMediaId !== null) await licenseDocuments.deleteCleared(userId, clearedMediaId);
    return after;
  };
};

/** A phone that an operator sets takes effect at once, and its previous owner is notified. */
const notifyOwner = async (
  { store, securityNotices }: UpdateUserDependencies,
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

/**
 * Throws 403 as {@link changesForToken} does, and for a new email, phone or bank account of the caller's own account: PUT
 * /auth/me asks for the password, which this route must not bypass.
 */
const permittedChanges = (caller: UserCaller, user: User, changes: ProfileChanges): ProfileChanges => {
  const isCovered = changesBankAccount(user, changes) || changesContact(user, changes);
  if (isCovered && caller.userId === user._id) {
    throw forbidden('callers change their own contact and bank data with PUT /auth/me');
  }
  return changesForToken(caller, user, changes);
};
