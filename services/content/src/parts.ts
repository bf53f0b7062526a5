/** Wires the store and the clients: what both the service and its commands are made of. */
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { Foundation } from '@fitness/shared/service.ts';
import type { Parts } from './app/parts.ts';
import { createDecorations } from './clients/decorations.ts';
import { createGyms } from './clients/gyms.ts';
import { createUsers } from './clients/users.ts';
import { createWallet } from './clients/wallet.ts';
import type { ContentConfig } from './config.ts';
import { createStore } from './store/store.ts';

export const createParts = (foundation: Foundation, config: ContentConfig): Parts => {
  const { connection, sequences, clock, log, outbox, idempotency } = foundation;
  const dial: Foundation['grpcClient'] = (...target) => foundation.grpcClient(...target);
  return {
    store: createStore(connection),
    outbox,
    sequences,
    idempotency,
    clock,
    log,
    users: createUsers(dial('identity', grpcDefinitions.identity(), config.IDENTITY_GRPC_ADDRESS)),
    gyms: createGyms(dial('gyms', grpcDefinitions.gyms(), config.GYMS_GRPC_ADDRESS)),
    wallet: createWallet(dial('wallet', grpcDefinitions.wallet(), config.WALLET_GRPC_ADDRESS)),
    decorations: createDecorations({
      media: dial('media', grpcDefinitions.media(), config.MEDIA_GRPC_ADDRESS),
      storeBilling: dial('store-billing', grpcDefinitions.storeBilling(), config.STORE_BILLING_GRPC_ADDRESS),
      log,
    }),
  };
};
