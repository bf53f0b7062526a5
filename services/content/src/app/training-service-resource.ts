/** The training service as responses show it (specification 2.7). */
import { type BoostResource, boostSchema } from '@fitness/contracts/boost.ts';
import { type MediaResource, mediaSchema } from '@fitness/contracts/media.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { type UserResource, userSchema } from '@fitness/contracts/user.ts';
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
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
    user_id: z.int(),
    user: userSchema,
    ...trainingServiceFields,
    boost: boostSchema.nullable(),
    media: z.array(mediaSchema),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'TrainingService' });

export type TrainingServiceResource = z.output<typeof trainingServiceSchema>;

interface Decorated {
  media: ReadonlyMap<number, MediaResource[]>;
  boosts: ReadonlyMap<number, BoostResource>;
}

/** The media and boosts of training services, in one call each. Never rejects. */
export const createDecorateTrainingServices =
  ({ decorations }: Pick<Dependencies, 'decorations'>) =>
  async (ids: readonly number[]): Promise<Decorated> => {
    const [media, boosts] = await Promise.all([
      decorations.media(MODEL.trainingService, ids),
      decorations.boosts.shown(ids),
    ]);
    return { media, boosts };
  };

/**
 * The seller as `viewer` may see them; undefined for an erased account. Throws `unavailable`; a use case calls it before
 * it writes, so that a change that was made is never answered with 503.
 */
export const createFetchSeller =
  ({ users }: Pick<Dependencies, 'users'>) =>
  async (userId: number, viewer: Caller): Promise<UserResource | undefined> =>
    (await users.show([userId], viewer)).get(userId);

/** Without `decorated`: a new one, which has no media and no boost. */
export const toTrainingService = (
  service: TrainingService,
  user: UserResource,
  decorated?: Decorated,
): TrainingServiceResource => ({
  id: service.id,
  user_id: service.user_id,
  user,
  ...pickTrainingServiceFields(service),
  boost: decorated?.boosts.get(service.id) ?? null,
  media: decorated?.media.get(service.id) ?? [],
  created_at: formatTimestamp(service.created_at),
  updated_at: formatTimestamp(service.updated_at),
});
