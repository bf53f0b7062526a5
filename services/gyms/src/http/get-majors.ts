import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { z } from 'zod';
import { majorSchema, toMajor } from '../app/gym-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getMajorsRoute = ({ listMajors }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/majors',
    summary: 'List majors',
    description:
      'Returns the majors that a gym can offer, such as bodybuilding, ordered by id. Titles are in the language of the ' +
      'request (`Accept-Language`).',
    tag: 'Gyms',
    access: 'guest',
    guestCache: true,
    query: z.object(pageQuery),
    responses: { 200: listOf(majorSchema) },
    handle: async ({ query, locale, url }) => {
      const request = toPageRequest(query, url);
      const page = await listMajors(request);
      const data = page.rows.map((major) => toMajor(major, locale));
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
