import { licenseReviewsOf } from '@fitness/contracts/license-review.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryId } from '@fitness/shared/http/validation.ts';
import { PARTS_KEY_LENGTH } from '@fitness/shared/kernel/page.ts';
import { z } from 'zod';
import { gymSchema } from '../app/gym-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getLicenseReviewsRoute = (
  { listLicenseReviews, presentGyms }: UseCases,
  baseUrl: string,
): Route =>
  defineRoute({
    method: 'GET',
    path: '/gyms/license-reviews',
    summary: 'List gym licenses to review',
    description:
      'Returns the gyms whose license is waiting for a review, the oldest document first. Gyms that have changed their ' +
      'name since the review follow (`meta.name_changes`). Review a license with `PUT /gyms/{id}` and ' +
      '`gym_license_approved`. Requires `gyms.approve_license` and `gyms.view_all`.',
    tag: 'Gyms',
    pages: ['ops'],
    access: 'user',
    permissions: ['gyms.approve_license'],
    alsoNeeds: ['gyms.view_all'],
    query: z.object({
      ...pageQuery,
      gym_id: queryId
        .optional()
        .meta({ description: 'Only this gym, if its license is waiting for a review' }),
    }),
    responses: { 200: licenseReviewsOf(gymSchema).meta({ id: 'GymLicenseReviews' }) },
    handle: async ({ query, caller, locale, url }) => {
      const request = toPageRequest(query, url, { keyLength: PARTS_KEY_LENGTH });
      const page = await listLicenseReviews(request, query.gym_id);
      const data = await presentGyms(page.rows, { caller, locale, isList: true });
      const name_changes = page.rows.flatMap(({ id, license: { reviewedName } }) =>
        reviewedName == null ? [] : [{ id, reviewed_name: reviewedName === '' ? null : reviewedName }],
      );
      const body = listBody({ baseUrl, url, request, page, data });
      return ok({ ...body, meta: { ...body.meta, name_changes } });
    },
  });
