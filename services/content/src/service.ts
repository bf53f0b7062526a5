/** Composition root of content: wires everything, returns the addresses and close(). */
import { type Overrides, openFoundation, type RunningService } from '@fitness/shared/service.ts';
import { createUseCases, type UseCases } from './app/use-cases.ts';
import type { ContentConfig } from './config.ts';
import { createConsumers } from './events/consumers.ts';
import { blockersGrpc } from './grpc/blockers.ts';
import { contentGrpc } from './grpc/content.ts';
import { createRoutes } from './http/routes.ts';
import { createJobs } from './jobs/jobs.ts';
import { createParts } from './parts.ts';

export interface RunningContent extends RunningService {
  /** One round of the job, now. */
  finishPurchases: UseCases['finishPurchases'];
  removeGonePosts: UseCases['removeGonePosts'];
}

export const startContent = async (
  config: ContentConfig,
  overrides: Overrides = {},
): Promise<RunningContent> => {
  const foundation = await openFoundation('content', config, overrides);
  const parts = createParts(foundation, config);
  const useCases = createUseCases(parts);
  const running = await foundation.serve({
    routes: createRoutes(useCases, config.PUBLIC_BASE_URL),
    grpc: [contentGrpc(useCases), blockersGrpc(useCases)],
    consumers: createConsumers(useCases),
    jobs: createJobs(useCases, config.CONTENT_SWEEP_SECONDS),
    beforeOpen: () => parts.store.counters.prepare(),
  });
  const { finishPurchases, removeGonePosts } = useCases;
  return { ...running, finishPurchases, removeGonePosts };
};
