import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteGymRoute = ({ deleteGym }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/gyms/:id',
    summary: 'Delete a gym',
    description:
      'Deletes a gym with its ratings, media and posts, and ends its boosts. Requires `gyms.update` for your own gym, or ' +
      '`gyms.update_any` for any gym.',
    tag: 'Gyms',
    access: 'user',
    permissions: ['gyms.update', 'gyms.update_any'],
    audits: ['gym.delete'],
    params: idParams,
    responses: { 204: null },
    handle: async ({ params, caller }) => {
      await deleteGym(params.id, caller);
      return noContent();
    },
  });
