/** What other services know of a gym, for a page of gyms: one call each, and an answer without it when they fail. */
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { MediaRow__Output } from '@fitness/proto/gen/fitness/media/v1/MediaRow.ts';
import type { Boost__Output } from '@fitness/proto/gen/fitness/store_billing/v1/Boost.ts';
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/log.ts';
import { MODEL } from '@fitness/shared/models.ts';

/** A gym without its pictures or boost is worth more than no gym, and more than a slow one. */
const DEADLINE_MS = 500;

export interface GymExtras {
  /** The live boost by gym id; empty when store-billing does not answer. */
  boosts(gymIds: readonly number[]): Promise<Map<number, Boost__Output>>;
  /** Public media by gym id; empty when media does not answer. */
  media(gymIds: readonly number[]): Promise<Map<number, MediaRow__Output[]>>;
}

export const createGymExtras = (parts: {
  media: GrpcClient<MediaDefinition>;
  storeBilling: GrpcClient<StoreBillingDefinition>;
  log: Logger;
}): GymExtras => ({
  boosts: async (gymIds) => {
    if (gymIds.length === 0) return new Map();
    try {
      const targets = gymIds.map((id) => ({ type: 'gym', id }));
      const { boosts } = await parts.storeBilling.call('GetBoosts', { targets }, { deadlineMs: DEADLINE_MS });
      return new Map(boosts.map((boost) => [boost.boostable_id, boost]));
    } catch (error) {
      parts.log.warn({ err: error }, 'gyms are answered without their boosts');
      return new Map();
    }
  },
  media: async (gymIds) => {
    if (gymIds.length === 0) return new Map();
    try {
      const targets = gymIds.map((id) => ({ attachable_type: MODEL.gym, attachable_id: id }));
      const { media } = await parts.media.call('GetMedia', { targets }, { deadlineMs: DEADLINE_MS });
      return Map.groupBy(media, (row) => row.attachable_id);
    } catch (error) {
      parts.log.warn({ err: error }, 'gyms are answered without their media');
      return new Map();
    }
  },
});
