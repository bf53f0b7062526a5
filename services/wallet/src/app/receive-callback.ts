/** The payer's browser comes back from the bank. What it says only tells which deposit to ask the gateway about. */
import type { Caller } from '@fitness/shared/caller.ts';
import { isAppError, notFound } from '@fitness/shared/error.ts';
import { isOurOrder } from '../domain/deposit.ts';
import type { Payment } from '../domain/payment.ts';
import type { WalletDeps } from './deps.ts';
import { type PaymentResource, presentPayments } from './payment-resource.ts';
import type { SettleDeposit } from './settle-deposit.ts';

interface CallbackInput {
  trackId: string;
  orderId: string | undefined;
  caller: Caller;
}

/** `pending`: not decided yet, the gateway will be asked again. */
type DepositStatus = 'done' | 'cancelled' | 'failed' | 'pending';

/** An address to send the browser to, or the payment. */
type CallbackResult = { location: string } | { payment: PaymentResource };

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
    if (orderId !== undefined && !isOurOrder(payment, orderId)) throw notFound();
    if (returnUrl === undefined) {
      const settled = await settleDeposit(payment);
      const isPayer = caller.kind === 'user' && caller.userId === payment.userId;
      const [resource] = await presentPayments(deps, [settled], caller);
      if (resource === undefined) throw notFound();
      const cameBack = orderId !== undefined && orderId === payment.gateway?.orderId;
      return { payment: isPayer || cameBack ? resource : withoutWords(resource) };
    }
    // A person stands before the browser: he is brought back to the app whatever happens, and the sweeper asks again.
    const settled = await settleDeposit(payment).catch((error: unknown) => {
      if (!isAppError(error)) throw error;
      deps.log.warn({ err: error, payment_id: payment.id }, 'a deposit could not be verified yet');
      return payment;
    });
    return { location: returnAddress(returnUrl, settled) };
  };

/**
 * Track ids can be guessed. Who holds no more than one sees what became of the deposit, and nothing that the payer has
 * written or that the bank says of him. The payer's browser is not signed in either when it comes back, but it brings
 * our name of the order, which cannot be guessed.
 */
const withoutWords = (payment: PaymentResource): PaymentResource => ({
  ...payment,
  description: null,
  meta:
    payment.meta === null || !('card_number' in payment.meta)
      ? payment.meta
      : { ...payment.meta, card_number: null },
});

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
