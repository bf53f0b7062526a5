/** Events that wallet tells. Amounts are whole Tooman. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

/** A payment was booked; a deposit when it is verified. */
export const paymentBooked = defineEvent({
  type: 'wallet.payment.booked',
  data: z.object({
    payment_id: z.int().positive(),
    user_id: z.int().positive(),
    type: z.enum(['deposit', 'income', 'purchase', 'withdrawal', 'commission', 'store_purchase']),
    amount: z.int().nonnegative(),
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
