import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../use-cases.ts';

export const deletePostRoute = ({ deletePost }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/posts/:id',
    summary: 'Delete a post',
    description:
      'Deletes a post with its media. Requires `posts.create` for your own post, or `posts.update_any` for any post.',
    tag: 'posts',
    access: 'user',
    permissions: ['posts.create', 'posts.update_any'],
    audits: ['post.delete'],
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await deletePost(caller, params.id);
      return noContent();
    },
  });
