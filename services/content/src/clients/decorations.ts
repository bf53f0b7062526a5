/** What only adorns a resource: without an answer in time it is shown bare, and the log says so. */
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/log.ts';
import { type BoostReader, createBoostReader } from '@fitness/shared/resources/boost.ts';
import { createReadMedia, type ReadMedia } from '@fitness/shared/resources/media.ts';

export interface Decorations {
  media: ReadMedia;
  /** Of training services. */
  boosts: BoostReader;
}

export const createDecorations = (options: {
  media: GrpcClient<MediaDefinition>;
  storeBilling: GrpcClient<StoreBillingDefinition>;
  log: Logger;
}): Decorations => ({
  media: createReadMedia(options.media, options.log),
  boosts: createBoostReader(options.storeBilling, options.log, 'training_service'),
});
