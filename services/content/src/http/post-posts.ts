import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { postSchema } from '../app/post-resource.ts';
import { POST_BODY_BYTES, postInput } from '../domain/post.ts';
import { kindOf, REQUEST_PROFILE_TYPES } from '../domain/profile.ts';
import type { UseCases } from '../use-cases.ts';

export const postPostsRoute = ({ createPost }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/posts',
    summary: 'Create a post',
    description:
      'Creates a post on your own profile or on the profile of a gym that you own. Another user’s profile is ' +
      '403, and an unknown one returns 422 under `profile_id`. A draft is shown only to the owner of its profile and ' +
      'to holders of `posts.view_all`. Requires `posts.create`.',
    tag: 'posts',
    access: 'user',
    permissions: ['posts.create'],
    bodyLimitBytes: POST_BODY_BYTES,
    body: z.object({
      profile_type: z
        .enum(REQUEST_PROFILE_TYPES)
        .meta({ description: 'Type of the profile. Both names of a gym are accepted.' }),
      profile_id: z.int().positive().meta({ description: 'Your user id or the id of your gym' }),
      ...postInput,
    }),
    responses: { 201: z.object({ data: postSchema }) },
    handle: async ({ caller, body }) => {
      const { profile_type, profile_id, ...fields } = body;
      const profile = { kind: kindOf(profile_type), id: profile_id };
      return created({ data: await createPost(caller, profile, fields) });
    },
  });
