import multipart from '@fastify/multipart';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { type Overrides, openFoundation, type RunningService } from '@fitness/shared/service.ts';
import { createAttachFile } from './app/attach-file.ts';
import { createDeleteMedia } from './app/delete-media.ts';
import { createDownloadFile } from './app/download-file.ts';
import { createListMedia } from './app/list-media.ts';
import { createReceiveFile } from './app/receive-file.ts';
import { createLicences } from './clients/licences.ts';
import { createLocalStorage } from './clients/local-storage.ts';
import { createTargets } from './clients/targets.ts';
import type { MediaConfig } from './config.ts';
import { createConsumers } from './events/consumers.ts';
import { mediaGrpc } from './grpc/media.ts';
import { createRoutes } from './http/routes.ts';
import { createSweepJob } from './jobs/sweep-files.ts';
import { createMediaStore } from './store/media.ts';

export const startMedia = async (config: MediaConfig, overrides: Overrides = {}): Promise<RunningService> => {
  const storage = await createLocalStorage(config.MEDIA_DIRECTORY);
  const foundation = await openFoundation('media', config, overrides);
  const { connection, outbox, sequences, clock, log, grpcClient } = foundation;
  const transact = <T>(work: (session: ClientSession) => Promise<T>) =>
    inTransaction(connection, work, { log });
  const media = createMediaStore(connection);
  const identity = grpcClient('identity', grpcDefinitions.identity(), config.IDENTITY_GRPC_ADDRESS);
  const gyms = grpcClient('gyms', grpcDefinitions.gyms(), config.GYMS_GRPC_ADDRESS);
  const targets = createTargets({
    identity,
    gyms,
    content: grpcClient('content', grpcDefinitions.content(), config.CONTENT_GRPC_ADDRESS),
  });
  const deleteMedia = createDeleteMedia({ media, storage, targets, outbox, transact });
  const licences = createLicences({ identity, gyms }, log);
  const attachFile = createAttachFile({
    media,
    storage,
    targets,
    licences,
    sequences,
    outbox,
    clock,
    transact,
  });
  const receiveFile = createReceiveFile(storage);
  const downloadFile = createDownloadFile({ media, storage, targets });
  const baseUrl = config.PUBLIC_BASE_URL;
  return foundation.serve({
    prepareHttp: async (app) => {
      await app.register(multipart);
    },
    routes: createRoutes({ attachFile, receiveFile, deleteMedia, downloadFile, baseUrl }),
    grpc: [mediaGrpc({ listMedia: createListMedia(media), deleteMedia, baseUrl })],
    consumers: createConsumers(deleteMedia),
    jobs: [createSweepJob({ media, storage, clock, log })],
  });
};
