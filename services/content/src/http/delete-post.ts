import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../app/use-cases.ts';

export const deletePost = ({ deletePost: remove }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/posts/:id',
    summary: 'Delete an own post',
    tag: 'posts',
    access: 'user',
    permissions: ['posts.create', 'posts.update_any'],
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await remove(caller, params.id);
      return noContent();
    },
  });
