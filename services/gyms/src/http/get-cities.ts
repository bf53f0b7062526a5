import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryId } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { citySchema, toCity } from '../app/gym-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getCitiesRoute = ({ listCities }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/cities',
    summary: 'List cities',
    description:
      'Returns cities with their states, ordered by id. Names are in the language of the request (`Accept-Language`).',
    tag: 'Gyms',
    access: 'guest',
    guestCache: true,
    query: z.object({ ...pageQuery, state_id: queryId.optional() }),
    responses: { 200: listOf(citySchema) },
    handle: async ({ query, locale, url }) => {
      const request = toPageRequest(query, url);
      const page = await listCities({ stateId: query.state_id }, request);
      const data = page.rows.map((city) => toCity(city, locale));
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
