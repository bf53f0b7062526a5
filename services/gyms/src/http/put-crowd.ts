import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';
import { gymBody, toGymBody } from './gym-body.ts';

const PEOPLE_MAX = 100_000;

export const putCrowdRoute = ({ setCrowd, presentGyms }: Pick<UseCases, 'setCrowd' | 'presentGyms'>): Route =>
  defineRoute({
    method: 'PUT',
    path: '/gyms/:id/crowd',
    summary: 'Set how many people are in a gym',
    description:
      '`capacity` is kept when it is left out. `crowd` is shown, with a `level` of low (below half), medium, high ' +
      '(four fifths and more) or full, while `show_crowd` is true.',
    tag: 'Gyms',
    access: 'user',
    permissions: ['gyms.update', 'gyms.update_any'],
    audits: ['gym.update'],
    params: idParams,
    body: z.object({
      current: z.int().min(0).max(PEOPLE_MAX),
      capacity: z.int().min(1).max(PEOPLE_MAX).optional(),
    }),
    responses: { 200: gymBody },
    handle: async ({ params, body, caller, locale }) => {
      const gym = await setCrowd(params.id, body, caller);
      return ok(await toGymBody(presentGyms, gym, { caller, locale }));
    },
  });
