/** The history: one's own, or anyone's with `payments.view_all`. */
import { can, type UserCaller } from '@fitness/shared/caller.ts';
import { forbidden } from '@fitness/shared/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import type { PaymentFilter } from '../store/store.ts';
import type { WalletDeps } from './deps.ts';
import { type PaymentResource, presentPayments } from './payment-resource.ts';

interface ListPaymentsInput {
  caller: UserCaller;
  filter: PaymentFilter;
  page: PageRequest;
}

/** Throws 403 when somebody else's payments are asked for without `payments.view_all`. */
export type ListPayments = (
  input: ListPaymentsInput,
) => Promise<{ page: PageOf<unknown>; data: PaymentResource[] }>;

export const createListPayments =
  (deps: Pick<WalletDeps, 'store' | 'users'>): ListPayments =>
  async ({ caller, filter, page: request }) => {
    const seesAll = can(caller, 'payments.view_all');
    if (!seesAll && filter.userId !== undefined && filter.userId !== caller.userId)
      throw forbidden('payments of another user');
    const visible = seesAll ? filter : { ...filter, userId: caller.userId };
    const page = await deps.store.payments.page(visible, request);
    return { page, data: await presentPayments(deps, page.rows, caller) };
  };
