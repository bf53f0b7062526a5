/** The training service as responses show it (specification 2.7). */
import { type BoostResource, boostSchema } from '@fitness/contracts/boost.ts';
import { mediaSchema } from '@fitness/contracts/media.ts';
import { toMediaResources } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { type UserResource, userSchema } from '@fitness/contracts/user.ts';
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { withoutDefaults } from '@fitness/shared/kernel/optional-fields.ts';
import { z } from 'zod';
import type { Dependencies } from '../dependencies.ts';
import {
  pickTrainingServiceFields,
  type TrainingService,
  trainingServiceFields,
} from '../domain/training-service.ts';

export const trainingServiceSchema = z
  .object({
    id: z.int(),
    user_id: z.int().meta({ description: 'User id of the seller' }),
    user: userSchema,
    ...withoutDefaults(trainingServiceFields),
    boost: boostSchema.nullable().meta({ description: 'Active boost; null without one' }),
    media: z.array(mediaSchema).meta({ description: 'Files of the training service' }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'TrainingService', description: 'A service that a trainer sells' });

export type TrainingServiceResource = z.output<typeof trainingServiceSchema>;

interface EmbeddedResources {
  boosts: ReadonlyMap<number, BoostResource | null>;
  /** The public origin. */
  baseUrl: string;
}

/** The boosts of training services. A list (`isList`) shows the copies, by which it is sorted. */
export const createFetchEmbedded =
  ({ boosts, baseUrl, clock }: Pick<Dependencies, 'boosts' | 'baseUrl' | 'clock'>) =>
  async (services: readonly TrainingService[], { isList = false } = {}): Promise<EmbeddedResources> => {
    const boostables = services.map(({ id, boosted_until, boost }) => ({
      ...{ id, boostedUntil: boosted_until, boost },
    }));
    return {
      boosts: await boosts.show('training_service', boostables, { now: clock.now(), isList }),
      baseUrl,
    };
  };

/**
 * The seller as `viewer` may see them; undefined for an erased account. Throws `unavailable`. Use cases call it before
 * they write, so a completed change never returns 503.
 */
export const createFetchSeller =
  ({ users }: Pick<Dependencies, 'users'>) =>
  async (userId: number, viewer: Caller): Promise<UserResource | undefined> =>
    (await users.find([userId], viewer)).get(userId);

/** Omit `embedded` for a new training service, which has no media and no boost. */
export const toTrainingServiceResource = (
  service: TrainingService,
  user: UserResource,
  embedded?: EmbeddedResources,
): TrainingServiceResource => ({
  id: service.id,
  user_id: service.user_id,
  user,
  ...pickTrainingServiceFields(service),
  boost: embedded?.boosts.get(service.id) ?? null,
  media: embedded ? toMediaResources(MODEL.trainingService, service.id, service.media, embedded.baseUrl) : [],
  created_at: formatTimestamp(service.created_at),
  updated_at: formatTimestamp(service.updated_at),
});
