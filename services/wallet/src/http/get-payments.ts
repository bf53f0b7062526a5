import { PAYMENT_TYPES } from '@fitness/contracts/payment-types.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryTimestamp } from '@fitness/shared/http/query-timestamp.ts';
import { queryBoolean, queryId } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { UseCases } from '../use-cases.ts';

const query = z.object({
  ...pageQuery,
  user_id: queryId
    .optional()
    .meta({ description: 'Only payments of this user. Requires `payments.view_all` unless it is you.' }),
  type: z.enum(PAYMENT_TYPES).optional(),
  is_done: queryBoolean.optional(),
  rejected: queryBoolean.optional(),
  from: queryTimestamp('start').optional().meta({
    description:
      'Only payments created at or after this time: `YYYY-MM-DD HH:MM:SS` in UTC, or `YYYY-MM-DD` for the start of a day',
  }),
  to: queryTimestamp('end').optional().meta({
    description:
      'Only payments created at or before this time: `YYYY-MM-DD HH:MM:SS` in UTC, or `YYYY-MM-DD` for the end of a day',
  }),
  order: z.enum(['ASC', 'DESC']).default('DESC'),
});

export const getPaymentsRoute = ({ listPayments }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments',
    summary: 'List payments',
    description:
      'Returns your payments, or with `payments.view_all` the payments of all users. The newest come first unless `order` ' +
      'says otherwise. Requires `payments.view_own` or `payments.view_all`.',
    tag: 'Payments',
    pages: ['ops'],
    access: 'user',
    permissions: ['payments.view_own', 'payments.view_all'],
    query,
    responses: { 200: listOf(paymentSchema) },
    handle: async ({ caller, query: search, url }) => {
      const { user_id: userId, type, is_done: isDone, rejected, from, to, order } = search;
      const request = toPageRequest(search, url);
      const filter = { userId, type, isDone, rejected, from, to, order };
      const { page, data } = await listPayments({ caller, filter, page: request });
      return ok(listBody({ baseUrl, url, request, page, data }));
    },
  });
