import { formatTimestamp } from '@fitness/shared/clock.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { z } from 'zod';
import type { ListRefunds } from '../app/list-refunds.ts';

const refundSchema = z
  .object({
    id: z.int(),
    channel: z.string(),
    product_id: z.string(),
    purchase_token: z.string(),
    user_id: z.int(),
    boostable_type: z.string().nullable(),
    boostable_id: z.int().nullable(),
    reason: z.enum(['already_running', 'target_gone']),
    created_at: z.string(),
  })
  .meta({ id: 'StorePurchaseRefund' });

export const getRefundQueue = (parts: { listRefunds: ListRefunds; baseUrl: string }): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/store-purchases/refund-queue',
    summary: 'Store purchases that were paid for and cannot be granted',
    description:
      'Newest first. A row leaves the queue once the store reports the refund, or the purchase is granted.',
    tag: 'payments',
    access: 'user',
    permissions: ['payments.view_all'],
    query: z.object(pageQuery),
    responses: { 200: listOf(refundSchema) },
    handle: async ({ query, url }) => {
      const request = toPageRequest(query);
      const page = await parts.listRefunds(request);
      const data = page.rows.map((row) => ({
        id: row.id,
        channel: row.channel,
        product_id: row.productId,
        purchase_token: row.purchaseToken,
        user_id: row.userId,
        boostable_type: row.target?.type ?? null,
        boostable_id: row.target?.id ?? null,
        reason: row.reason,
        created_at: formatTimestamp(row.createdAt),
      }));
      return ok(listBody({ baseUrl: parts.baseUrl, url, request, page, data }));
    },
  });
