/** Lists unresolved deposits for which the bank gateway took a different amount or order, and what erased accounts were credited. */
import { isErased } from '@fitness/contracts/user.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import { z } from 'zod';
import type { Dependencies } from '../dependencies.ts';
import type { GatewayReceipt, Payment } from '../domain/payment.ts';
import { paymentSchema, presentPayments, shownOf } from './payment-resource.ts';

export const disputedDepositSchema = z
  .object({
    payment: paymentSchema,
    is_payer_erased: z
      .boolean()
      .meta({ description: 'Whether the account is erased, so that the payment can only be returned' }),
    track_id: z.string().meta({ description: 'The gateway’s id of the payment; empty for an income' }),
    reported: z
      .object({
        charged_rial: z.int().nullable().meta({ description: 'Amount that the gateway took, in Rial' }),
        order_id: z.string().nullable().meta({ description: 'Id of the order that the gateway took it for' }),
        ref_number: z.string().nullable().meta({ description: 'The gateway’s reference code' }),
        card_number: z.string().nullable().meta({ description: 'Masked card number' }),
        paid_at: z.string().nullable().meta({ description: 'Time of the payment, ISO 8601 in UTC' }),
      })
      .meta({ id: 'GatewayReport', description: 'The payment as the gateway reports it' }),
  })
  .meta({ id: 'DisputedDeposit' });

/** An erased account with a balance that is not disputed. */
export const erasedBalanceSchema = z
  .object({
    user_id: z.int().meta({ description: 'Id of the erased account' }),
    balance: z.int().meta({ description: 'Balance in Tooman, which nobody can use' }),
  })
  .meta({ id: 'ErasedBalance' });

type DisputedDeposit = z.output<typeof disputedDepositSchema>;

/** Newest first. `userId`: those of one user. The first page has the erased accounts with a balance. */
export type ListDisputedDeposits = (
  caller: UserCaller,
  request: PageRequest,
  userId?: number,
) => Promise<{
  page: PageOf<Payment>;
  data: DisputedDeposit[];
  erasedBalances: z.output<typeof erasedBalanceSchema>[] | undefined;
}>;

const toReported = (receipt: GatewayReceipt | null): DisputedDeposit['reported'] => ({
  charged_rial: receipt?.amountRial ?? null,
  order_id: receipt?.orderId ?? null,
  ref_number: receipt?.refNumber ?? null,
  card_number: receipt?.cardNumber ?? null,
  paid_at: receipt?.paidAt ?? null,
});

export const createListDisputedDeposits =
  (dependencies: Pick<Dependencies, 'store' | 'users'>): ListDisputedDeposits =>
  async (caller, request, userId) => {
    const page = await dependencies.store.payments.openDisputes(request, userId);
    const payments = await presentPayments(dependencies, page.rows, caller);
    const data = page.rows.flatMap((deposit, index): DisputedDeposit[] => {
      const payment = payments[index];
      if (payment === undefined) return [];
      const { gateway } = shownOf(deposit, payment.user);
      if (gateway === null) return [];
      const is_payer_erased = payment.user !== null && isErased(payment.user);
      return [
        { payment, is_payer_erased, track_id: gateway.trackId ?? '', reported: toReported(gateway.reported) },
      ];
    });
    const isFirst = request.mode === 'page' && request.page === 1;
    const erased = isFirst ? await dependencies.store.wallets.erasedWithBalance() : undefined;
    return {
      page,
      data,
      erasedBalances: erased?.map(({ userId: id, balance }) => ({ user_id: id, balance })),
    };
  };
