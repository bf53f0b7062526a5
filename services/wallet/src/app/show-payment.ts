import type { UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, notFound } from '@fitness/shared/error.ts';
import type { WalletDeps } from './deps.ts';
import { maySee, type PaymentResource, presentPayments } from './payment-resource.ts';

/** Throws 404 when there is no such payment, 403 when it is somebody else's. */
export type ShowPayment = (id: number, caller: UserCaller) => Promise<PaymentResource>;

export const createShowPayment =
  (deps: Pick<WalletDeps, 'store' | 'users'>): ShowPayment =>
  async (id, caller) => {
    const payment = await deps.store.payments.find(id);
    if (payment === undefined) throw notFound();
    if (!maySee(caller, payment.userId)) throw forbidden('payment of another user');
    const [resource] = await presentPayments(deps, [payment], caller);
    if (resource === undefined) throw notFound();
    return resource;
  };
