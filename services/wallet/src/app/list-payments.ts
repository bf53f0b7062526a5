/** Lists the caller's payments, or any user's with `payments.view_all`. */
import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { missingPermission } from '@fitness/shared/kernel/missing-permission.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Payment } from '../domain/payment.ts';
import type { PaymentFilter } from '../store/store.ts';
import { type PaymentResource, presentPayments } from './payment-resource.ts';

interface ListPaymentsInput {
  caller: UserCaller;
  filter: PaymentFilter;
  page: PageRequest;
}

/** Throws 403 for another user's payments without `payments.view_all`. */
export type ListPayments = (
  input: ListPaymentsInput,
) => Promise<{ page: PageOf<Payment>; data: PaymentResource[] }>;

export const createListPayments =
  (dependencies: Pick<Dependencies, 'store' | 'users'>): ListPayments =>
  async ({ caller, filter, page: request }) => {
    const seesAll = can(caller, 'payments.view_all');
    if (!seesAll && filter.userId !== undefined && filter.userId !== caller.userId)
      throw missingPermission(caller, { permissions: ['payments.view_all'] });
    const visible = seesAll ? filter : { ...filter, userId: caller.userId };
    const page = await dependencies.store.payments.page(visible, request);
    return { page, data: await presentPayments(dependencies, page.rows, caller) };
  };
