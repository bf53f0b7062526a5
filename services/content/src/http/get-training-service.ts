import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { trainingServiceSchema } from '../app/resources.ts';
import type { UseCases } from '../app/use-cases.ts';

export const getTrainingService = ({ getTrainingService: get }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/training-services/:id',
    summary: 'A training service',
    tag: 'training services',
    access: 'guest',
    params: idParams,
    responses: { 200: z.object({ data: trainingServiceSchema }) },
    handle: async ({ caller, params }) => ok({ data: await get(caller, params.id) }),
  });
