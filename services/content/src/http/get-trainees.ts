import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryBoolean, queryId } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { traineeSchema } from '../app/trainee-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getTraineesRoute = ({ listTrainees }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/trainees',
    summary: 'List trainees',
    description:
      'Returns your trainees, newest first: the training services that you have bought and those that you have sold.',
    tag: 'training services',
    access: 'user',
    query: z.object({
      role: z.enum(['buyer', 'seller']).optional(),
      training_service_id: queryId.optional(),
      is_delivered: queryBoolean.optional(),
      ...pageQuery,
    }),
    responses: { 200: listOf(traineeSchema) },
    handle: async ({ caller, query, url }) => {
      const request = toPageRequest(query, url);
      const { role, training_service_id, is_delivered } = query;
      const { page, data } = await listTrainees(
        caller,
        { userId: caller.userId, role, trainingServiceId: training_service_id, isDelivered: is_delivered },
        request,
      );
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
