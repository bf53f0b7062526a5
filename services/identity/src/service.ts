/** Composition root of identity. */
import { mediaCopiesService } from '@fitness/contracts/media-copy.ts';
import type { Overrides } from '@fitness/shared/runtime/runtime-options.ts';
import type { RunningService } from '@fitness/shared/runtime/serve.ts';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { firstAdministratorOf, type IdentityConfig } from './config.ts';
import { createDependencies, type DependencyOverrides } from './dependencies.ts';
import { createConsumers } from './events/consumers.ts';
import { createIdentityService } from './grpc/identity.ts';
import { createRoutes } from './http/routes.ts';
import { createJobs } from './jobs/jobs.ts';
import { createOauthPlugin } from './oauth/plugin.ts';
import { createUpgrades } from './store/upgrades.ts';
import { createUseCases } from './use-cases.ts';

/** Replacements for tests. */
export interface IdentityOverrides extends Overrides, DependencyOverrides {}

export const startIdentity = async (
  config: IdentityConfig,
  overrides: IdentityOverrides = {},
): Promise<RunningService> => {
  const runtime = await createServiceRuntime('identity', config, overrides);
  const dependencies = await createDependencies(runtime, config, overrides);
  const useCases = createUseCases(dependencies);
  return runtime.serve({
    routes: createRoutes(useCases, { baseUrl: config.PUBLIC_BASE_URL, limits: dependencies.limits }),
    prepareHttp: createOauthPlugin({
      ...dependencies,
      signIn: useCases.signIn,
      usablePermissions: useCases.usablePermissions,
      securityNotices: useCases.securityNotices,
      signer: runtime.signer,
      issuer: config.PUBLIC_BASE_URL,
      secret: config.OAUTH_SECRET,
      accessTokenMinutes: config.OAUTH_ACCESS_TOKEN_MINUTES,
      refreshTokenDays: config.OAUTH_REFRESH_TOKEN_DAYS,
      redirectSchemes: config.OAUTH_REDIRECT_SCHEMES.split(','),
    }),
    grpc: [createIdentityService(useCases), mediaCopiesService(useCases.saveMediaCopy)],
    consumers: createConsumers(useCases),
    jobs: createJobs(useCases, config),
    upgrades: createUpgrades(runtime.connection, dependencies),
    beforeTransports: async () => {
      await useCases.seedRoles();
      const person = firstAdministratorOf(config);
      if (person !== undefined) await useCases.ensureFirstAdministrator(person);
    },
  });
};
