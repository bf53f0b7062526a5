/** What the bank gateway's response means for a deposit. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { chargedRial } from './booking.ts';
import { type ClosedState, depositMetaOf, type GatewayReceipt, type Payment } from './payment.ts';
import type { DepositMeta } from './payment-meta.ts';

/** `unpaid.status`: the numeric status of a payment at Zibal, null when the response has none. */
export type GatewayAnswer =
  | { kind: 'paid'; receipt: GatewayReceipt }
  | { kind: 'unpaid'; status: number | null }
  | { kind: 'unknown_track' };

/** A receipt whose amount is known. */
export type PaidReceipt = GatewayReceipt & { amountRial: number };

/** `checkAt`: when to query the gateway again; null: never. */
export interface Closure {
  state: ClosedState;
  checkAt: Date | null;
}

export type DepositDecision =
  | { kind: 'credit'; receipt: PaidReceipt }
  | ({ kind: 'close' } & Closure)
  | { kind: 'dispute'; receipt: GatewayReceipt }
  | { kind: 'wait' };

/** Zibal's status of a payment that the payer cancelled. */
const CANCELLED = 3;
/** Zibal's statuses that are not final. -2: an internal error; -1: not paid yet; 1 and 2: paid, verified or not. */
const UNDECIDED = new Set([-2, -1, 1, 2]);

/** Age at which an unpaid deposit expires. */
export const EXPIRES_MS = DAY_MS;
/** Age until which the gateway is queried about an unpaid deposit: a closed order can still be paid there. */
export const LOOK_ENDS_MS = EXPIRES_MS + 3 * DAY_MS;
/** Up to this age a deposit is verified more often. */
const YOUNG_MS = 30 * MINUTE_MS;
const YOUNG_INTERVAL_MS = 2 * MINUTE_MS;
const OLD_INTERVAL_MS = 15 * MINUTE_MS;
export const CLOSED_INTERVAL_MS = HOUR_MS;

/** When to verify a deposit again: every 2 minutes, after half an hour every 15, and every hour once it is closed. */
export const nextCheckAt = (
  { createdAt, gateway }: Pick<Payment, 'createdAt' | 'gateway'>,
  now: Date,
): Date => {
  const ageMs = now.getTime() - createdAt.getTime();
  const openMs = ageMs < YOUNG_MS ? YOUNG_INTERVAL_MS : OLD_INTERVAL_MS;
  const isClosed = gateway !== null && gateway.state !== 'open';
  return new Date(now.getTime() + (isClosed ? CLOSED_INTERVAL_MS : openMs));
};

/** Identifies the payment at the gateway. `secret` is random, so the id cannot be guessed. */
export const orderIdOf = (paymentId: number, secret: string): string => `${paymentId}-${secret}`;

/** Whether `orderId` proves that the caller comes from the gateway. The order ids of older releases can be guessed. */
export const isSecretOrderId = ({ id, gateway }: Payment, orderId: string): boolean =>
  orderId === gateway?.orderId && orderId !== String(id);

/** Whether the gateway verified our order. In older releases, the payment id alone was the order id. */
const isOurOrder = ({ id, gateway }: Payment, orderId: string): boolean =>
  orderId === String(id) || orderId === gateway?.orderId;

/** The gateway verifies only that a track id is paid. Order and amount are compared here: only a match is credited. */
export const decideDeposit = (payment: Payment, answer: GatewayAnswer, now: Date): DepositDecision => {
  const ageMs = now.getTime() - payment.createdAt.getTime();
  const expired = ageMs >= EXPIRES_MS;
  const close = (state: ClosedState): DepositDecision => ({
    kind: 'close',
    state,
    checkAt: ageMs >= LOOK_ENDS_MS ? null : new Date(now.getTime() + CLOSED_INTERVAL_MS),
  });
  switch (answer.kind) {
    case 'paid': {
      const { receipt } = answer;
      const { amountRial, orderId } = receipt;
      // An incomplete receipt is no mismatch: the deposit is verified again until it expires.
      if (amountRial === null || orderId === null)
        return expired ? { kind: 'dispute', receipt } : { kind: 'wait' };
      const isMatch = isOurOrder(payment, orderId) && amountRial === chargedRial(depositMetaOf(payment));
      return isMatch ? { kind: 'credit', receipt: { ...receipt, amountRial } } : { kind: 'dispute', receipt };
    }
    case 'unpaid':
      if (answer.status === null || UNDECIDED.has(answer.status)) break;
      return close(answer.status === CANCELLED ? 'cancelled' : 'failed');
    case 'unknown_track':
      break;
  }
  return expired ? close('expired') : { kind: 'wait' };
};

export interface VerifiedFields {
  meta: DepositMeta;
  description: string | null;
}

/** The meta and description of a credited deposit. */
export const verifiedFields = (payment: Payment, receipt: GatewayReceipt, now: Date): VerifiedFields => {
  const { refNumber } = receipt;
  const meta: DepositMeta = {
    ...depositMetaOf(payment),
    track_id: payment.gateway?.trackId ?? '',
    ref_number: refNumber,
    card_number: receipt.cardNumber,
    paid_at: receipt.paidAt ?? now.toISOString(),
    ...(receipt.amountRial === null ? {} : { charged_rial: receipt.amountRial }),
  };
  const { description } = payment;
  if (refNumber === null) return { meta, description };
  return { meta, description: description === null ? refNumber : `${description}\n${refNumber}` };
};

const ZONELESS = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/;
const EARLIEST_MS = Date.UTC(2000, 0);
const LATEST_MS = Date.UTC(2200, 0);

/** The gateway's time as ISO 8601 in UTC. A time without a zone is read as UTC. Null when it cannot be parsed. */
export const readPaidAt = (text: string | null | undefined): string | null => {
  if (text === null || text === undefined) return null;
  const trimmed = text.trim();
  const date = new Date(ZONELESS.test(trimmed) ? `${trimmed.replace(' ', 'T')}Z` : trimmed);
  const timeMs = date.getTime();
  return timeMs >= EARLIEST_MS && timeMs < LATEST_MS ? date.toISOString() : null;
};
