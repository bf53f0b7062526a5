/** The payer's browser comes back from the bank. What it says only tells which deposit to ask the gateway about. */
import type { Caller } from '@fitness/shared/caller.ts';
import { isAppError, notFound } from '@fitness/shared/error.ts';
import type { Payment } from '../domain/payment.ts';
import type { WalletDeps } from './deps.ts';
import { type PaymentResource, presentPayments } from './payment-resource.ts';
import type { SettleDeposit } from './settle-deposit.ts';

export interface CallbackInput {
  trackId: string;
  orderId: string | undefined;
  caller: Caller;
}

/** `pending`: not decided yet, the gateway will be asked again. */
export type DepositStatus = 'done' | 'cancelled' | 'failed' | 'pending';

/** An address to send the browser to, or the payment. */
export type CallbackResult = { location: string } | { payment: PaymentResource };

/** Throws 404 for a payment that is not ours. */
export type ReceiveCallback = (input: CallbackInput) => Promise<CallbackResult>;

export const createReceiveCallback =
  (
    deps: Pick<WalletDeps, 'store' | 'users' | 'log'>,
    settleDeposit: SettleDeposit,
    returnUrl: string | undefined,
  ): ReceiveCallback =>
  async ({ trackId, orderId, caller }) => {
    const payment = await deps.store.payments.findByTrackId(trackId);
    if (payment === undefined) throw notFound();
    if (orderId !== undefined && orderId !== String(payment.id)) throw notFound();
    if (returnUrl === undefined) {
      const settled = await settleDeposit(payment);
      const [resource] = await presentPayments(deps, [settled], caller);
      if (resource === undefined) throw notFound();
      return { payment: resource };
    }
    // A person stands before the browser: he is brought back to the app whatever happens, and the sweeper asks again.
    const settled = await settleDeposit(payment).catch((error: unknown) => {
      if (!isAppError(error)) throw error;
      deps.log.warn({ err: error, payment_id: payment.id }, 'a deposit could not be verified yet');
      return payment;
    });
    return { location: returnAddress(returnUrl, settled) };
  };

const returnAddress = (returnUrl: string, payment: Payment): string => {
  const address = new URL(returnUrl);
  address.searchParams.set('payment_id', String(payment.id));
  address.searchParams.set('status', statusOf(payment));
  return address.toString();
};

const statusOf = ({ gateway }: Payment): DepositStatus => {
  switch (gateway?.state) {
    case 'done':
    case 'cancelled':
      return gateway.state;
    case 'failed':
    case 'expired':
    case 'mismatch':
      return 'failed';
    case 'open':
    case undefined:
      return 'pending';
  }
};
