/** Optional parts of a resource. They are left out, with a warning in the log, when their owner does not answer in time. */
import { type BoostReader, createBoostReader } from '@fitness/contracts/boost.ts';
import { createReadMedia, type ReadMedia } from '@fitness/contracts/media.ts';
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';

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
