/** The payment: the user's view of a booking (specification 2.3, 2.4). */
import type { PaymentType } from '@fitness/contracts/payment-types.ts';
import type { DepositMeta, PaymentMeta, WithdrawalMeta } from './payment-meta.ts';

/**
 * State of a deposit at the bank gateway. Only `done` is credited. `cancelled`, `failed` and `expired` are not final: the
 * gateway may still report a payment. `mismatch` was paid with a different amount or order, or for an erased account, and is disputed
 * until an operator credits or returns it. `returned` is final.
 */
export const GATEWAY_STATES = [
  'open',
  'done',
  'cancelled',
  'failed',
  'expired',
  'mismatch',
  'returned',
] as const;

export type GatewayState = (typeof GATEWAY_STATES)[number];

/** The gateway is not queried again for these: an operator decides (`mismatch`) or has returned the money (`returned`). */
export const OPERATOR_STATES = ['mismatch', 'returned'] as const satisfies readonly GatewayState[];

/** States of a deposit that is unpaid according to the gateway's last response. */
export const CLOSED_STATES = ['cancelled', 'failed', 'expired'] as const satisfies readonly GatewayState[];

export type ClosedState = (typeof CLOSED_STATES)[number];

export const DISPUTE_OUTCOMES = ['credited', 'returned'] as const;

export type DisputeOutcome = (typeof DISPUTE_OUTCOMES)[number];

/** What an operator decided about a disputed deposit. */
export interface DisputeResolution {
  outcome: DisputeOutcome;
  /** Null once the account is erased. */
  note: string | null;
  /** User id of the operator. */
  resolvedBy: number;
  resolvedAt: Date;
  /** See `decisionMark`. Undefined for a resolution of an older release. */
  mark?: string | null | undefined;
}

/** That an operator has paid or rejected a withdrawal. */
export interface Settlement {
  /** User id of the operator. */
  by: number;
  at: Date;
  /** See `decisionMark`. */
  mark: string | null;
}

/** That an operator is about to pay a withdrawal at the bank. */
export interface Claim {
  /** User id of the operator. */
  by: number;
  until: Date;
}

/** A deposit at the bank gateway, or an income that is disputed because its account is erased. */
interface GatewayRecord {
  /** Null for an income. */
  trackId: string | null;
  /** Our id of the payment at the gateway. It cannot be guessed. Null for an income. */
  orderId: string | null;
  state: GatewayState;
  /** When the sweep verifies the deposit next; null: never. */
  checkAt: Date | null;
  /** What the gateway collected. Null for an income, and unless the deposit is or was disputed. */
  reported: GatewayReceipt | null;
  resolution: DisputeResolution | null;
}

/** What the gateway collected, according to its verification response. */
export interface GatewayReceipt {
  amountRial: number | null;
  orderId: string | null;
  refNumber: string | null;
  /** Masked. */
  cardNumber: string | null;
  /** ISO 8601; null when the gateway's format could not be parsed. */
  paidAt: string | null;
}

export interface Payment {
  id: number;
  userId: number;
  type: PaymentType;
  /** Whole Tooman, never negative; the type determines the direction. */
  amount: number;
  description: string | null;
  payableType: string | null;
  payableId: number | null;
  meta: PaymentMeta | null;
  isDone: boolean;
  rejectedAt: Date | null;
  createdAt: Date;
  /** Incremented by every change. */
  version: number;
  /** Null for payments other than deposits, except for incomes of an erased account. */
  gateway: GatewayRecord | null;
  /** Null for payments other than withdrawals, and for those that an older release settled. */
  settlement: Settlement | null;
  /** Null unless an operator has claimed the withdrawal. A claim may have ended. */
  claim: Claim | null;
}

export type NewPayment = Pick<Payment, 'id' | 'userId' | 'type' | 'amount' | 'isDone' | 'createdAt'> &
  Partial<Pick<Payment, 'description' | 'payableType' | 'payableId' | 'meta' | 'gateway'>>;

export const newPayment = (fields: NewPayment): Payment => ({
  description: null,
  payableType: null,
  payableId: null,
  meta: null,
  gateway: null,
  ...fields,
  rejectedAt: null,
  settlement: null,
  claim: null,
  version: 1,
});

/**
 * How a payment changes the user's spendable balance (specification 2.3, rules 1 and 3). An income is not done if its account is erased.
 */
export const balanceEffect = (
  payment: Pick<Payment, 'type' | 'amount' | 'isDone' | 'rejectedAt'>,
): number => {
  switch (payment.type) {
    case 'deposit':
    case 'income':
      return payment.isDone ? payment.amount : 0;
    case 'purchase':
    case 'commission':
      return payment.isDone ? -payment.amount : 0;
    case 'withdrawal':
      return payment.rejectedAt === null ? -payment.amount : 0;
    case 'store_purchase':
      return 0;
  }
};

/** A withdrawal that is neither paid nor rejected. */
export const isOpenWithdrawal = (payment: Pick<Payment, 'type' | 'isDone' | 'rejectedAt'>): boolean =>
  payment.type === 'withdrawal' && !payment.isDone && payment.rejectedAt === null;

/** Undefined for other payments, and for a withdrawal that was stored without a bank account. */
export const withdrawalMetaOf = ({
  type,
  meta,
}: Pick<Payment, 'type' | 'meta'>): WithdrawalMeta | undefined =>
  type === 'withdrawal' && meta !== null ? (meta as WithdrawalMeta) : undefined;

/** The payment of an erased account, as shown and stored. An open withdrawal keeps the bank account that it is paid to. */
export const withoutPersonalData = (payment: Payment): Payment => {
  const { meta, gateway } = payment;
  const isClosed = withdrawalMetaOf(payment) !== undefined && !isOpenWithdrawal(payment);
  return {
    ...payment,
    description: null,
    meta: isClosed
      ? { bank_account_number: null }
      : meta !== null && 'card_number' in meta
        ? { ...meta, card_number: null }
        : meta,
    gateway: gateway && {
      ...gateway,
      reported: gateway.reported && { ...gateway.reported, cardNumber: null },
      resolution: gateway.resolution && { ...gateway.resolution, note: null },
    },
  };
};

/** See {@link OPERATOR_STATES}. */
export const isLeftToOperators = ({ gateway }: Pick<Payment, 'gateway'>): boolean =>
  gateway !== null && (OPERATOR_STATES as readonly string[]).includes(gateway.state);

/**
 * Whether the payment was booked, and then taken out of the balance of an erased account. Only a booked deposit has the track id in
 * its meta.
 */
export const isHeldCredit = (payment: Pick<Payment, 'type' | 'meta' | 'isDone' | 'gateway'>): boolean => {
  if (payment.isDone || !isLeftToOperators(payment)) return false;
  return payment.type === 'income' || (payment.meta !== null && 'track_id' in payment.meta);
};

/** Throws for a payment that is not a deposit. */
export const depositMetaOf = ({ id, meta }: Pick<Payment, 'id' | 'meta'>): DepositMeta => {
  if (meta === null || !('payable_amount' in meta)) throw new Error(`Payment ${id} has no meta of a deposit`);
  return meta;
};
