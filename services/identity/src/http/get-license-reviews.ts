import { licenseReviewsOf } from '@fitness/contracts/license-review.ts';
import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryId } from '@fitness/shared/http/validation.ts';
import { PARTS_KEY_LENGTH } from '@fitness/shared/kernel/page.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const getLicenseReviewsRoute = (
  { listLicenseReviews, presentUsers }: UseCases,
  baseUrl: string,
): Route =>
  defineRoute({
    method: 'GET',
    path: '/users/license-reviews',
    summary: 'List trainer licenses to review',
    description:
      'Returns the users whose trainer license is waiting for a review, the oldest document first. Users who ' +
      'have changed their name since the review follow (`meta.name_changes`). Review a license with `PUT ' +
      '/users/{id}` and `trainer_license_approved`. Requires `users.update_any` and `users.view_all`.',
    tag: 'users',
    pages: ['ops'],
    access: 'user',
    permissions: ['users.update_any'],
    alsoNeeds: ['users.view_all'],
    query: z.object({
      ...pageQuery,
      user_id: queryId
        .optional()
        .meta({ description: 'Only this user, if their license is waiting for a review' }),
    }),
    responses: { 200: licenseReviewsOf(userSchema).meta({ id: 'TrainerLicenseReviews' }) },
    handle: async ({ caller, query, url }) => {
      const request = toPageRequest(query, url, { keyLength: PARTS_KEY_LENGTH });
      const page = await listLicenseReviews(request, query.user_id);
      const data = await presentUsers(page.rows, caller);
      const name_changes = page.rows.flatMap(({ _id: id, trainer_license_reviewed_name: reviewed_name }) =>
        reviewed_name === null ? [] : [{ id, reviewed_name }],
      );
      const body = listBody({ baseUrl, url, request, page, data });
      return ok({ ...body, meta: { ...body.meta, name_changes } });
    },
  });
