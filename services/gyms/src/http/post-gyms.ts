import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { createShape, toDetails } from '../domain/gym-fields.ts';
import type { UseCases } from '../use-cases.ts';
import { gymBody, toGymBody } from './gym-body.ts';

export const postGymsRoute = ({ createGym, presentGyms }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/gyms',
    summary: 'Create a gym',
    description:
      'Creates a gym that you own. An unknown city or major returns 422 under its field. Requires `gyms.create`.',
    tag: 'Gyms',
    access: 'user',
    permissions: ['gyms.create'],
    body: z.object(createShape),
    responses: { 201: gymBody },
    handle: async ({ body, caller, locale }) => {
      const gym = await createGym(toDetails(body), caller);
      return created(await toGymBody(presentGyms, gym, { caller, locale }));
    },
  });
