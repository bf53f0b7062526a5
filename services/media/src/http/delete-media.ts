import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { DeleteMedia } from '../app/delete-media.ts';

export const deleteMediaRoute = (deleteMedia: DeleteMedia): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/media/:id',
    summary: 'Delete a file',
    tag: 'media',
    access: 'user',
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await deleteMedia.byId(caller, params.id);
      return noContent();
    },
  });
