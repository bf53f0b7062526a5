/** Deposits for which the bank gateway took something else than was asked for: for the operators, never credited. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import { z } from 'zod';
import type { GatewayReceipt, Payment } from '../domain/payment.ts';
import type { WalletDeps } from './deps.ts';
import { type PaymentResource, paymentSchema, presentPayments } from './payment-resource.ts';

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
      .meta({ description: 'What the gateway says it took' }),
  })
  .meta({ id: 'DisputedDeposit' });

interface DisputedDeposit {
  payment: PaymentResource;
  track_id: string;
  reported: z.output<typeof disputedDepositSchema>['reported'];
}

export type ListDisputedDeposits = (
  caller: UserCaller,
  request: PageRequest,
) => Promise<{ page: PageOf<Payment>; data: DisputedDeposit[] }>;

const NOTHING: GatewayReceipt = {
  amountRial: null,
  orderId: null,
  refNumber: null,
  cardNumber: null,
  paidAt: null,
};

export const createListDisputedDeposits =
  (deps: Pick<WalletDeps, 'store' | 'users'>): ListDisputedDeposits =>
  async (caller, request) => {
    const page = await deps.store.payments.disputed(request);
    const payments = await presentPayments(deps, page.rows, caller);
    const data = page.rows.flatMap(({ gateway }, index): DisputedDeposit[] => {
      const payment = payments[index];
      if (payment === undefined || gateway === null) return [];
      const { amountRial, orderId, refNumber, cardNumber, paidAt } = gateway.reported ?? NOTHING;
      const reported = {
        charged_rial: amountRial,
        order_id: orderId,
        ref_number: refNumber,
        card_number: cardNumber,
        paid_at: paidAt,
      };
      return [{ payment, track_id: gateway.trackId, reported }];
    });
    return { page, data };
  };
