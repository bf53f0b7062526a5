import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryId } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { refundSchema, toRefundResource } from '../app/refund-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getRefundQueueRoute = ({ listRefunds }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/store-purchases/refund-queue',
    summary: 'List store purchases to refund',
    description:
      'Returns the refund queue, newest first: app-store purchases that were paid for and cannot be granted. An entry ' +
      'leaves the queue once the store reports the refund, the purchase is granted after all, or an operator resolves it. ' +
      'Requires `payments.view_all`.',
    tag: 'payments',
    pages: ['ops'],
    access: 'user',
    permissions: ['payments.view_all'],
    query: z.object({
      ...pageQuery,
      user_id: queryId.optional().meta({ description: 'Only purchases of this user' }),
    }),
    responses: { 200: listOf(refundSchema) },
    handle: async ({ query, url }) => {
      const request = toPageRequest(query, url);
      const page = await listRefunds(request, query.user_id);
      return ok(listBody({ baseUrl, url, request, page, data: page.rows.map(toRefundResource) }));
    },
  });
