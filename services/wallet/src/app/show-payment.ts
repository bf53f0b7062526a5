import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { assertMaySee, type PaymentResource, presentPayment } from './payment-resource.ts';

/** Throws 404 for an unknown id, and 403 for another user's payment without `payments.view_all`. */
export type ShowPayment = (id: number, caller: UserCaller) => Promise<PaymentResource>;

export const createShowPayment =
  (dependencies: Pick<Dependencies, 'store' | 'users'>): ShowPayment =>
  async (id, caller) => {
    const payment = await dependencies.store.payments.find(id);
    if (payment === undefined) throw notFound();
    assertMaySee(caller, payment.userId);
    return presentPayment(dependencies, payment, caller);
  };
