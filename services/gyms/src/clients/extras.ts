/** What other services know of a gym, for a page of gyms: one call each, and an answer without it when they fail. */
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/log.ts';
import { MODEL } from '@fitness/shared/models.ts';
import { type BoostResource, createBoostReader } from '@fitness/shared/resources/boost.ts';
import { createReadMedia, type MediaResource } from '@fitness/shared/resources/media.ts';

export interface GymExtras {
  /** The live boost by gym id; empty when store-billing does not answer. */
  boosts(gymIds: readonly number[]): Promise<Map<number, BoostResource>>;
  /** Public media by gym id; empty when media does not answer. */
  media(gymIds: readonly number[]): Promise<Map<number, MediaResource[]>>;
}

export const createGymExtras = (parts: {
  media: GrpcClient<MediaDefinition>;
  storeBilling: GrpcClient<StoreBillingDefinition>;
  log: Logger;
}): GymExtras => {
  const readMedia = createReadMedia(parts.media, parts.log);
  const boosts = createBoostReader(parts.storeBilling, parts.log, 'gym');
  return {
    boosts: (gymIds) => boosts.shown(gymIds),
    media: (gymIds) => readMedia(MODEL.gym, gymIds),
  };
};
