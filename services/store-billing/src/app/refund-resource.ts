/** A row of the refund queue, as operators see it. */
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import { REFUND_OUTCOMES, REFUND_REASONS, type Refund, type RefundResolution } from '../domain/refund.ts';

export const refundSchema = z
  .object({
    id: z.int(),
    channel: z.string(),
    product_id: z.string(),
    purchase_token: z.string(),
    user_id: z.int(),
    boostable_type: z.string().nullable(),
    boostable_id: z.int().nullable(),
    reason: z.enum(REFUND_REASONS),
    created_at: z.string(),
  })
  .meta({ id: 'StorePurchaseRefund' });

export const toRefundResource = (refund: Refund): z.output<typeof refundSchema> => ({
  id: refund.id,
  channel: refund.channel,
  product_id: refund.productId,
  purchase_token: refund.purchaseToken,
  user_id: refund.userId,
  boostable_type: refund.target?.type ?? null,
  boostable_id: refund.target?.id ?? null,
  reason: refund.reason,
  created_at: formatTimestamp(refund.createdAt),
});

export const resolvedRefundSchema = refundSchema
  .extend({
    resolution: z.enum(REFUND_OUTCOMES),
    note: z.string().nullable(),
    resolved_by: z.int().nullable().meta({ description: 'The operator; null when nobody had to decide' }),
    resolved_at: z.string(),
  })
  .meta({ id: 'ResolvedStorePurchaseRefund' });

export const toResolvedRefundResource = (
  refund: Refund & { resolution: RefundResolution },
): z.output<typeof resolvedRefundSchema> => ({
  ...toRefundResource(refund),
  resolution: refund.resolution.outcome,
  note: refund.resolution.note,
  resolved_by: refund.resolution.resolvedBy,
  resolved_at: formatTimestamp(refund.resolution.resolvedAt),
});
