/**
 * Money that was moved outside, as the journals have it: ids, amounts and times only, because an entry outlives the account. After a
 * restore of an older backup they say what to ask the bank gateway for, and what operators have paid (docs/adr/0039).
 */
import { z } from 'zod';
import { newPayment, type Payment } from './payment.ts';

const id = z.int().positive();
const amount = z.int().nonnegative();
const time = z.iso.datetime().transform((text) => new Date(text));

export const openedDepositSchema = z.object({
  payment_id: id,
  user_id: id,
  opened_at: time,
  track_id: z.string(),
  order_id: z.string(),
  /** What the payer is charged for, at the rates of that time. */
  meta: z.object({
    amount,
    gateway_fee: amount,
    payable_amount: amount,
    vat_percent: z.number().optional(),
    vat_amount: amount.optional(),
  }),
});

export type OpenedDeposit = z.output<typeof openedDepositSchema>;

/** An operator has recorded a withdrawal as paid. `requested_at` tells it from a later one that has got its id. */
export const payoutSchema = z.object({
  payment_id: id,
  user_id: id,
  amount,
  requested_at: time,
  paid_at: time,
});

export type Payout = z.output<typeof payoutSchema>;

/** The deposit that was opened. Its description is missing, because the journal does not have it. */
export const depositOf = (
  { user_id: userId, opened_at: createdAt, track_id: trackId, order_id: orderId, meta }: OpenedDeposit,
  { paymentId, checkAt }: { paymentId: number; checkAt: Date },
): Payment =>
  newPayment({
    id: paymentId,
    userId,
    type: 'deposit',
    amount: meta.amount,
    meta,
    isDone: false,
    createdAt,
    gateway: { trackId, orderId, state: 'open', checkAt, reported: null, resolution: null },
  });
