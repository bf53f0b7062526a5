/** The composition root: opens what identity is made of, and hands each door what it serves. */
import { PERMISSIONS } from '@fitness/shared/permissions.ts';
import { openFoundation, type RunningService } from '@fitness/shared/service.ts';
import { ensureFirstAdministrator } from './app/first-administrator.ts';
import { createPasswords } from './clients/password-hasher.ts';
import { firstAdministratorOf, type IdentityConfig } from './config.ts';
import { ADMINISTRATOR_ROLE_ID, SEEDED_ROLES } from './domain/roles.ts';
import { createConsumers } from './events/consumers.ts';
import { identityService } from './grpc/identity.ts';
import { createRoutes } from './http/routes.ts';
import { createJobs } from './jobs/jobs.ts';
import { createOauthDoor } from './oauth/door.ts';
import { createParts } from './parts.ts';
import { createUseCases, type IdentityOverrides } from './use-cases.ts';

export const startIdentity = async (
  config: IdentityConfig,
  overrides: IdentityOverrides = {},
): Promise<RunningService> => {
  const passwords = await createPasswords();
  const foundation = await openFoundation('identity', config, overrides);
  const parts = await createParts(foundation, config, passwords);
  const useCases = createUseCases(parts, config, overrides);
  foundation.cleanup.defer('password resets under way', () => useCases.resetPassword.close());
  const { introspect, lookUpUsers, presenter, attachLicence, forgetLicence, notifications } = useCases;
  return foundation.serve({
    routes: createRoutes({ ...useCases, baseUrl: config.PUBLIC_BASE_URL }),
    prepareHttp: createOauthDoor({
      ...parts,
      signIn: useCases.signIn,
      signer: foundation.signer,
      issuer: config.PUBLIC_BASE_URL,
      secret: config.INTERNAL_AUTH_SECRET,
      accessTokenMinutes: config.OAUTH_ACCESS_TOKEN_MINUTES,
      refreshTokenDays: config.OAUTH_REFRESH_TOKEN_DAYS,
    }),
    grpc: [
      identityService({
        introspect,
        lookUpUsers,
        presenter,
        deletionBlockers: (userId) => parts.blockers.evaluate(userId),
        attachLicence: (document) => parts.transact((session) => attachLicence(session, document)),
      }),
    ],
    consumers: createConsumers({ notifications, attachLicence, forgetLicence }),
    jobs: createJobs(useCases.purgeAccounts, config.PURGE_INTERVAL_MS),
    beforeOpen: async () => {
      await parts.roles.seed(SEEDED_ROLES);
      // A release may bring a permission that nobody has, and so nobody could give.
      await parts.roles.addPermissions(ADMINISTRATOR_ROLE_ID, PERMISSIONS);
      const person = firstAdministratorOf(config);
      if (person !== undefined) await ensureFirstAdministrator(parts, person);
    },
  });
};
