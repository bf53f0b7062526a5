import { defineRoute, noContent, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import type { UseCases } from '../app/use-cases.ts';

export const deleteTrainingService = ({ deleteTrainingService: remove }: UseCases): Route =>
  defineRoute({
    method: 'DELETE',
    path: '/training-services/:id',
    summary: 'Delete an own training service; its trainees stay',
    tag: 'training services',
    access: 'user',
    permissions: ['training_services.create', 'training_services.update_any'],
    params: idParams,
    responses: { 204: null },
    handle: async ({ caller, params }) => {
      await remove(caller, params.id);
      return noContent();
    },
  });
