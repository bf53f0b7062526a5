import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../use-cases.ts';
import { gymBody, toGymBody } from './gym-body.ts';

export const getGymRoute = ({ getGym, presentGyms }: Pick<UseCases, 'getGym' | 'presentGyms'>): Route =>
  defineRoute({
    method: 'GET',
    path: '/gyms/:id',
    summary: 'One gym',
    description: 'An inactive gym is 404 to everyone but its owner and holders of `gyms.view_all`.',
    tag: 'Gyms',
    pages: ['ops'],
    access: 'guest',
    params: idParams,
    responses: { 200: gymBody },
    handle: async ({ params, caller, locale }) =>
      ok(await toGymBody(presentGyms, await getGym(params.id, caller), { caller, locale })),
  });
