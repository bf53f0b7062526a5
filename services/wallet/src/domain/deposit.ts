/** What the bank gateway's word means for a deposit. */
import { DAY_MS, MINUTE_MS } from '@fitness/shared/clock.ts';
import { chargedRial } from './booking.ts';
import type { DepositMeta, GatewayReceipt, GatewayState, Payment } from './payment.ts';

/** `unpaid.status` is the gateway's number, null when it did not say. */
export type GatewayAnswer =
  | { kind: 'paid'; receipt: GatewayReceipt }
  | { kind: 'unpaid'; status: number | null }
  | { kind: 'unknown_track' };

export type DepositDecision =
  | { kind: 'credit'; receipt: GatewayReceipt & { amountRial: number } }
  | { kind: 'close'; state: Exclude<GatewayState, 'open' | 'done' | 'mismatch'> }
  | { kind: 'dispute'; receipt: GatewayReceipt }
  | { kind: 'wait' };

const CANCELLED = 3;
/** Waiting, an error inside the gateway, and the two that are paid: nothing is over yet. */
const UNDECIDED = new Set([-2, -1, 1, 2]);

/** A deposit that nobody paid is given up after this. */
const EXPIRES_MS = DAY_MS;
const FIRST_CHECK_MS = 2 * MINUTE_MS;
const EARLY_MS = 30 * MINUTE_MS;
const LATE_CHECK_MS = 15 * MINUTE_MS;

/** When the gateway is asked next about a deposit whose callback did not come: often at first, then seldom. */
export const nextCheckAt = (createdAt: Date, now: Date): Date => {
  const ageMs = now.getTime() - createdAt.getTime();
  return new Date(now.getTime() + (ageMs < EARLY_MS ? FIRST_CHECK_MS : LATE_CHECK_MS));
};

/** The name of a payment at the gateway; `secret` are random characters. */
export const orderIdOf = (paymentId: number, secret: string): string => `${paymentId}-${secret}`;

/** The id of the payment alone names it too; only the whole name proves where somebody comes from. */
export const isOurOrder = ({ id, gateway }: Payment, orderId: string): boolean =>
  orderId === String(id) || orderId === gateway?.orderId;

/** `verify` takes no amount, so what it answers is compared here: only our own order at our own price is credited. */
export const decideDeposit = (payment: Payment, answer: GatewayAnswer, now: Date): DepositDecision => {
  const expired = now.getTime() - payment.createdAt.getTime() >= EXPIRES_MS;
  switch (answer.kind) {
    case 'paid': {
      const { receipt } = answer;
      const { amountRial, orderId } = receipt;
      // Not said is not another: it is asked about again, as long as a deposit is.
      if (amountRial === null || orderId === null)
        return expired ? { kind: 'dispute', receipt } : { kind: 'wait' };
      const ours = isOurOrder(payment, orderId) && amountRial === chargedRial(payment.meta as DepositMeta);
      return ours ? { kind: 'credit', receipt: { ...receipt, amountRial } } : { kind: 'dispute', receipt };
    }
    case 'unpaid':
      if (answer.status === null || UNDECIDED.has(answer.status)) break;
      return { kind: 'close', state: answer.status === CANCELLED ? 'cancelled' : 'failed' };
    case 'unknown_track':
      break;
  }
  return expired ? { kind: 'close', state: 'expired' } : { kind: 'wait' };
};

/** The meta and description of a credited deposit. Of an erased user nothing personal is written down again. */
export const verified = (
  payment: Payment,
  receipt: GatewayReceipt & { amountRial: number },
  options: { now: Date; erased: boolean },
): { meta: DepositMeta; description: string | null } => {
  const { refNumber } = receipt;
  const meta: DepositMeta = {
    ...(payment.meta as DepositMeta),
    track_id: payment.gateway?.trackId ?? '',
    ref_number: refNumber,
    card_number: options.erased ? null : receipt.cardNumber,
    paid_at: receipt.paidAt ?? options.now.toISOString(),
    charged_rial: receipt.amountRial,
  };
  const { description } = payment;
  if (options.erased) return { meta, description: null };
  if (refNumber === null) return { meta, description };
  return { meta, description: description === null ? refNumber : `${description}\n${refNumber}` };
};

const ZONELESS = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/;
const EARLIEST_MS = Date.UTC(2000, 0);
const LATEST_MS = Date.UTC(2200, 0);

/** The gateway's time as ISO 8601 in UTC, where one without a zone is taken for UTC; null when it cannot be read. */
export const readPaidAt = (text: string | null | undefined): string | null => {
  if (text === null || text === undefined) return null;
  const trimmed = text.trim();
  const date = new Date(ZONELESS.test(trimmed) ? `${trimmed.replace(' ', 'T')}Z` : trimmed);
  const timeMs = date.getTime();
  return timeMs >= EARLIEST_MS && timeMs < LATEST_MS ? date.toISOString() : null;
};
