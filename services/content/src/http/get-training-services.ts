import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { disconnectSignal } from '@fitness/shared/http/disconnect-signal.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryId } from '@fitness/shared/http/validation.ts';
import { RANKED_KEY_LENGTH } from '@fitness/shared/kernel/page.ts';
import { z } from 'zod';
import { trainingServiceSchema } from '../app/training-service-resource.ts';
import type { UseCases } from '../use-cases.ts';
import { priceQuery, searchQuery } from './query.ts';

export const getTrainingServicesRoute = ({ listTrainingServices }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/training-services',
    summary: 'List training services',
    description:
      'Returns training services with an active boost first (pro before basic), then the newest. `search` matches any part ' +
      'of the title or description. Inactive training services are shown only to their seller and to holders of ' +
      '`posts.view_all`. Those of an account whose deletion is scheduled are left out unless you hold `users.view_all`, ' +
      'so a page may have fewer rows than `per_page`.',
    tag: 'training services',
    pages: ['ops'],
    access: 'guest',
    query: z.object({
      search: searchQuery.optional(),
      user_id: queryId.optional(),
      min_price: priceQuery.optional(),
      max_price: priceQuery.optional(),
      ...pageQuery,
    }),
    responses: { 200: listOf(trainingServiceSchema) },
    handle: async ({ caller, query, url, reply }) => {
      const request = toPageRequest(query, url, {
        keyLength: RANKED_KEY_LENGTH,
        signal: disconnectSignal(reply),
      });
      const { search, user_id, min_price, max_price } = query;
      const filter = { search, userId: user_id, minPrice: min_price, maxPrice: max_price };
      const { page, data } = await listTrainingServices(caller, filter, request);
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
