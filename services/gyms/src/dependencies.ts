import { type BoostReader, createBoostReader } from '@fitness/contracts/boost.ts';
import { createMediaCopyReader, type MediaCopyReader } from '@fitness/contracts/media-copy.ts';
import { createUserReader, type UserReader } from '@fitness/contracts/user.ts';
import type { AuditLog } from '@fitness/shared/audit/log.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { createKeyedQueue, type KeyedQueue } from '@fitness/shared/kernel/keyed-queue.ts';
import type { Outbox } from '@fitness/shared/messaging/outbox.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import type { ServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { createLicenseDocuments, type LicenseDocuments } from './clients/license-documents.ts';
import type { GymsConfig } from './config.ts';
import { createStore, type Store } from './store/store.ts';

export interface Dependencies {
  store: Store;
  users: Pick<UserReader, 'findRecords'>;
  mediaCopies: MediaCopyReader;
  /** The public origin, for the links of files. */
  baseUrl: string;
  boosts: BoostReader;
  licenseDocuments: LicenseDocuments;
  outbox: Outbox;
  audit: AuditLog;
  sequences: Sequences;
  clock: Clock;
  /**
   * Runs the writes of each gym (keyed by its id) one after the other in this process. Without it, the database would restart the
   * losing transactions, and some of many writers of one gym would exceed their timeout.
   */
  gymQueue: KeyedQueue;
}

export const createDependencies = (runtime: ServiceRuntime, config: GymsConfig): Dependencies => {
  const { connection, log, outbox, audit, sequences, clock } = runtime;
  const identity = runtime.grpcClient('identity', grpcDefinitions.identity(), config.IDENTITY_GRPC_ADDRESS);
  const media = runtime.grpcClient('media', grpcDefinitions.media(), config.MEDIA_GRPC_ADDRESS);
  const storeBilling = runtime.grpcClient(
    'store-billing',
    grpcDefinitions.storeBilling(),
    config.STORE_BILLING_GRPC_ADDRESS,
  );
  return {
    store: createStore(connection, log, config.LIST_CACHE_MIB),
    users: createUserReader(identity),
    mediaCopies: createMediaCopyReader(media),
    baseUrl: config.PUBLIC_BASE_URL,
    boosts: createBoostReader(storeBilling, log),
    licenseDocuments: createLicenseDocuments({ media, log }),
    outbox,
    audit,
    sequences,
    clock,
    gymQueue: createKeyedQueue(),
  };
};
