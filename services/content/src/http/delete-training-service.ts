import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../use-cases.ts';

export const deleteTrainingServiceRoute = ({ deleteTrainingService }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/training-services/:id',
    summary: 'Delete a training service',
    description:
      'Deletes a training service with its media, and ends its boosts. Its trainees stay. Requires ' +
      '`training_services.create` for your own training service, or `training_services.update_any` for any of them.',
    tag: 'training services',
    access: 'user',
    permissions: ['training_services.create', 'training_services.update_any'],
    audits: ['training_service.delete'],
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await deleteTrainingService(caller, params.id);
      return noContent();
    },
  });
