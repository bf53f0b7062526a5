import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { withoutDefaults } from '@fitness/shared/kernel/optional-fields.ts';
import { z } from 'zod';
import { trainingServiceSchema } from '../app/training-service-resource.ts';
import { trainingServiceInput } from '../domain/training-service.ts';
import type { UseCases } from '../use-cases.ts';

export const putTrainingServiceRoute = ({ updateTrainingService }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/training-services/:id',
    summary: 'Update a training service',
    description:
      'Changes the fields that you send and leaves the others as they are. Trainees keep the title and the price of their ' +
      'purchase. Requires `training_services.create` for your own training service, or `training_services.update_any` ' +
      'for any of them.',
    tag: 'training services',
    access: 'user',
    permissions: ['training_services.create', 'training_services.update_any'],
    audits: ['training_service.update'],
    params: idParams,
    body: z.object(withoutDefaults(trainingServiceInput)).partial(),
    responses: { 200: z.object({ data: trainingServiceSchema }) },
    handle: async ({ caller, params, body }) =>
      ok({ data: await updateTrainingService(caller, params.id, body) }),
  });
