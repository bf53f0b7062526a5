/** The dependencies of the use cases: stores, clients and platform services. Each use case picks what it needs. */
import { type BoostReader, createBoostReader } from '@fitness/contracts/boost.ts';
import { createMediaCopyReader, type MediaCopyReader } from '@fitness/contracts/media-copy.ts';
import type { AuditLog } from '@fitness/shared/audit/log.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { createKeyedQueue, type KeyedQueue } from '@fitness/shared/kernel/keyed-queue.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { Outbox } from '@fitness/shared/messaging/outbox.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import type { ServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { createGyms, type Gyms } from './clients/gyms.ts';
import { createUsers, type Users } from './clients/users.ts';
import { createWallet, type Wallet } from './clients/wallet.ts';
import type { ContentConfig } from './config.ts';
import { createStore, type Store } from './store/store.ts';

export interface Dependencies {
  store: Store;
  outbox: Outbox;
  audit: AuditLog;
  sequences: Sequences;
  idempotency: Idempotency;
  clock: Clock;
  log: Logger;
  users: Users;
  gyms: Gyms;
  wallet: Wallet;
  mediaCopies: MediaCopyReader;
  /** The public origin, for links to files. */
  baseUrl: string;
  boosts: BoostReader;
  /**
   * Serializes the post writes of one profile in this process, keyed by `profileKey`. All of them change the profile's
   * counters. Without the queue, losing transactions would be restarted, and with many writers some would time out.
   */
  profileQueue: KeyedQueue;
}

export const createDependencies = (runtime: ServiceRuntime, config: ContentConfig): Dependencies => {
  const { connection, outbox, audit, sequences, idempotency, clock, log } = runtime;
  const grpcClient: ServiceRuntime['grpcClient'] = (...target) => runtime.grpcClient(...target);
  return {
    store: createStore(connection, runtime.realTime, config.LIST_CACHE_MIB),
    outbox,
    audit,
    sequences,
    idempotency,
    clock,
    log,
    users: createUsers(grpcClient('identity', grpcDefinitions.identity(), config.IDENTITY_GRPC_ADDRESS)),
    gyms: createGyms(grpcClient('gyms', grpcDefinitions.gyms(), config.GYMS_GRPC_ADDRESS)),
    wallet: createWallet(grpcClient('wallet', grpcDefinitions.wallet(), config.WALLET_GRPC_ADDRESS)),
    mediaCopies: createMediaCopyReader(
      grpcClient('media', grpcDefinitions.media(), config.MEDIA_GRPC_ADDRESS),
    ),
    baseUrl: config.PUBLIC_BASE_URL,
    boosts: createBoostReader(
      grpcClient('store-billing', grpcDefinitions.storeBilling(), config.STORE_BILLING_GRPC_ADDRESS),
      log,
    ),
    profileQueue: createKeyedQueue(),
  };
};
