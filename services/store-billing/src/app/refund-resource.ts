/** A row of the refund queue, as operators see it. */
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import { REFUND_OUTCOMES, REFUND_REASONS, type Refund, type RefundResolution } from '../domain/refund.ts';

export const refundSchema = z
  .object({
    id: z.int(),
    channel: z.string().meta({ description: 'App store that settled the purchase' }),
    product_id: z.string().meta({ description: 'SKU that was bought' }),
    purchase_token: z.string().meta({ description: 'Token of the purchase at the store' }),
    user_id: z.int().meta({ description: 'User id of the buyer' }),
    boostable_type: z
      .string()
      .nullable()
      .meta({ description: 'Type of the target, `gym` or `training_service`; null for premium' }),
    boostable_id: z.int().nullable().meta({ description: 'Id of the target; null for premium' }),
    reason: z.enum(REFUND_REASONS).meta({
      description:
        'Why the purchase cannot be granted. `already_running`: a subscription or boost was running. `target_gone`: the ' +
        'account or the target was deleted.',
    }),
    created_at: timestampSchema,
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
    resolution: z
      .enum(REFUND_OUTCOMES)
      .meta({ description: 'Whether the money was returned or the purchase was granted' }),
    note: z.string().nullable().meta({
      description: 'The operator’s reason; null if no operator was needed, and once the account is erased',
    }),
    resolved_by: z
      .int()
      .nullable()
      .meta({ description: 'User id of the operator; null if no operator was needed' }),
    resolved_at: timestampSchema.meta({ description: 'When the refund was resolved' }),
  })
  .meta({ id: 'ResolvedStorePurchaseRefund', description: 'A refund of a store purchase that is resolved' });

export const toResolvedRefundResource = (
  refund: Refund & { resolution: RefundResolution },
): z.output<typeof resolvedRefundSchema> => ({
  ...toRefundResource(refund),
  resolution: refund.resolution.outcome,
  note: refund.resolution.note,
  resolved_by: refund.resolution.resolvedBy,
  resolved_at: formatTimestamp(refund.resolution.resolvedAt),
});

/** 409 for a purchase that cannot be granted, or was closed by another decision, which has more fields. */
export const refundConflictSchema = z
  .object({
    message: z.string(),
    code: z.enum(['payments.already_settled']).optional(),
    settled_by: resolvedRefundSchema.shape.resolved_by.optional(),
    settled_at: resolvedRefundSchema.shape.resolved_at.nullable().optional(),
    outcome: resolvedRefundSchema.shape.resolution.optional(),
    note: resolvedRefundSchema.shape.note.optional(),
  })
  .meta({ id: 'RefundConflict' });
