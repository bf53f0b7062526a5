import multipart from '@fastify/multipart';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import {
  type Foundation,
  type Overrides,
  openFoundation,
  type RunningService,
} from '@fitness/shared/service.ts';
import { createAttachFile } from './app/attach-file.ts';
import { createDeleteMedia } from './app/delete-media.ts';
import { createDownloadFile } from './app/download-file.ts';
import { createDropFiles } from './app/drop-files.ts';
import { createForgetAccount, createForgetTarget } from './app/forget-target.ts';
import { createListMedia } from './app/list-media.ts';
import { createReceiveFile } from './app/receive-file.ts';
import { createLicences } from './clients/licences.ts';
import { openStorage } from './clients/open-storage.ts';
import type { Storage } from './clients/storage.ts';
import { createTargets } from './clients/targets.ts';
import type { MediaConfig } from './config.ts';
import { createConsumers } from './events/consumers.ts';
import { mediaGrpc } from './grpc/media.ts';
import { createRoutes } from './http/routes.ts';
import { createSweepJob } from './jobs/sweep-files.ts';
import { createGateStore } from './store/gates.ts';
import { createMediaStore } from './store/media.ts';

const SECOND_MS = 1_000;
/** Longer than the gateway lets a request take, and far shorter than the sweeper leaves a file without a row alone. */
const UPLOAD_DEADLINE_MS = 15 * 60 * SECOND_MS;

/** What the use cases work with. */
const createParts = (foundation: Foundation, config: MediaConfig, storage: Storage) => {
  const { connection, outbox, sequences, clock, log } = foundation;
  const identity = foundation.grpcClient(
    'identity',
    grpcDefinitions.identity(),
    config.IDENTITY_GRPC_ADDRESS,
  );
  const gyms = foundation.grpcClient('gyms', grpcDefinitions.gyms(), config.GYMS_GRPC_ADDRESS);
  const content = foundation.grpcClient('content', grpcDefinitions.content(), config.CONTENT_GRPC_ADDRESS);
  return {
    media: createMediaStore(connection),
    gates: createGateStore(connection),
    storage,
    dropFiles: createDropFiles(storage, log),
    targets: createTargets({ identity, gyms, content }),
    licences: createLicences({ identity, gyms }, log),
    sequences,
    outbox,
    clock,
    log,
    transact: <T>(work: (session: ClientSession) => Promise<T>) => inTransaction(connection, work, { log }),
  };
};

/** What a test puts in place of the system's, and of the storage. */
export interface MediaOverrides extends Overrides {
  storage?: Storage;
  uploadDeadlineMs?: number;
}

export const startMedia = async (
  config: MediaConfig,
  overrides: MediaOverrides = {},
): Promise<RunningService> => {
  const storage = overrides.storage ?? (await openStorage(config));
  const foundation = await openFoundation('media', config, overrides);
  foundation.cleanup.defer('storage', () => storage.close());
  foundation.health.add('storage', () => storage.check());
  const parts = createParts(foundation, config, storage);
  const deleteMedia = createDeleteMedia(parts);
  const forgetTarget = createForgetTarget(parts);
  const baseUrl = config.PUBLIC_BASE_URL;
  return foundation.serve({
    prepareHttp: async (app) => {
      // A file that is too large is refused by us, under its field, and not by the parser.
      await app.register(multipart, { throwFileSizeLimit: false });
    },
    routes: createRoutes({
      attachFile: createAttachFile(parts),
      receiveFile: createReceiveFile(storage),
      uploadDeadlineMs: overrides.uploadDeadlineMs ?? UPLOAD_DEADLINE_MS,
      downloadFile: createDownloadFile(parts),
      deleteMedia,
      baseUrl,
    }),
    grpc: [mediaGrpc({ listMedia: createListMedia(parts.media), deleteMedia, baseUrl })],
    consumers: createConsumers({
      deleteMedia,
      forgetTarget,
      forgetAccount: createForgetAccount(parts, forgetTarget),
    }),
    jobs: [createSweepJob(parts, config.MEDIA_SWEEP_SECONDS * SECOND_MS)],
  });
};
