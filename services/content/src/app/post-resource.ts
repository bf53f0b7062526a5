/** The post as responses show it (specification 2.6). */
import { type MediaResource, mediaSchema } from '@fitness/contracts/media.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import type { Dependencies } from '../dependencies.ts';
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

/** `media`: none for a new post. */
export const toPostResource = (post: Post, media: MediaResource[] = []): PostResource => ({
  id: post.id,
  profile_type: typeOf(post.profile.kind),
  profile_id: post.profile.id,
  ...pickPostFields(post),
  media,
  created_at: formatTimestamp(post.created_at),
  updated_at: formatTimestamp(post.updated_at),
});

/** Posts in the order given; their media are fetched in one call. */
export const createPresentPosts =
  (dependencies: Pick<Dependencies, 'media'>) =>
  async (posts: readonly Post[]): Promise<PostResource[]> => {
    const media = await dependencies.media.findOrEmpty(
      MODEL.post,
      posts.map(({ id }) => id),
    );
    return posts.map((post) => toPostResource(post, media.get(post.id)));
  };

export const createPresentPost = (dependencies: Pick<Dependencies, 'media'>) => {
  const presentPosts = createPresentPosts(dependencies);
  return async (post: Post): Promise<PostResource> => (await presentPosts([post]))[0] as PostResource;
};
