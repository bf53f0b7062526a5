import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { trainingServiceSchema } from '../app/training-service-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getTrainingServiceRoute = ({ getTrainingService }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/training-services/:id',
    summary: 'Retrieve a training service',
    description:
      'Returns a training service. An inactive one returns 404 for everyone but its seller and holders of `posts.view_all` or ' +
      '`training_services.update_any`. While the deletion of the seller’s account is scheduled, it returns 404 for everyone but ' +
      'the seller and holders of `users.view_all`.',
    tag: 'training services',
    access: 'guest',
    params: idParams,
    responses: { 200: z.object({ data: trainingServiceSchema }) },
    handle: async ({ caller, params }) => ok({ data: await getTrainingService(caller, params.id) }),
  });
