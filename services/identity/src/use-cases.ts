/** Every use case of identity, built from the dependencies. */
import { createEnsureFirstAdministrator } from './app/accounts/ensure-first-administrator.ts';
import { createGetProfile } from './app/accounts/get-profile.ts';
import { createGetUser } from './app/accounts/get-user.ts';
import { createGetUserNames } from './app/accounts/get-user-names.ts';
import { createGetUsers } from './app/accounts/get-users.ts';
import { createFindInvalidFields } from './app/accounts/invalid-fields.ts';
import { createListUsers } from './app/accounts/list-users.ts';
import { createRebuild } from './app/accounts/rebuild.ts';
import { createReferralsReader } from './app/accounts/referrals-reader.ts';
import { createRegister } from './app/accounts/register.ts';
import { createReviewLicense } from './app/accounts/review-license.ts';
import { createMediaCopyUseCases } from './app/accounts/save-media.ts';
import { createShowUsers } from './app/accounts/show-users.ts';
import { createUpdateProfile } from './app/accounts/update-profile.ts';
import { createUpdateUser } from './app/accounts/update-user.ts';
import {
  createPresentOwnAccount,
  createPresentUser,
  createPresentUsers,
} from './app/accounts/user-resource.ts';
import {
  createCreatePersonalToken,
  createFindInvalidTokenFields,
} from './app/credentials/create-personal-token.ts';
import { createIntrospect } from './app/credentials/introspect.ts';
import { createListGrants } from './app/credentials/list-grants.ts';
import { createListTokens } from './app/credentials/list-tokens.ts';
import { createRevokeGrant } from './app/credentials/revoke-grant.ts';
import { createUsablePermissions } from './app/credentials/usable-permissions.ts';
import { createArmDeletion } from './app/deletion/arm-deletion.ts';
import { createCancelDeletion } from './app/deletion/cancel-deletion.ts';
import { createCommitDeletion } from './app/deletion/commit-deletion.ts';
import { createDeleteUser } from './app/deletion/delete-user.ts';
import { createEraseAccount, createEraseRest } from './app/deletion/erase-account.ts';
import {
  createGetDeletionBlockers,
  createGetUserDeletionBlockers,
} from './app/deletion/get-deletion-blockers.ts';
import { createPostponeRestoredDeletions } from './app/deletion/postpone-restored-deletions.ts';
import { createPurgeAccounts } from './app/deletion/purge-accounts.ts';
import { createRepeatErasures } from './app/deletion/repeat-erasures.ts';
import { createSettleErasures } from './app/deletion/settle-erasures.ts';
import { createAttachLicense } from './app/licenses/attach-license.ts';
import { createDetachLicense } from './app/licenses/detach-license.ts';
import { createListLicenseReviews } from './app/licenses/list-license-reviews.ts';
import { createListAuditLog } from './app/list-audit-log.ts';
import { createDeliverNotification } from './app/notifications/deliver-notification.ts';
import { createDeviceUseCases } from './app/notifications/devices.ts';
import { createEmailBudget } from './app/notifications/email-budget.ts';
import { createListNotifications } from './app/notifications/list-notifications.ts';
import { createMarkNotificationRead } from './app/notifications/mark-notification-read.ts';
import { createPreferenceUseCases } from './app/notifications/notification-preferences.ts';
import { createSendNotification } from './app/notifications/send-notification.ts';
import { createSendSecuritySms } from './app/notifications/send-security-sms.ts';
import { createListRoles } from './app/roles/list-roles.ts';
import { createSeedRoles } from './app/roles/seed-roles.ts';
import { createUpdateRole } from './app/roles/update-role.ts';
import { createChangePassword } from './app/sign-in/change-password.ts';
import { createCheckSecondFactor } from './app/sign-in/check-second-factor.ts';
import { createConfirmPhone } from './app/sign-in/confirm-phone.ts';
import { countLogins } from './app/sign-in/count-logins.ts';
import { createEndUserSession } from './app/sign-in/end-user-session.ts';
import { createLimitSession } from './app/sign-in/limit-session.ts';
import { createListSessions } from './app/sign-in/list-sessions.ts';
import { createNewSessionToken } from './app/sign-in/new-session-token.ts';
import { createRemoveSecondFactor } from './app/sign-in/remove-second-factor.ts';
import { createRenewSecondFactors } from './app/sign-in/renew-second-factors.ts';
import { createResetPassword } from './app/sign-in/reset-password.ts';
import { createRevokeToken } from './app/sign-in/revoke-token.ts';
import { createOwnSecondFactor } from './app/sign-in/second-factor.ts';
import { createSecurityNotices } from './app/sign-in/security-notices.ts';
import { createSendCode } from './app/sign-in/send-code.ts';
import { createSignIn } from './app/sign-in/sign-in.ts';
import { createSignOut } from './app/sign-in/sign-out.ts';
import { createSmsBudget } from './app/sign-in/sms-budget.ts';
import { createTakeReset } from './app/sign-in/take-reset.ts';
import type { AllDependencies, Dependencies } from './dependencies.ts';

const createErasureUseCases = (
  dependencies: Dependencies,
  deliverNotification: ReturnType<typeof createDeliverNotification>,
) => {
  const eraseAccount = createEraseAccount(dependencies);
  return {
    eraseAccount,
    purgeAccounts: createPurgeAccounts({ ...dependencies, eraseAccount, deliverNotification }),
    deleteUser: createDeleteUser({ ...dependencies, eraseAccount }),
    eraseRest: createEraseRest(dependencies),
    settleErasures: createSettleErasures(dependencies),
    repeatErasures: createRepeatErasures({ ...dependencies, eraseAccount }),
    postponeRestoredDeletions: createPostponeRestoredDeletions(dependencies),
    endRestoredCredentials: dependencies.store.endRestoredCredentials,
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

const createBlockerUseCases = (dependencies: Dependencies) => ({
  getDeletionBlockers: createGetDeletionBlockers(dependencies),
  getUserDeletionBlockers: createGetUserDeletionBlockers(dependencies),
});

/** The copies of what other services own. */
const createCopyUseCases = (dependencies: Dependencies) => ({
  ...createMediaCopyUseCases(dependencies),
  saveSubscription: dependencies.store.users.saveSubscription,
  rebuild: createRebuild(dependencies),
});

const createTokenLists = (dependencies: Dependencies) => ({
  listGrants: createListGrants(dependencies),
  listPersonalTokens: createListTokens(dependencies, 'personal'),
  listSessions: createListSessions({
    ...dependencies,
    listTokens: createListTokens(dependencies, 'session'),
  }),
});

const createFieldChecks = (dependencies: Dependencies) => ({
  findInvalidFields: createFindInvalidFields(dependencies),
  findInvalidTokenFields: createFindInvalidTokenFields(dependencies),
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
    signIn: countLogins(createSignIn({ ...dependencies, newSessionToken, checkSecondFactor }), dependencies),
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
    ...createBlockerUseCases(dependencies),
    ...createErasureUseCases(dependencies, deliverNotification),

    createPersonalToken: createCreatePersonalToken({ ...dependencies, securityNotices, usablePermissions }),
    revokePersonalToken: createRevokeToken(dependencies, 'personal'),
    ...createFieldChecks(dependencies),
    ...createTokenLists(dependencies),
    revokeSession: createRevokeToken(dependencies, 'session'),
    endUserSession: createEndUserSession(dependencies),
    revokeGrant: createRevokeGrant(dependencies),
    securityNotices,

    presentUser: createPresentUser({ ...dependencies, referralsReader }),
    presentOwnAccount: createPresentOwnAccount({ ...dependencies, referralsReader }),
    presentUsers,
    showUsers: createShowUsers({ ...dependencies, presentUsers }),
    getUsers: createGetUsers(dependencies),
    getHiddenUsers: dependencies.store.users.partitionHidden,
    listUsers: createListUsers(dependencies),
    listLicenseReviews: createListLicenseReviews(dependencies),
    getUser: createGetUser(dependencies),
    getUserNames: createGetUserNames(dependencies),
    reviewLicense: createReviewLicense({ ...dependencies, deliverNotification }),
    updateUser: createUpdateUser({ ...dependencies, securityNotices, deliverNotification }),
    removeSecondFactor: createRemoveSecondFactor({ ...dependencies, securityNotices }),
    renewSecondFactors: createRenewSecondFactors(dependencies),
    attachLicense: createAttachLicense(dependencies),
    detachLicense: createDetachLicense({ ...dependencies, deliverNotification }),

    ...createCopyUseCases(dependencies),
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
