import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../use-cases.ts';

export const deletePostRoute = ({ deletePost }: Pick<UseCases, 'deletePost'>): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/posts/:id',
    summary: 'Delete one of your posts',
    description: 'With `posts.update_any` also one of somebody else. Its media are deleted with it.',
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
