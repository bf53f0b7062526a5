import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { trainingServiceSchema } from '../app/training-service-resource.ts';
import { trainingServiceInput } from '../domain/training-service.ts';
import type { UseCases } from '../use-cases.ts';

export const postTrainingServicesRoute = ({ createTrainingService }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/training-services',
    summary: 'Create a training service',
    description:
      'Creates a training service that you sell. An inactive one (`is_active`) is shown only to you and to holders of ' +
      '`posts.view_all`, and cannot be bought. Requires `training_services.create`.',
    tag: 'training services',
    access: 'user',
    permissions: ['training_services.create'],
    body: z.object(trainingServiceInput),
    responses: { 201: z.object({ data: trainingServiceSchema }) },
    handle: async ({ caller, body }) => created({ data: await createTrainingService(caller, body) }),
  });
