import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Refund } from '../domain/refund.ts';

/** The refund queue, newest first. `userId` limits it to one user’s purchases. */
export const createListRefunds =
  ({ store }: Dependencies) =>
  (request: PageRequest, userId?: number): Promise<PageOf<Refund>> =>
    store.refunds.page(request, userId);
