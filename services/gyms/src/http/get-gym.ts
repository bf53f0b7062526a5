import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { gymBody, toGymBody } from './answer.ts';
import { type HttpParts, TAG } from './parts.ts';

export const getGymById = ({ getGym, presentGyms }: HttpParts): Route =>
  defineRoute({
    method: 'GET',
    path: '/gyms/:id',
    summary: 'One gym',
    description: 'An inactive gym is 404 to everyone but its owner and holders of `gyms.view_all`.',
    tag: TAG,
    access: 'guest',
    params: idParams,
    responses: { 200: gymBody },
    handle: async ({ params, caller, locale }) =>
      ok(await toGymBody(presentGyms, await getGym(params.id, caller), { caller, locale })),
  });
