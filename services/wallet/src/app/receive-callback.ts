/**
 * The payer's browser returns from the bank. Its query only identifies the deposit; whether it was paid is what the
 * gateway answers.
 */
import { type Caller, isOwn } from '@fitness/shared/kernel/caller.ts';
import { isAppError, notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { isOurOrder } from '../domain/deposit.ts';
import type { Payment } from '../domain/payment.ts';
import { type PaymentResource, presentPayment } from './payment-resource.ts';
import type { SettleDeposit } from './settle-deposit.ts';

interface CallbackInput {
  trackId: string;
  orderId: string | undefined;
  caller: Caller;
}

/** `pending`: not decided yet; the deposit will be verified again. */
type DepositStatus = 'done' | 'cancelled' | 'failed' | 'pending';

/** The address to redirect the browser to, or the payment. */
type CallbackResult = { location: string } | { payment: PaymentResource };

/** Throws 404 for an unknown track id or another payment's order id. */
export type ReceiveCallback = (input: CallbackInput) => Promise<CallbackResult>;

export const createReceiveCallback =
  (
    dependencies: Pick<Dependencies, 'store' | 'users' | 'log' | 'depositReturnUrl'> & {
      settleDeposit: SettleDeposit;
    },
  ): ReceiveCallback =>
  async ({ trackId, orderId, caller }) => {
    const { store, log, depositReturnUrl, settleDeposit } = dependencies;
    const payment = await store.payments.findByTrackId(trackId);
    if (payment === undefined) throw notFound();
    if (orderId !== undefined && !isOurOrder(payment, orderId)) throw notFound();
    if (depositReturnUrl === undefined) {
      const settled = await settleDeposit(payment);
      const resource = await presentPayment(dependencies, settled, caller);
      const isPayer = isOwn(caller, payment.userId, 'payments.view_own');
      const hasOrderId = orderId !== undefined && orderId === payment.gateway?.orderId;
      return { payment: isPayer || hasOrderId ? resource : withoutPersonal(resource) };
    }
    // The payer returns to the app in any case: the sweep verifies the deposit again.
    const settled = await settleDeposit(payment).catch((error: unknown) => {
      if (!isAppError(error)) throw error;
      log.warn({ err: error, payment_id: payment.id }, 'a deposit could not be verified yet');
      return payment;
    });
    return { location: returnAddress(depositReturnUrl, settled) };
  };

/**
 * Track ids can be guessed: with nothing else the caller sees the outcome, but neither description nor card. The order
 * id cannot be guessed, so that it proves that this browser comes from the bank; it is not signed in.
 */
const withoutPersonal = (payment: PaymentResource): PaymentResource => ({
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
