import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { postSchema } from '../app/post-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getPostRoute = ({ getPost }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/posts/:id',
    summary: 'Retrieve a post',
    description:
      'Returns a post. A draft, or a post of an inactive gym, returns 404 for everyone but the owner of its profile ' +
      'and holders of `posts.view_all`. Guests may read posts; signed-in users need `posts.view` or ' +
      '`posts.view_all`.',
    tag: 'posts',
    access: 'guest',
    permissions: ['posts.view', 'posts.view_all'],
    params: idParams,
    responses: { 200: z.object({ data: postSchema }) },
    handle: async ({ caller, params }) => ok({ data: await getPost(caller, params.id) }),
  });
