/** The stores, clients and platform services that the use cases depend on. */
import type { AuditLog } from '@fitness/shared/audit/log.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { Outbox } from '@fitness/shared/messaging/outbox.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import type { ServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { createImages, type Images } from './clients/images.ts';
import { createLicenseOwners, type LicenseOwners } from './clients/license-owners.ts';
import { createMediaCopies, type MediaCopies } from './clients/media-copies.ts';
import type { Storage } from './clients/storage.ts';
import { createTargets, type Targets } from './clients/targets.ts';
import type { MediaConfig } from './config.ts';
import { createStore, type Store } from './store/store.ts';

export interface Dependencies {
  store: Store;
  storage: Storage;
  images: Images;
  targets: Targets;
  licenseOwners: LicenseOwners;
  mediaCopies: MediaCopies;
  sequences: Sequences;
  outbox: Outbox;
  audit: AuditLog;
  clock: Clock;
  /** The real time, which the file system uses and tests cannot advance. */
  realTime: Clock;
  log: Logger;
}

/** Takes over `storage`, which is closed with the service. */
export const createDependencies = (
  runtime: ServiceRuntime,
  config: MediaConfig,
  storage: Storage,
): Dependencies => {
  const { connection, sequences, outbox, audit, clock, realTime, log } = runtime;
  runtime.cleanup.defer('storage', () => storage.close());
  runtime.health.add('storage', () => storage.check());
  const identity = runtime.grpcClient('identity', grpcDefinitions.identity(), config.IDENTITY_GRPC_ADDRESS);
  const gyms = runtime.grpcClient('gyms', grpcDefinitions.gyms(), config.GYMS_GRPC_ADDRESS);
  const content = runtime.grpcClient('content', grpcDefinitions.content(), config.CONTENT_GRPC_ADDRESS);
  return {
    store: createStore(connection, log),
    storage,
    images: createImages(),
    targets: createTargets({ identity, gyms, content }),
    licenseOwners: createLicenseOwners({ identity, gyms, log }),
    mediaCopies: createMediaCopies({
      identity: runtime.grpcClient('identity', grpcDefinitions.mediaCopies(), config.IDENTITY_GRPC_ADDRESS),
      gyms: runtime.grpcClient('gyms', grpcDefinitions.mediaCopies(), config.GYMS_GRPC_ADDRESS),
      content: runtime.grpcClient('content', grpcDefinitions.mediaCopies(), config.CONTENT_GRPC_ADDRESS),
    }),
    sequences,
    outbox,
    audit,
    clock,
    realTime,
    log,
  };
};
