/** Events that wallet publishes. Amounts are whole Tooman. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const payment = z.object({
  payment_id: z.int().positive(),
  user_id: z.int().positive(),
  type: z.enum(['deposit', 'income', 'purchase', 'withdrawal', 'commission', 'store_purchase']),
  amount: z.int().nonnegative(),
});

export const paymentBooked = defineEvent({
  type: 'wallet.payment.booked',
  summary:
    'The wallet itself booked a payment: a withdrawal, a store purchase, or a verified deposit. Payments ' +
    'that other services book are in `wallet.ledger.sealed`.',
  data: payment,
  consumers: ['identity'],
});

export const ledgerSealed = defineEvent({
  type: 'wallet.ledger.sealed',
  summary: 'A batch of the ledger was sealed, normally within a second of its bookings.',
  data: z.object({
    /** Number and hash of the seal: a copy of the chain's head outside the wallet's database. */
    number: z.int().positive(),
    hash: z.string(),
    entries: z.int().positive(),
    /** The payments that other services booked, each once. */
    payments: z.array(payment),
  }),
});

export const depositReturned = defineEvent({
  type: 'wallet.deposit.returned',
  summary: 'An operator returned the money of a disputed deposit, which is not credited.',
  data: z.object({
    payment_id: z.int().positive(),
    user_id: z.int().positive(),
    /** That was requested. */
    amount: z.int().positive(),
  }),
  consumers: ['identity'],
});

export const withdrawalSettled = defineEvent({
  type: 'wallet.withdrawal.settled',
  summary: 'An operator paid or rejected a withdrawal.',
  data: z.object({
    payment_id: z.int().positive(),
    user_id: z.int().positive(),
    amount: z.int().positive(),
    outcome: z.enum(['paid', 'rejected']),
    /** Of a rejection, if the operator gave one. */
    reason: z.string().nullable(),
  }),
  consumers: ['identity'],
  personalTo: ({ user_id: userId, reason }) => (reason === null ? null : userId),
});
