import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { postSchema } from '../app/post-resource.ts';
import { POST_BODY_BYTES, postInput } from '../domain/post.ts';
import { kindOf, PROFILE_TYPES } from '../domain/profile.ts';
import type { UseCases } from '../use-cases.ts';

export const postPostsRoute = ({ createPost }: Pick<UseCases, 'createPost'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/posts',
    summary: 'Write a post on your profile or one of your gyms',
    description:
      '`profile_type` and `profile_id` name the own account or a gym of your own. A draft is shown to its author and to holders of `posts.view_all`.',
    tag: 'posts',
    access: 'user',
    permissions: ['posts.create'],
    bodyLimitBytes: POST_BODY_BYTES,
    body: z.object({
      profile_type: z.enum(PROFILE_TYPES),
      profile_id: z.int().positive(),
      ...postInput,
      is_draft: postInput.is_draft.default(false),
      in_blog: postInput.in_blog.default(false),
    }),
    responses: { 201: z.object({ data: postSchema }) },
    handle: async ({ caller, body }) => {
      const { profile_type, profile_id, ...fields } = body;
      const profile = { kind: kindOf(profile_type), id: profile_id };
      return created({ data: await createPost(caller, profile, fields) });
    },
  });
