import { blockersService } from '@fitness/contracts/blockers.ts';
import { mediaCopiesService } from '@fitness/contracts/media-copy.ts';
import type { Overrides } from '@fitness/shared/runtime/runtime-options.ts';
import type { RunningService } from '@fitness/shared/runtime/serve.ts';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import type { GymsConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createConsumers } from './events/consumers.ts';
import { createGymsService } from './grpc/gyms.ts';
import { createRoutes } from './http/routes.ts';
import { createUpgrades } from './store/upgrades.ts';
import { createUseCases } from './use-cases.ts';

export const startGyms = async (config: GymsConfig, overrides: Overrides = {}): Promise<RunningService> => {
  const runtime = await createServiceRuntime('gyms', config, overrides);
  const dependencies = createDependencies(runtime, config);
  const useCases = createUseCases(dependencies);
  return runtime.serve({
    routes: createRoutes(useCases, { baseUrl: config.PUBLIC_BASE_URL }),
    grpc: [
      createGymsService(useCases),
      mediaCopiesService(useCases.saveMediaCopy),
      blockersService<'gyms'>(useCases.blockers),
    ],
    consumers: createConsumers(useCases),
    upgrades: createUpgrades(dependencies.store),
    beforeTransports: useCases.prepareData,
  });
};
