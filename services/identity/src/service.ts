/** The composition root: opens what identity is made of, and hands each part what it needs. */
import type { BlockerOwner } from '@fitness/shared/blocker-catalogue.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { type Overrides, openFoundation, type RunningService } from '@fitness/shared/service.ts';
import { createAdministerUsers } from './app/administer-users.ts';
import { createBrowseUsers } from './app/browse-users.ts';
import { createDeleteAccount } from './app/delete-account.ts';
import { createDeleteUser } from './app/delete-user.ts';
import { ensureFirstAdministrator } from './app/first-administrator.ts';
import { createIntrospect } from './app/introspect.ts';
import { createAttachLicence, createForgetLicence } from './app/license-document.ts';
import { createLookUpUsers } from './app/look-up-users.ts';
import { createManageRoles } from './app/manage-roles.ts';
import { createNotifications } from './app/notifications.ts';
import { createPersonalTokens } from './app/personal-tokens.ts';
import { createProfile } from './app/profile.ts';
import { createReferralsReader } from './app/referral-score.ts';
import { createRegister } from './app/register.ts';
import { createResetPassword } from './app/reset-password.ts';
import { createSendCode } from './app/send-code.ts';
import { createNewSessionToken } from './app/session-tokens.ts';
import { createSignIn } from './app/sign-in.ts';
import { createSignOut } from './app/sign-out.ts';
import type { Transact } from './app/transact.ts';
import { createUserPresenter } from './app/user-resource.ts';
import { createBlockers } from './clients/blockers.ts';
import { createKavenegar } from './clients/kavenegar.ts';
import { createPasswords } from './clients/password-hasher.ts';
import { createSmsSender, serveSms } from './clients/sms.ts';
import { createSubscriptions } from './clients/subscriptions.ts';
import { createUserMedia } from './clients/user-media.ts';
import { firstAdministratorOf, type IdentityConfig } from './config.ts';
import { SEEDED_ROLES } from './domain/roles.ts';
import { createConsumers } from './events/consumers.ts';
import { identityService } from './grpc/identity.ts';
import { createRoutes } from './http/routes.ts';
import { createCodeStore } from './store/codes.ts';
import { createNotificationStore } from './store/notifications.ts';
import { createReferralScoreStore } from './store/referral-scores.ts';
import { createRoleStore } from './store/roles.ts';
import { createTokenStore } from './store/tokens.ts';
import { createUserStore } from './store/users.ts';

const blockerAddresses = (config: IdentityConfig): Record<BlockerOwner, string> => ({
  gyms: config.GYMS_GRPC_ADDRESS,
  wallet: config.WALLET_GRPC_ADDRESS,
  'store-billing': config.STORE_BILLING_GRPC_ADDRESS,
  content: config.CONTENT_GRPC_ADDRESS,
});

export const startIdentity = async (
  config: IdentityConfig,
  overrides: Overrides = {},
): Promise<RunningService> => {
  const passwords = await createPasswords();
  const foundation = await openFoundation('identity', config, overrides);
  const { connection, clock, random, log, outbox, sequences, limiter } = foundation;
  const transact: Transact = (work) => inTransaction(connection, work, { log });

  const users = createUserStore(connection);
  const tokens = createTokenStore(connection);
  const roles = createRoleStore(connection);
  const scores = createReferralScoreStore(connection);
  const codes = createCodeStore(connection);
  const notifications = createNotificationStore(connection);
  const inbox = createNotifications({ store: notifications, sequences, clock });

  const media = createUserMedia(
    foundation.grpcClient('media', grpcDefinitions.media(), config.MEDIA_GRPC_ADDRESS),
    log,
  );
  const subscriptions = createSubscriptions(
    foundation.grpcClient('store-billing', grpcDefinitions.storeBilling(), config.STORE_BILLING_GRPC_ADDRESS),
    log,
  );

  const blockers = createBlockers({
    connect: (owner, code) =>
      foundation.grpcClient(`${owner} ${code}`, grpcDefinitions.blockers(), blockerAddresses(config)[owner]),
    deadlineMs: config.BLOCKER_DEADLINE_MS,
    log,
  });

  const kavenegar = createKavenegar({
    baseUrl: config.KAVENEGAR_BASE_URL,
    apiKey: config.KAVENEGAR_API_KEY,
    templates: { deletion: config.KAVENEGAR_DELETION_TEMPLATE, reset: config.KAVENEGAR_RESET_TEMPLATE },
    timeoutMs: config.KAVENEGAR_TIMEOUT_MS,
  });
  const smsServer = await serveSms(foundation.broker, kavenegar, log);
  foundation.cleanup.defer('sms worker', () => smsServer.close());
  const sms = await createSmsSender(foundation.broker, log, config.SMS_DEADLINE_MS);
  foundation.cleanup.defer('sms sender', () => sms.close());
  const sendCode = createSendCode({ codes, sms, clock, random });
  const passwordReset = { users, tokens, codes, passwords, sendCode, limiter, outbox, clock, log, transact };
  const resetPassword = createResetPassword(passwordReset);
  foundation.cleanup.defer('password resets under way', () => resetPassword.close());

  const newSessionToken = createNewSessionToken(random, clock, config.TOKEN_LIFETIME_DAYS);
  const referrals = createReferralsReader({ users, scores, clock });
  const presenter = createUserPresenter({ roles, referrals, media, subscriptions });
  const introspect = createIntrospect({ users, tokens, roles, clock });
  const attachLicence = createAttachLicence(users);

  return foundation.serve({
    routes: createRoutes({
      baseUrl: config.PUBLIC_BASE_URL,
      presenter,
      register: createRegister({
        users,
        tokens,
        passwords,
        newSessionToken,
        sequences,
        random,
        clock,
        transact,
      }),
      signIn: createSignIn({ users, tokens, passwords, newSessionToken, limiter, transact }),
      signOut: createSignOut(tokens),
      profile: createProfile({ users, tokens, passwords, media, outbox, clock, transact }),
      personalTokens: createPersonalTokens({
        users,
        tokens,
        sequences,
        random,
        clock,
        transact,
        lifetimeDays: config.TOKEN_LIFETIME_DAYS,
      }),
      browseUsers: createBrowseUsers({ users, roles }),
      administerUsers: createAdministerUsers({
        users,
        roles,
        notifications,
        media,
        sequences,
        clock,
        transact,
      }),
      deleteUser: createDeleteUser({
        users,
        tokens,
        roles,
        codes,
        notifications,
        blockers,
        outbox,
        clock,
        transact,
      }),
      manageRoles: createManageRoles({ roles, transact }),
      deleteAccount: createDeleteAccount({
        users,
        tokens,
        codes,
        passwords,
        blockers,
        sendCode,
        outbox,
        clock,
        graceDays: config.DELETION_GRACE_DAYS,
        transact,
      }),
      resetPassword,
      notifications: inbox,
    }),
    grpc: [
      identityService({
        introspect,
        lookUpUsers: createLookUpUsers(users),
        attachLicence: (document) => transact((session) => attachLicence(session, document)),
      }),
    ],
    consumers: createConsumers({
      notifications: inbox,
      attachLicence,
      forgetLicence: createForgetLicence(users),
    }),
    jobs: [],
    beforeOpen: async () => {
      await roles.seed(SEEDED_ROLES);
      const person = firstAdministratorOf(config);
      const parts = { users, passwords, sequences, random, clock, log, transact };
      if (person !== undefined) await ensureFirstAdministrator(parts, person);
    },
  });
};
