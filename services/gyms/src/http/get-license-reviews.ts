import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { z } from 'zod';
import { gymSchema } from '../app/gym-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getLicenseReviewsRoute = (
  { listLicenseReviews, presentGyms }: Pick<UseCases, 'listLicenseReviews' | 'presentGyms'>,
  baseUrl: string,
): Route =>
  defineRoute({
    method: 'GET',
    path: '/gyms/license-reviews',
    summary: 'Gyms whose license waits for a review',
    description: 'The oldest document first. `PUT /gyms/{id}` with `gym_license_approved` reviews one.',
    tag: 'Gyms',
    access: 'user',
    permissions: ['gyms.approve_license'],
    alsoNeeds: ['gyms.view_all'],
    query: z.object(pageQuery),
    responses: { 200: listOf(gymSchema) },
    handle: async ({ query, caller, locale, url }) => {
      const request = toPageRequest(query, url);
      const page = await listLicenseReviews(request);
      const data = await presentGyms(page.rows, { caller, locale, isList: true });
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
