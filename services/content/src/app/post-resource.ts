/** The post as responses show it (specification 2.6). */
import { mediaSchema } from '@fitness/contracts/media.ts';
import { toMediaResources } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { withoutDefaults } from '@fitness/shared/kernel/optional-fields.ts';
import { z } from 'zod';
import { type Post, pickPostFields, postFields } from '../domain/post.ts';
import { PROFILE_TYPES, typeOf } from '../domain/profile.ts';

export const postSchema = z
  .object({
    id: z.int(),
    profile_type: z.enum(PROFILE_TYPES).meta({ description: 'Type of the profile that the post is on' }),
    profile_id: z.int().meta({ description: 'Id of the user or gym whose profile it is' }),
    ...withoutDefaults(postFields),
    media: z.array(mediaSchema).meta({ description: 'Files of the post' }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'Post', description: 'A post on the profile of a user or a gym' });

export type PostResource = z.output<typeof postSchema>;

/** `baseUrl` is the public origin. */
export const toPostResource = (post: Post, baseUrl: string): PostResource => ({
  id: post.id,
  profile_type: typeOf(post.profile.kind),
  profile_id: post.profile.id,
  ...pickPostFields(post),
  media: toMediaResources(MODEL.post, post.id, post.media, baseUrl),
  created_at: formatTimestamp(post.created_at),
  updated_at: formatTimestamp(post.updated_at),
});
