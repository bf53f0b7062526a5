import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { traineeSchema } from '../app/trainee-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const postDeliverRoute = ({ deliverTrainee }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/trainees/:id/deliver',
    summary: 'Mark a trainee as delivered',
    description:
      'Records that you have delivered a training service that you sold, and notifies the buyer. Repeating the request ' +
      'returns the trainee unchanged. Only the seller may do this: the buyer gets 403, and ' +
      'anyone else 404.',
    tag: 'training services',
    access: 'user',
    params: idParams,
    responses: { 200: z.object({ data: traineeSchema }) },
    handle: async ({ caller, params }) => ok({ data: await deliverTrainee(caller, params.id) }),
  });
