/**
 * A confirmed purchase as the journal stores it. It has only ids, the token and the time, because an entry outlives the
 * account. After a restore of an older backup, the store is asked for it again.
 */
import { z } from 'zod';
import type { Presentation } from './attempt.ts';
import { TARGET_TYPES } from './target.ts';

const id = z.int().positive();

export const confirmedPurchaseSchema = z.object({
  channel: z.string(),
  product_id: z.string(),
  purchase_token: z.string(),
  user_id: id,
  target: z
    .object({
      type: z.enum(TARGET_TYPES),
      id,
      by_operator: z.object({ request_id: z.string().nullable() }).optional(),
    })
    .nullable(),
  confirmed_at: z.iso.datetime().transform((text) => new Date(text)),
});

export type JournaledPurchase = z.output<typeof confirmedPurchaseSchema>;

export const toJournal = (
  { channel, productId, purchaseToken, userId, target }: Presentation,
  confirmedAt: Date,
): JournaledPurchase => ({
  channel,
  product_id: productId,
  purchase_token: purchaseToken,
  user_id: userId,
  target: target && {
    type: target.type,
    id: target.id,
    ...(target.byOperator === undefined ? {} : { by_operator: { request_id: target.byOperator.requestId } }),
  },
  confirmed_at: confirmedAt,
});

export const presentationOf = ({
  channel,
  product_id: productId,
  purchase_token: purchaseToken,
  user_id: userId,
  target,
}: JournaledPurchase): Presentation => ({
  channel,
  productId,
  purchaseToken,
  userId,
  target: target && {
    type: target.type,
    id: target.id,
    ...(target.by_operator === undefined ? {} : { byOperator: { requestId: target.by_operator.request_id } }),
  },
});
