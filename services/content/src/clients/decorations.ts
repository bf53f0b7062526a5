/** What only adorns a resource: without an answer in time it is shown bare, and the log says so. */
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { MediaRow__Output } from '@fitness/proto/gen/fitness/media/v1/MediaRow.ts';
import type { Boost__Output } from '@fitness/proto/gen/fitness/store_billing/v1/Boost.ts';
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/log.ts';

export interface Decorations {
  /** Public media of things of one model, by id, in one call. */
  media(model: string, ids: readonly number[]): Promise<Map<number, MediaRow__Output[]>>;
  /** Live boosts of training services, by id, in one call. */
  boosts(trainingServiceIds: readonly number[]): Promise<Map<number, Boost__Output>>;
  /** As `boosts`, for whoever must know: throws `unavailable`. */
  boostsForSure(trainingServiceIds: readonly number[]): Promise<Map<number, Boost__Output>>;
}

const DEADLINE_MS = 500;
const ANSWER_DEADLINE_MS = 3_000;

export const createDecorations = (options: {
  media: GrpcClient<MediaDefinition>;
  storeBilling: GrpcClient<StoreBillingDefinition>;
  log: Logger;
}): Decorations => {
  const boostsForSure = async (ids: readonly number[], deadlineMs = ANSWER_DEADLINE_MS) => {
    if (ids.length === 0) return new Map<number, Boost__Output>();
    const targets = ids.map((id) => ({ type: 'training_service', id }));
    const answer = await options.storeBilling.call('GetBoosts', { targets }, { deadlineMs });
    return new Map(answer.boosts.map((boost) => [boost.boostable_id, boost]));
  };
  return {
    media: async (model, ids) => {
      if (ids.length === 0) return new Map();
      const targets = ids.map((id) => ({ attachable_type: model, attachable_id: id }));
      try {
        const answer = await options.media.call('GetMedia', { targets }, { deadlineMs: DEADLINE_MS });
        return Map.groupBy(answer.media, (row) => row.attachable_id);
      } catch (error) {
        options.log.warn({ err: error }, 'shown without media');
        return new Map();
      }
    },
    boosts: async (ids) => {
      try {
        return await boostsForSure(ids, DEADLINE_MS);
      } catch (error) {
        options.log.warn({ err: error }, 'shown without boosts');
        return new Map();
      }
    },
    boostsForSure: (ids) => boostsForSure(ids),
  };
};
