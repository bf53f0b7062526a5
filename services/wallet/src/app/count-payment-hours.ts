/** Counts the deposits and withdrawals requested in each of the last 24 hours, for the operator page. */

import type { PaymentType } from '@fitness/contracts/payment-types.ts';
import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PaymentHour } from '../store/payment-history.ts';

const SHOWN_HOURS = 24;
export const SHOWN_TYPES = ['deposit', 'withdrawal'] as const satisfies readonly PaymentType[];

/** Hours without payments are left out. The current hour is the last. */
export const createCountPaymentHours =
  ({ store, clock }: Dependencies) =>
  async (): Promise<PaymentHour[]> => {
    const now = clock.now().getTime();
    const from = new Date(now - (now % HOUR_MS) - (SHOWN_HOURS - 1) * HOUR_MS);
    return (await Promise.all(SHOWN_TYPES.map((type) => store.payments.hours(type, from)))).flat();
  };
