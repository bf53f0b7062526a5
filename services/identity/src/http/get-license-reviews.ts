import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const getLicenseReviewsRoute = (
  { listLicenseReviews, presentUsers }: Pick<UseCases, 'listLicenseReviews' | 'presentUsers'>,
  baseUrl: string,
): Route =>
  defineRoute({
    method: 'GET',
    path: '/users/license-reviews',
    summary: 'Accounts whose trainer license waits for a review',
    description: 'The oldest document first. `PUT /users/{id}` with `trainer_license_approved` reviews one.',
    tag: 'users',
    access: 'user',
    permissions: ['users.update_any'],
    alsoNeeds: ['users.view_all'],
    query: z.object(pageQuery),
    responses: { 200: listOf(userSchema) },
    handle: async ({ caller, query, url }) => {
      const request = toPageRequest(query, url);
      const page = await listLicenseReviews(request);
      const data = await presentUsers(page.rows, caller);
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
