import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { disconnectSignal } from '@fitness/shared/http/disconnect-signal.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { ID_SCHEMA, queryId, queryList } from '@fitness/shared/http/validation.ts';
import { RANKED_KEY_LENGTH } from '@fitness/shared/kernel/page.ts';
import { documentedAs, withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { gymSchema } from '../app/gym-resource.ts';
import { idList, latitude, longitude } from '../domain/values.ts';
import type { UseCases } from '../use-cases.ts';

const SEARCH_MAX = 255;
const POINT = /^(\s*[+-]?\d{1,20}(\.\d{1,20})?\s*(,|$)){2}$/;

/** `lat,lng` in degrees. */
const near = documentedAs(
  z
    .string()
    .refine((value) => POINT.test(value) && !value.endsWith(','), {
      ...withMessage('validation.format'),
      abort: true,
    })
    .transform((value) => {
      const [lat = 0, lng = 0] = value.split(',').map(Number);
      return { lat, lng };
    })
    .refine(
      ({ lat, lng }) => latitude.safeParse(lat).success && longitude.safeParse(lng).success,
      withMessage('gyms.no_place'),
    ),
  { type: 'string', pattern: POINT.source },
);

const query = z.object({
  ...pageQuery,
  search: z.string().max(SEARCH_MAX).optional(),
  city_id: queryId.optional(),
  major_ids: queryList(idList, { items: ID_SCHEMA }).optional(),
  user_id: queryId.optional().meta({
    description: 'Only gyms of this owner. Requires `gyms.view_all` unless it is you.',
  }),
  near: near.optional(),
});

export const getGymsRoute = ({ listGyms, presentGyms }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/gyms',
    summary: 'List gyms',
    description:
      'Returns gyms with an active boost first (pro before basic), then the newest. With `near`, the nearest gyms come ' +
      'first whatever their boosts, and gyms without a location are left out. `search` matches any part of the name, ' +
      'address or description. Inactive gyms are shown only to their owner and to holders of `gyms.view_all`.',
    tag: 'Gyms',
    pages: ['ops'],
    access: 'guest',
    query,
    errorStatuses: [403],
    responses: { 200: listOf(gymSchema) },
    handle: async ({ query: filters, caller, locale, url, reply }) => {
      const order = filters.near === undefined ? undefined : 'near';
      const request = toPageRequest(filters, url, {
        keyLength: RANKED_KEY_LENGTH,
        signal: disconnectSignal(reply),
        order,
      });
      const page = await listGyms(
        {
          search: filters.search,
          cityId: filters.city_id,
          majorIds: filters.major_ids,
          ownerId: filters.user_id,
          near: filters.near,
        },
        request,
        caller,
      );
      const data = await presentGyms(page.rows, { caller, locale, isList: true });
      return ok(listBody({ baseUrl, url, request, page, data, order }));
    },
  });
