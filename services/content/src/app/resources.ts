/** What leaves this service, as the specification (2.6, 2.7) and the contract (5) show it. */
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/clock.ts';
import { MODEL } from '@fitness/shared/models.ts';
import { type BoostResource, boostSchema } from '@fitness/shared/resources/boost.ts';
import { type MediaResource, mediaSchema } from '@fitness/shared/resources/media.ts';
import { erasedUser, type UserResource, userSchema } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import type { Decorations } from '../clients/decorations.ts';
import type { Post } from '../domain/post.ts';
import { PROFILE_TYPES, typeOf } from '../domain/profile.ts';
import type { Trainee } from '../domain/trainee.ts';
import type { TrainingService } from '../domain/training-service.ts';

type MediaMap = ReadonlyMap<number, MediaResource[]>;
type BoostMap = ReadonlyMap<number, BoostResource>;

export const postSchema = z
  .object({
    id: z.int(),
    profile_type: z.enum(PROFILE_TYPES),
    profile_id: z.int(),
    title: z.string(),
    content: z.string(),
    is_draft: z.boolean(),
    in_blog: z.boolean(),
    media: z.array(mediaSchema),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'Post' });

export type PostResource = z.output<typeof postSchema>;

const toPostResource = (post: Post, media: MediaMap): PostResource => ({
  id: post.id,
  profile_type: typeOf(post.profile.kind),
  profile_id: post.profile.id,
  title: post.title,
  content: post.content,
  is_draft: post.isDraft,
  in_blog: post.inBlog,
  media: media.get(post.id) ?? [],
  created_at: formatTimestamp(post.createdAt),
  updated_at: formatTimestamp(post.updatedAt),
});

/** Posts with their media, which are fetched in one call. */
export const showPosts = async (
  decorations: Decorations,
  posts: readonly Post[],
): Promise<PostResource[]> => {
  const ids = posts.map(({ id }) => id);
  const media = await decorations.media(MODEL.post, ids);
  return posts.map((post) => toPostResource(post, media));
};

/** A post that was made just now: nothing can be attached to it yet. */
export const showNewPost = (post: Post): PostResource => toPostResource(post, new Map());

export const trainingServiceSchema = z
  .object({
    id: z.int(),
    user_id: z.int(),
    user: userSchema,
    title: z.string(),
    description: z.string(),
    price: z.int(),
    duration_days: z.int(),
    is_active: z.boolean(),
    boost: boostSchema.nullable(),
    media: z.array(mediaSchema),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'TrainingService' });

export type TrainingServiceResource = z.output<typeof trainingServiceSchema>;

export interface ServiceDecorations {
  media: MediaMap;
  boosts: BoostMap;
}

export const decorateServices = async (
  decorations: Decorations,
  ids: readonly number[],
): Promise<ServiceDecorations> => {
  const [media, boosts] = await Promise.all([
    decorations.media(MODEL.trainingService, ids),
    decorations.boosts.shown(ids),
  ]);
  return { media, boosts };
};

export const showService = (
  service: TrainingService,
  user: UserResource,
  { media, boosts }: ServiceDecorations = { media: new Map(), boosts: new Map() },
): TrainingServiceResource => ({
  id: service.id,
  user_id: service.userId,
  user,
  title: service.title,
  description: service.description,
  price: service.price,
  duration_days: service.durationDays,
  is_active: service.isActive,
  boost: boosts.get(service.id) ?? null,
  media: media.get(service.id) ?? [],
  created_at: formatTimestamp(service.createdAt),
  updated_at: formatTimestamp(service.updatedAt),
});

export const traineeSchema = z
  .object({
    id: z.int(),
    training_service_id: z.int(),
    title: z.string().meta({ description: 'Of the training service when it was bought' }),
    user_id: z.int().meta({ description: 'The buyer' }),
    user: userSchema,
    seller_user_id: z.int(),
    price: z.int(),
    status: z.enum(['active', 'delivered']),
    delivered_at: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'Trainee' });

export type TraineeResource = z.output<typeof traineeSchema>;

/** A paid trainee. `buyers`: as the viewer may see them; whom identity does not know is shown as erased. */
export const showTrainee = (
  trainee: Trainee,
  buyers: ReadonlyMap<number, UserResource>,
): TraineeResource => ({
  id: trainee.traineeId,
  training_service_id: trainee.trainingServiceId,
  title: trainee.title,
  user_id: trainee.buyerUserId,
  user:
    buyers.get(trainee.buyerUserId) ?? erasedUser(trainee.buyerUserId, formatTimestamp(trainee.createdAt)),
  seller_user_id: trainee.sellerUserId,
  price: trainee.price,
  status: trainee.status === 'delivered' ? 'delivered' : 'active',
  delivered_at: formatTimestampOrNull(trainee.deliveredAt),
  created_at: formatTimestamp(trainee.createdAt),
});
