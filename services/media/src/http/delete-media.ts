import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteMediaRoute = (useCases: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/media/:id',
    summary: 'Delete a file',
    description: 'By who may change what the file is attached to, and by operators. A second request is 404.',
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
