/** The payment: the user's view of what was booked (specification 2.3, 2.4). */

export const PAYMENT_TYPES = [
  'deposit',
  'income',
  'purchase',
  'withdrawal',
  'commission',
  'store_purchase',
] as const;

export type PaymentType = (typeof PAYMENT_TYPES)[number];

/** Present where a rate is in force: the tax that is contained in what the payment charges. */
export interface VatMeta {
  vat_percent?: number;
  vat_amount?: number;
}

export interface DepositMeta extends VatMeta {
  amount: number;
  gateway_fee: number;
  payable_amount: number;
  /** From here on: after verification. */
  track_id?: string;
  ref_number?: string | null;
  card_number?: string | null;
  /** ISO 8601. */
  paid_at?: string;
  charged_rial?: number;
}

export interface StorePurchaseMeta extends VatMeta {
  channel: string;
  product_id: string;
}

export type PaymentMeta = DepositMeta | StorePurchaseMeta | VatMeta;

/**
 * Where a deposit stands at the bank gateway. Only `done` is credited; `cancelled`, `failed` and `expired` are what was
 * last heard, and a later word of the gateway that it was paid still counts. `mismatch`: paid, but not what was asked
 * for; it is never credited, and shown to the operators.
 */
export const GATEWAY_STATES = ['open', 'done', 'cancelled', 'failed', 'expired', 'mismatch'] as const;

export type GatewayState = (typeof GATEWAY_STATES)[number];

interface GatewayRecord {
  trackId: string;
  /** How we named the payment there: not to be guessed, so that who knows it was sent back from there. */
  orderId: string;
  state: GatewayState;
  /** When the gateway is asked next, unasked for; null when it no longer is. */
  checkAt: Date | null;
  /** What the gateway took when it was not what was asked for; null otherwise. */
  reported: GatewayReceipt | null;
}

/** What the gateway says it took, after a verification. */
export interface GatewayReceipt {
  amountRial: number | null;
  orderId: string | null;
  refNumber: string | null;
  /** Masked. */
  cardNumber: string | null;
  /** ISO 8601; null when the gateway's own form could not be read. */
  paidAt: string | null;
}

export interface Payment {
  id: number;
  userId: number;
  type: PaymentType;
  /** Whole Tooman; the type says which way it moves. */
  amount: number;
  description: string | null;
  payableType: string | null;
  payableId: number | null;
  meta: PaymentMeta | null;
  isDone: boolean;
  rejectedAt: Date | null;
  createdAt: Date;
  /** Grows with every change. */
  version: number;
  /** Of deposits only. */
  gateway: GatewayRecord | null;
}

export type NewPayment = Pick<Payment, 'id' | 'userId' | 'type' | 'amount' | 'isDone' | 'createdAt'> &
  Partial<Pick<Payment, 'description' | 'payableType' | 'payableId' | 'meta' | 'gateway'>>;

export const newPayment = (given: NewPayment): Payment => ({
  description: null,
  payableType: null,
  payableId: null,
  meta: null,
  gateway: null,
  ...given,
  rejectedAt: null,
  version: 1,
});

/** What a payment adds to its user's spendable balance (specification 2.3, rules 1 and 3). */
export const balanceEffect = (
  payment: Pick<Payment, 'type' | 'amount' | 'isDone' | 'rejectedAt'>,
): number => {
  switch (payment.type) {
    case 'deposit':
      return payment.isDone ? payment.amount : 0;
    case 'income':
      return payment.amount;
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
