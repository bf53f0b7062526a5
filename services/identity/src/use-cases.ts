/** The use cases of identity, each with the parts that it needs. */
import type { Overrides } from '@fitness/shared/service.ts';
import { createAdministerUsers } from './app/administer-users.ts';
import { createBrowseUsers } from './app/browse-users.ts';
import { createDeleteAccount } from './app/delete-account.ts';
import { createDeleteUser } from './app/delete-user.ts';
import { createIntrospect } from './app/introspect.ts';
import { createAttachLicence, createForgetLicence } from './app/license-document.ts';
import { createLookUpUsers } from './app/look-up-users.ts';
import { createManageRoles } from './app/manage-roles.ts';
import { createNotifications } from './app/notifications.ts';
import { createPersonalTokens } from './app/personal-tokens.ts';
import { createProfile } from './app/profile.ts';
import { createPurgeAccounts } from './app/purge-accounts.ts';
import { createReferralsReader } from './app/referral-score.ts';
import { createRegister } from './app/register.ts';
import { ANSWER_AFTER_MS, createResetPassword } from './app/reset-password.ts';
import { createSendCode } from './app/send-code.ts';
import { createNewSessionToken } from './app/session-tokens.ts';
import { createSignIn } from './app/sign-in.ts';
import { createSignOut } from './app/sign-out.ts';
import { createUserPresenter } from './app/user-resource.ts';
import type { IdentityConfig } from './config.ts';
import type { Parts } from './parts.ts';

/** What a test puts in place of the system's. */
export interface IdentityOverrides extends Overrides {
  /** How long the answer to a forgotten password waits. */
  answerAfterMs?: number;
}

export const createUseCases = (
  parts: Parts,
  config: IdentityConfig,
  { answerAfterMs = ANSWER_AFTER_MS }: IdentityOverrides = {},
) => {
  const { users, tokens, notifications, sequences, clock, random } = parts;
  const newSessionToken = createNewSessionToken(random, clock, config.TOKEN_LIFETIME_DAYS);
  const referrals = createReferralsReader(parts);
  const sendCode = createSendCode(parts);
  const inbox = createNotifications({ store: notifications, users, sequences, clock });
  return {
    presenter: createUserPresenter({ ...parts, referrals }),
    register: createRegister({ ...parts, newSessionToken }),
    signIn: createSignIn({ ...parts, newSessionToken }),
    signOut: createSignOut(tokens),
    profile: createProfile(parts),
    personalTokens: createPersonalTokens({ ...parts, lifetimeDays: config.TOKEN_LIFETIME_DAYS }),
    browseUsers: createBrowseUsers(parts),
    administerUsers: createAdministerUsers(parts),
    deleteUser: createDeleteUser(parts),
    manageRoles: createManageRoles(parts),
    deleteAccount: createDeleteAccount({ ...parts, sendCode, graceDays: config.DELETION_GRACE_DAYS }),
    resetPassword: createResetPassword({ ...parts, sendCode, answerAfterMs }),
    notifications: inbox,
    purgeAccounts: createPurgeAccounts({ ...parts, deliver: inbox.deliver }),
    introspect: createIntrospect(parts),
    lookUpUsers: createLookUpUsers(users),
    attachLicence: createAttachLicence(users),
    forgetLicence: createForgetLicence(users),
  };
};
