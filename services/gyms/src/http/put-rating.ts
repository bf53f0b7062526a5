import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';
import { gymBody, toGymBody } from './gym-body.ts';

export const putRatingRoute = ({ rateGym, presentGyms }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/gyms/:id/rating',
    summary: 'Rate a gym',
    description:
      'Stores your score for a gym and returns the gym with its new average. Rating again replaces your previous score. ' +
      'Owners cannot rate their own gym (403).',
    tag: 'Gyms',
    access: 'user',
    params: idParams,
    body: z.object({ score: z.int().min(1).max(5).meta({ description: 'Score from 1 to 5' }) }),
    responses: { 200: gymBody },
    handle: async ({ params, body, caller, locale }) => {
      const gym = await rateGym(params.id, body.score, caller);
      return ok(await toGymBody(presentGyms, gym, { caller, locale }));
    },
  });
