import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { traineeSchema } from '../app/trainee-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const postDeliverRoute = ({ deliverTrainee }: Pick<UseCases, 'deliverTrainee'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/trainees/:id/deliver',
    summary: 'Mark a trainee as delivered; by the seller',
    description: 'A repetition changes nothing and answers the same.',
    tag: 'training services',
    access: 'user',
    params: idParams,
    responses: { 200: z.object({ data: traineeSchema }) },
    handle: async ({ caller, params }) => ok({ data: await deliverTrainee(caller, params.id) }),
  });
