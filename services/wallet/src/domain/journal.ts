/**
 * Journal entries about money that moves outside the platform. They contain only ids, amounts and times, because they outlive
 * the account. After a restore of an older backup, they show which deposits to verify and what operators have paid
 * (docs/adr/0108).
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
  /** What the payer is charged, at the rates of that time. */
  meta: z.object({
    amount,
    gateway_fee: amount,
    payable_amount: amount,
    vat_percent: z.number().optional(),
    vat_amount: amount.optional(),
  }),
});

export type OpenedDeposit = z.output<typeof openedDepositSchema>;

/** A withdrawal that an operator recorded as paid. `requested_at` distinguishes it from a later one with the same id. */
export const payoutSchema = z.object({
  payment_id: id,
  user_id: id,
  amount,
  requested_at: time,
  paid_at: time,
});

export type Payout = z.output<typeof payoutSchema>;

/** The deposit that was opened, without its description, which the journal does not contain. */
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
