/** The post as responses show it (specification 2.6). */
import { mediaSchema } from '@fitness/contracts/media.ts';
import { toMediaResources } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import { type Post, pickPostFields, postFields } from '../domain/post.ts';
import { PROFILE_TYPES, typeOf } from '../domain/profile.ts';

export const postSchema = z
  .object({
    id: z.int(),
    profile_type: z.enum(PROFILE_TYPES),
    profile_id: z.int(),
    ...postFields,
    media: z.array(mediaSchema),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'Post' });

export type PostResource = z.output<typeof postSchema>;

/** `baseUrl`: the public origin. */
export const toPostResource = (post: Post, baseUrl: string): PostResource => ({
  id: post.id,
  profile_type: typeOf(post.profile.kind),
  profile_id: post.profile.id,
  ...pickPostFields(post),
  media: toMediaResources(MODEL.post, post.id, post.media, baseUrl),
  created_at: formatTimestamp(post.created_at),
  updated_at: formatTimestamp(post.updated_at),
});
