import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';
import { gymBody, toGymBody } from './gym-body.ts';

const PEOPLE_MAX = 100_000;

export const putCrowdRoute = ({ setCrowd, presentGyms }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/gyms/:id/crowd',
    summary: 'Report how crowded a gym is',
    description:
      'Sets how many people are in a gym and how many it has room for. The gym shows both as `crowd` while its ' +
      '`show_crowd` is true. Requires `gyms.update` for your own gym, or `gyms.update_any` for any gym.',
    tag: 'Gyms',
    access: 'user',
    permissions: ['gyms.update', 'gyms.update_any'],
    audits: ['gym.update'],
    params: idParams,
    body: z.object({
      current: z.int().min(0).max(PEOPLE_MAX).meta({ description: 'Number of people in the gym' }),
      capacity: z.int().min(1).max(PEOPLE_MAX).optional().meta({
        description:
          'Number of people that the gym has room for. Required the first time; later it is kept if you omit it.',
      }),
    }),
    responses: { 200: gymBody },
    handle: async ({ params, body, caller, locale }) => {
      const gym = await setCrowd(params.id, body, caller);
      return ok(await toGymBody(presentGyms, gym, { caller, locale }));
    },
  });
