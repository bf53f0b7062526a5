/** What a gym embeds from other services: one call to each for a page of gyms, nothing when they fail. */

import { type BoostResource, createBoostReader } from '@fitness/contracts/boost.ts';
import { createReadMedia, type MediaResource } from '@fitness/contracts/media.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';

export interface GymExtras {
  /** The live boost by gym id; empty when store-billing does not answer. */
  boosts(gymIds: readonly number[]): Promise<Map<number, BoostResource>>;
  /** Public media by gym id; empty when media does not answer. */
  media(gymIds: readonly number[]): Promise<Map<number, MediaResource[]>>;
}

export const createGymExtras = ({
  media,
  storeBilling,
  log,
}: {
  media: GrpcClient<MediaDefinition>;
  storeBilling: GrpcClient<StoreBillingDefinition>;
  log: Logger;
}): GymExtras => {
  const readMedia = createReadMedia(media, log);
  const boosts = createBoostReader(storeBilling, log, 'gym');
  return {
    boosts: (gymIds) => boosts.shown(gymIds),
    media: (gymIds) => readMedia(MODEL.gym, gymIds),
  };
};
