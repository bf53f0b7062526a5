import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import type { Refund } from '../store/refunds.ts';
import type { BillingDeps } from './deps.ts';

/** What the operators owe back, newest first. */
export type ListRefunds = (request: PageRequest) => Promise<PageOf<Refund>>;

export const createListRefunds =
  ({ store }: Pick<BillingDeps, 'store'>): ListRefunds =>
  (request) =>
    store.refunds.page(request);
