import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { type HttpParts, TAG } from './parts.ts';

export const deleteGymById = ({ deleteGym }: HttpParts): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/gyms/:id',
    summary: 'Delete a gym',
    description: 'With all that hangs on it: ratings, media, posts.',
    tag: TAG,
    access: 'user',
    permissions: ['gyms.update', 'gyms.update_any'],
    params: idParams,
    responses: { 204: null },
    handle: async ({ params, caller }) => {
      await deleteGym(params.id, caller);
      return noContent();
    },
  });
