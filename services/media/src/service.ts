import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { type Overrides, openFoundation, type RunningService } from '@fitness/shared/service.ts';
import { createDeleteDocument } from './app/delete-document.ts';
import type { MediaConfig } from './config.ts';
import { mediaGrpc } from './grpc/media.ts';
import { createMediaStore } from './store/media.ts';

export const startMedia = async (config: MediaConfig, overrides: Overrides = {}): Promise<RunningService> => {
  const foundation = await openFoundation('media', config, overrides);
  const { connection, outbox } = foundation;
  const media = createMediaStore(connection);
  const deleteDocument = createDeleteDocument({
    media,
    outbox,
    transact: (work) => inTransaction(connection, work),
  });
  return foundation.serve({
    routes: [],
    grpc: [mediaGrpc({ media, deleteDocument, baseUrl: config.PUBLIC_BASE_URL })],
    consumers: [],
  });
};
