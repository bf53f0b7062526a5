import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { withoutDefaults } from '@fitness/shared/kernel/optional-fields.ts';
import { z } from 'zod';
import { postSchema } from '../app/post-resource.ts';
import { POST_BODY_BYTES, postInput } from '../domain/post.ts';
import type { UseCases } from '../use-cases.ts';

export const putPostRoute = ({ updatePost }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/posts/:id',
    summary: 'Update a post',
    description:
      'Changes the fields that you send and leaves the others as they are. A post cannot move to another profile. Requires ' +
      '`posts.create` for your own post, or `posts.update_any` for any post.',
    tag: 'posts',
    access: 'user',
    permissions: ['posts.create', 'posts.update_any'],
    audits: ['post.update'],
    bodyLimitBytes: POST_BODY_BYTES,
    params: idParams,
    body: z.object(withoutDefaults(postInput)).partial(),
    responses: { 200: z.object({ data: postSchema }) },
    handle: async ({ caller, params, body }) => ok({ data: await updatePost(caller, params.id, body) }),
  });
