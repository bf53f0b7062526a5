import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteMediaRoute = (useCases: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/media/:id',
    summary: 'Delete a file',
    description:
      'Deletes a file. You must be allowed to change what the file is attached to; otherwise the response is 403. A ' +
      'second request returns 404.',
    tag: 'media',
    access: 'user',
    audits: ['media.delete'],
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await useCases.deleteMedia(caller, params.id);
      return noContent();
    },
  });
