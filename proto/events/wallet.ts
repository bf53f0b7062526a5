/** Events that wallet tells. Amounts are whole Tooman. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const payment = z.object({
  payment_id: z.int().positive(),
  user_id: z.int().positive(),
  type: z.enum(['deposit', 'income', 'purchase', 'withdrawal', 'commission', 'store_purchase']),
  amount: z.int().nonnegative(),
});

/**
 * A payment of the wallet's own was booked: a withdrawal, a store purchase, a deposit when it is verified. What other
 * services book is told by {@link ledgerSealed}.
 */
export const paymentBooked = defineEvent({ type: 'wallet.payment.booked', data: payment });

/** A batch of the ledger was sealed, within a second of its bookings as a rule. */
export const ledgerSealed = defineEvent({
  type: 'wallet.ledger.sealed',
  data: z.object({
    /** The number and the hash of the seal: a copy of the chain's head that no database of the wallet holds. */
    number: z.int().positive(),
    hash: z.string(),
    entries: z.int().positive(),
    /** What other services have booked, each once. */
    payments: z.array(payment),
  }),
});

/** An operator has paid or rejected a withdrawal. */
export const withdrawalSettled = defineEvent({
  type: 'wallet.withdrawal.settled',
  data: z.object({
    payment_id: z.int().positive(),
    user_id: z.int().positive(),
    outcome: z.enum(['paid', 'rejected']),
  }),
});
