/** Events that wallet publishes. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const payment = z.object({
  payment_id: z.int().positive(),
  user_id: z.int().positive(),
  type: z.string().meta({ description: 'Type of the payment, as in `GET /payments`' }),
  amount: z.int().nonnegative().meta({ description: 'In Tooman' }),
});

export const paymentBooked = defineEvent({
  type: 'wallet.payment.booked',
  summary:
    'The wallet itself booked a payment: a requested withdrawal, a store purchase, or a verified deposit. The user is ' +
    'notified of a deposit. Payments that other services book are in `wallet.ledger.sealed`.',
  advice: 'Notify the user of a deposit, once for each `id` of an event.',
  data: payment,
  consumers: ['identity'],
});

export const ledgerSealed = defineEvent({
  type: 'wallet.ledger.sealed',
  summary: 'A batch of entries of the ledger was sealed, normally within a second of their booking.',
  advice: 'Read the entries of the batch from the wallet if you keep a copy of the ledger.',
  data: z.object({
    // Number and hash are a copy of the chain's head outside the wallet's database.
    number: z.int().positive().meta({ description: 'Number of the seal' }),
    hash: z.string().meta({ description: 'Hash of the seal' }),
    entries: z.int().positive().meta({ description: 'Number of the entries in the batch' }),
    payments: z.array(payment).meta({ description: 'The payments that other services booked, each once' }),
  }),
});

export const depositReturned = defineEvent({
  type: 'wallet.deposit.returned',
  summary:
    'An operator returned the money of a disputed deposit. The deposit is not credited, and the user is notified.',
  advice: 'Notify the user that the money was returned.',
  data: z.object({
    payment_id: z.int().positive(),
    user_id: z.int().positive(),
    amount: z.int().positive().meta({ description: 'The requested amount, in Tooman' }),
  }),
  consumers: ['identity'],
});

export const withdrawalSettled = defineEvent({
  type: 'wallet.withdrawal.settled',
  summary: 'An operator paid or rejected a withdrawal. The user is notified.',
  advice: 'Notify the user of the outcome that the event names.',
  data: z.object({
    payment_id: z.int().positive(),
    user_id: z.int().positive(),
    amount: z.int().positive().meta({ description: 'In Tooman' }),
    outcome: z.enum(['paid', 'rejected']),
    reason: z.string().nullable().meta({ description: 'Reason for a rejection, if the operator gave one' }),
  }),
  consumers: ['identity'],
  personalTo: ({ user_id: userId, reason }) => (reason === null ? null : userId),
});
