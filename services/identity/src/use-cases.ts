/** Every use case of identity, built from the dependencies. */
import { createArmDeletion } from './app/arm-deletion.ts';
import { createAttachLicense } from './app/attach-license.ts';
import { createCancelDeletion } from './app/cancel-deletion.ts';
import { createChangePassword } from './app/change-password.ts';
import { createCheckSecondFactor } from './app/check-second-factor.ts';
import { createCommitDeletion } from './app/commit-deletion.ts';
import { createConfirmPhone } from './app/confirm-phone.ts';
import { createCreatePersonalToken } from './app/create-personal-token.ts';
import { createDeleteUser } from './app/delete-user.ts';
import { createDeliverNotification } from './app/deliver-notification.ts';
import { createDetachLicense } from './app/detach-license.ts';
import { createDeviceUseCases } from './app/devices.ts';
import { createEnsureFirstAdministrator } from './app/ensure-first-administrator.ts';
import { createEraseAccount, createEraseRest } from './app/erase-account.ts';
import { createGetDeletionBlockers } from './app/get-deletion-blockers.ts';
import { createGetHiddenUsers } from './app/get-hidden-users.ts';
import { createGetProfile } from './app/get-profile.ts';
import { createGetUser } from './app/get-user.ts';
import { createGetUsers } from './app/get-users.ts';
import { createIntrospect } from './app/introspect.ts';
import { createLimitSession } from './app/limit-session.ts';
import { createListAuditLog } from './app/list-audit-log.ts';
import { createListGrants } from './app/list-grants.ts';
import { createListLicenseReviews } from './app/list-license-reviews.ts';
import { createListNotifications } from './app/list-notifications.ts';
import { createListRoles } from './app/list-roles.ts';
import { createListTokens } from './app/list-tokens.ts';
import { createListUsers } from './app/list-users.ts';
import { createMarkNotificationRead } from './app/mark-notification-read.ts';
import { createNewSessionToken } from './app/new-session-token.ts';
import { createPreferenceUseCases } from './app/notification-preferences.ts';
import { createPurgeAccounts } from './app/purge-accounts.ts';
import { createEmailBudget, createSmsBudget, createTakeReset } from './app/rate-limits.ts';
import { createReferralsReader } from './app/referrals-reader.ts';
import { createRegister } from './app/register.ts';
import { createRemoveSecondFactor } from './app/remove-second-factor.ts';
import { createResetPassword } from './app/reset-password.ts';
import { createRevokeGrant } from './app/revoke-grant.ts';
import { createRevokeToken } from './app/revoke-token.ts';
import { createMediaCopyUseCases } from './app/save-media.ts';
import { createOwnSecondFactor } from './app/second-factor.ts';
import { createSecurityNotices } from './app/security-notices.ts';
import { createSeedRoles } from './app/seed-roles.ts';
import { createSendCode } from './app/send-code.ts';
import { createSendNotification } from './app/send-notification.ts';
import { createSendSecuritySms } from './app/send-security-sms.ts';
import { createShowUsers } from './app/show-users.ts';
import { createSignIn } from './app/sign-in.ts';
import { createSignOut } from './app/sign-out.ts';
import { createUpdateProfile } from './app/update-profile.ts';
import { createUpdateRole } from './app/update-role.ts';
import { createUpdateUser } from './app/update-user.ts';
import { createUsablePermissions } from './app/usable-permissions.ts';
import { createPresentOwnAccount, createPresentUser, createPresentUsers } from './app/user-resource.ts';
import type { AllDependencies, Dependencies } from './dependencies.ts';

const createErasureUseCases = (
  dependencies: Dependencies,
  deliverNotification: ReturnType<typeof createDeliverNotification>,
) => {
  const eraseAccount = createEraseAccount(dependencies);
  return {
    purgeAccounts: createPurgeAccounts({ ...dependencies, eraseAccount, deliverNotification }),
    deleteUser: createDeleteUser({ ...dependencies, eraseAccount }),
    eraseRest: createEraseRest(dependencies),
  };
};

const createNotificationUseCases = (dependencies: Dependencies) => ({
  listNotifications: createListNotifications(dependencies),
  markNotificationRead: createMarkNotificationRead(dependencies),
  ...createPreferenceUseCases(dependencies),
  ...createDeviceUseCases(dependencies),
  ...createSendNotification({ ...dependencies, emailBudget: createEmailBudget(dependencies) }),
  sendSecuritySms: createSendSecuritySms(dependencies),
});

export const createUseCases = ({ newNotifications, ...dependencies }: AllDependencies) => {
  const newSessionToken = createNewSessionToken(dependencies);
  const sendCode = createSendCode(dependencies);
  const smsBudget = createSmsBudget(dependencies);
  const takeReset = createTakeReset(dependencies);
  const deliverNotification = createDeliverNotification({ ...dependencies, newNotifications });
  const securityNotices = createSecurityNotices({ ...dependencies, deliverNotification });
  const checkSecondFactor = createCheckSecondFactor({ ...dependencies, securityNotices });
  const usablePermissions = createUsablePermissions(dependencies);
  const referralsReader = createReferralsReader(dependencies);
  const presentUsers = createPresentUsers({ ...dependencies, referralsReader });
  return {
    register: createRegister({ ...dependencies, newSessionToken }),
    signIn: createSignIn({ ...dependencies, newSessionToken, checkSecondFactor }),
    signOut: createSignOut(dependencies),
    limitSession: createLimitSession(dependencies),
    introspect: createIntrospect({ ...dependencies, usablePermissions }),
    usablePermissions,
    resetPassword: createResetPassword({ ...dependencies, sendCode, smsBudget, takeReset, securityNotices }),

    getProfile: createGetProfile(dependencies),
    updateProfile: createUpdateProfile({ ...dependencies, sendCode, smsBudget, securityNotices }),
    confirmPhone: createConfirmPhone({ ...dependencies, securityNotices }),
    changePassword: createChangePassword({ ...dependencies, securityNotices }),
    ownSecondFactor: createOwnSecondFactor({ ...dependencies, checkSecondFactor, securityNotices }),

    armDeletion: createArmDeletion({ ...dependencies, sendCode, smsBudget }),
    commitDeletion: createCommitDeletion({ ...dependencies, securityNotices }),
    cancelDeletion: createCancelDeletion(dependencies),
    getDeletionBlockers: createGetDeletionBlockers(dependencies),
    ...createErasureUseCases(dependencies, deliverNotification),

    listPersonalTokens: createListTokens(dependencies, 'personal'),
    createPersonalToken: createCreatePersonalToken({ ...dependencies, securityNotices, usablePermissions }),
    revokePersonalToken: createRevokeToken(dependencies, 'personal'),
    listSessions: createListTokens(dependencies, 'session'),
    revokeSession: createRevokeToken(dependencies, 'session'),
    listGrants: createListGrants(dependencies),
    revokeGrant: createRevokeGrant(dependencies),
    securityNotices,

    presentUser: createPresentUser({ ...dependencies, referralsReader }),
    presentOwnAccount: createPresentOwnAccount({ ...dependencies, referralsReader }),
    presentUsers,
    showUsers: createShowUsers({ ...dependencies, presentUsers }),
    getUsers: createGetUsers(dependencies),
    getHiddenUsers: createGetHiddenUsers(dependencies),
    listUsers: createListUsers(dependencies),
    listLicenseReviews: createListLicenseReviews(dependencies),
    getUser: createGetUser(dependencies),
    updateUser: createUpdateUser({ ...dependencies, securityNotices, deliverNotification }),
    removeSecondFactor: createRemoveSecondFactor({ ...dependencies, securityNotices }),
    attachLicense: createAttachLicense(dependencies),
    detachLicense: createDetachLicense({ ...dependencies, deliverNotification }),

    ...createMediaCopyUseCases(dependencies),

    listRoles: createListRoles(dependencies),
    updateRole: createUpdateRole(dependencies),
    seedRoles: createSeedRoles(dependencies),
    ensureFirstAdministrator: createEnsureFirstAdministrator(dependencies),

    listAuditLog: createListAuditLog(dependencies),

    deliverNotification,
    ...createNotificationUseCases(dependencies),
  };
};

export type UseCases = ReturnType<typeof createUseCases>;
