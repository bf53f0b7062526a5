/** Composition root of content: wires everything, returns the addresses and close(). */
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type Overrides, openFoundation, type RunningService } from '@fitness/shared/service.ts';
import { createUseCases, type UseCases } from './app/use-cases.ts';
import { createDecorations } from './clients/decorations.ts';
import { createGyms } from './clients/gyms.ts';
import { createUsers } from './clients/users.ts';
import { createWallet } from './clients/wallet.ts';
import type { ContentConfig } from './config.ts';
import { createConsumers } from './events/consumers.ts';
import { blockersGrpc } from './grpc/blockers.ts';
import { contentGrpc } from './grpc/content.ts';
import { createRoutes } from './http/routes.ts';
import { createJobs } from './jobs/jobs.ts';
import { createStore } from './store/store.ts';

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
  const { connection, sequences, clock, log, outbox, idempotency, grpcClient } = foundation;
  const store = createStore(connection);
  const useCases = createUseCases({
    store,
    outbox,
    sequences,
    idempotency,
    clock,
    log,
    users: createUsers(grpcClient('identity', grpcDefinitions.identity(), config.IDENTITY_GRPC_ADDRESS)),
    gyms: createGyms(grpcClient('gyms', grpcDefinitions.gyms(), config.GYMS_GRPC_ADDRESS)),
    wallet: createWallet(grpcClient('wallet', grpcDefinitions.wallet(), config.WALLET_GRPC_ADDRESS)),
    decorations: createDecorations({
      media: grpcClient('media', grpcDefinitions.media(), config.MEDIA_GRPC_ADDRESS),
      storeBilling: grpcClient(
        'store-billing',
        grpcDefinitions.storeBilling(),
        config.STORE_BILLING_GRPC_ADDRESS,
      ),
      log,
    }),
  });
  const running = await foundation.serve({
    routes: createRoutes(useCases, config.PUBLIC_BASE_URL),
    grpc: [contentGrpc(useCases), blockersGrpc(useCases)],
    consumers: createConsumers(useCases),
    jobs: createJobs(useCases, config.CONTENT_SWEEP_SECONDS),
    beforeOpen: () => store.counters.prepare(),
  });
  const { finishPurchases, removeGonePosts } = useCases;
  return { ...running, finishPurchases, removeGonePosts };
};
