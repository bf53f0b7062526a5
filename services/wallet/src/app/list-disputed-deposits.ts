/** Deposits for which the bank gateway took another amount or order than requested, and that nobody has resolved. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import { z } from 'zod';
import type { Dependencies } from '../dependencies.ts';
import type { GatewayReceipt, Payment } from '../domain/payment.ts';
import { paymentSchema, presentPayments, shownOf } from './payment-resource.ts';

export const disputedDepositSchema = z
  .object({
    payment: paymentSchema,
    track_id: z.string(),
    reported: z
      .object({
        charged_rial: z.int().nullable(),
        order_id: z.string().nullable(),
        ref_number: z.string().nullable(),
        card_number: z.string().nullable().meta({ description: 'Masked' }),
        paid_at: z.string().nullable().meta({ description: 'ISO 8601' }),
      })
      .meta({ id: 'GatewayReport', description: 'What the gateway says it took' }),
  })
  .meta({ id: 'DisputedDeposit' });

type DisputedDeposit = z.output<typeof disputedDepositSchema>;

/** Newest first. */
export type ListDisputedDeposits = (
  caller: UserCaller,
  request: PageRequest,
) => Promise<{ page: PageOf<Payment>; data: DisputedDeposit[] }>;

const toReported = (receipt: GatewayReceipt | null): DisputedDeposit['reported'] => ({
  charged_rial: receipt?.amountRial ?? null,
  order_id: receipt?.orderId ?? null,
  ref_number: receipt?.refNumber ?? null,
  card_number: receipt?.cardNumber ?? null,
  paid_at: receipt?.paidAt ?? null,
});

export const createListDisputedDeposits =
  (dependencies: Pick<Dependencies, 'store' | 'users'>): ListDisputedDeposits =>
  async (caller, request) => {
    const page = await dependencies.store.payments.openDisputes(request);
    const payments = await presentPayments(dependencies, page.rows, caller);
    const data = page.rows.flatMap((deposit, index): DisputedDeposit[] => {
      const payment = payments[index];
      if (payment === undefined) return [];
      const { gateway } = shownOf(deposit, payment.user);
      if (gateway === null) return [];
      return [{ payment, track_id: gateway.trackId, reported: toReported(gateway.reported) }];
    });
    return { page, data };
  };
