/**
 * Handles the payer's browser when it returns from the bank. The query only identifies the deposit; the gateway says whether
 * it was paid.
 */
import { type Caller, isOwn } from '@fitness/shared/kernel/caller.ts';
import { type AppError, isAppError, notFound } from '@fitness/shared/kernel/error.ts';
import { type RateLimit, type RateLimiter, rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../dependencies.ts';
import { isSecretOrderId } from '../domain/deposit.ts';
import type { Payment } from '../domain/payment.ts';
import { askOnce } from './ask-once.ts';
import { type PaymentResource, presentPayment } from './payment-resource.ts';
import type { SettleDeposit } from './settle-deposit.ts';

export const WRONG_CALLBACKS: RateLimit = { name: 'wrong-deposit-callbacks', points: 30, windowS: 60 };

interface CallbackInput {
  trackId: string;
  orderId: string | undefined;
  caller: Caller;
  clientAddress: string;
}

/** `pending`: not decided yet; the deposit will be verified again. */
type DepositStatus = 'done' | 'cancelled' | 'failed' | 'pending';

/** The address to redirect the browser to, or the payment. */
type CallbackResult = { location: string } | { payment: PaymentResource };

/** Throws 404 unless the order id is right or the caller is the payer; 429 after too many such 404s. */
export type ReceiveCallback = (input: CallbackInput) => Promise<CallbackResult>;

export const createReceiveCallback = (
  dependencies: Pick<Dependencies, 'store' | 'users' | 'log' | 'clock' | 'limiter' | 'depositReturnUrl'> & {
    settleDeposit: SettleDeposit;
  },
): ReceiveCallback => {
  const { store, log, clock, limiter, depositReturnUrl } = dependencies;
  const settleDeposit = askOnce(dependencies.settleDeposit, clock);
  return async (input) => {
    const payment = await store.payments.findByTrackId(input.trackId);
    // Checked before the gateway is called: a wrong callback costs no call.
    if (payment === undefined || !mayReturn(payment, input))
      throw await refusal(limiter, input.clientAddress);
    if (depositReturnUrl === undefined) {
      const settled = await settleDeposit(payment);
      return { payment: await presentPayment(dependencies, settled, input.caller) };
    }
    // The payer returns to the app even if this fails: the sweep verifies the deposit again.
    const settled = await settleDeposit(payment).catch((error: unknown) => {
      if (!isAppError(error)) throw error;
      log.warn({ err: error, payment_id: payment.id }, 'a deposit could not be verified yet');
      return payment;
    });
    return { location: returnAddress(depositReturnUrl, settled) };
  };
};

/** Track ids can be guessed, but the order id cannot: it proves that this browser comes from the bank. */
const mayReturn = (payment: Payment, { orderId, caller }: CallbackInput): boolean => {
  if (orderId !== undefined && isSecretOrderId(payment, orderId)) return true;
  return isOwn(caller, payment.userId, 'payments.view_own');
};

/** Only wrong callbacks are counted: many payers share the address of their mobile carrier. */
const refusal = async (limiter: RateLimiter, clientAddress: string): Promise<AppError> => {
  const state = await limiter.consume(WRONG_CALLBACKS, `address:${clientAddress}`);
  return state.allowed ? notFound() : rateLimited(state);
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
    case 'returned':
      return 'failed';
    case 'open':
    case undefined:
      return 'pending';
  }
};
