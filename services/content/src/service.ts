/** Composition root of content. */
import { blockersService } from '@fitness/contracts/blockers.ts';
import { mediaCopiesService } from '@fitness/contracts/media-copy.ts';
import type { Overrides } from '@fitness/shared/runtime/runtime-options.ts';
import type { RunningService } from '@fitness/shared/runtime/serve.ts';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import type { ContentConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createConsumers } from './events/consumers.ts';
import { createContentService } from './grpc/content.ts';
import { createRoutes } from './http/routes.ts';
import { createJobs } from './jobs/jobs.ts';
import { createUpgrades } from './store/upgrades.ts';
import { createUseCases, type UseCases } from './use-cases.ts';

/** Includes the jobs, so tests can run a round on demand. */
export type RunningContent = RunningService &
  Pick<UseCases, 'finishPurchases' | 'finishMoves' | 'removeGonePosts'>;

export const startContent = async (
  config: ContentConfig,
  overrides: Overrides = {},
): Promise<RunningContent> => {
  const runtime = await createServiceRuntime('content', config, overrides);
  const dependencies = createDependencies(runtime, config);
  const useCases = createUseCases(dependencies);
  const running = await runtime.serve({
    routes: createRoutes(useCases, { idempotency: runtime.idempotency, baseUrl: config.PUBLIC_BASE_URL }),
    grpc: [
      createContentService(useCases),
      mediaCopiesService(useCases.saveMediaCopy),
      blockersService(useCases.blockers),
    ],
    consumers: createConsumers(useCases),
    jobs: createJobs(useCases, config.CONTENT_SWEEP_SECONDS),
    upgrades: createUpgrades(dependencies.store),
    beforeTransports: () => dependencies.store.counters.prepare(),
  });
  const { finishPurchases, finishMoves, removeGonePosts } = useCases;
  return { ...running, finishPurchases, finishMoves, removeGonePosts };
};
