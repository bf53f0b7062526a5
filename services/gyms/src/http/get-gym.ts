import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../use-cases.ts';
import { gymBody, toGymBody } from './gym-body.ts';

export const getGymRoute = ({ getGym, presentGyms }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/gyms/:id',
    summary: 'Retrieve a gym',
    description:
      'Returns a gym. Its owner and holders of `gyms.view_all` also see who owns it and its license. For everyone else, an ' +
      'inactive gym returns 404.',
    tag: 'Gyms',
    pages: ['ops'],
    access: 'guest',
    params: idParams,
    responses: { 200: gymBody },
    handle: async ({ params, caller, locale }) =>
      ok(await toGymBody(presentGyms, await getGym(params.id, caller), { caller, locale })),
  });
