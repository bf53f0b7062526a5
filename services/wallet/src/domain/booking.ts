/** The ledger rows of sales, deposits, withdrawals and store purchases. */

import type { PaymentType } from '@fitness/contracts/payment-types.ts';
import { type Account, type Row, walletAccount } from './ledger.ts';
import { exact, percentOf, positive, sum, taxWithin, toRial } from './money.ts';
import type { DepositMeta, StorePurchaseMeta, VatMeta } from './payment-meta.ts';

/** The types of payments that other services may book. */
export const BOOKABLE_TYPES = ['purchase', 'income', 'commission'] as const satisfies readonly PaymentType[];

type BookableType = (typeof BOOKABLE_TYPES)[number];

export interface Booking {
  userId: number;
  type: BookableType;
  /** Whole Tooman, positive. */
  amount: number;
  description: string | null;
  payableType: string | null;
  payableId: number | null;
}

/** Rows for earnings of the platform: the net amount on `account`, the tax contained in `amount` on `vat`. */
const earned = (account: Account, amount: number, vatPercent: number): Row[] => {
  const vat = taxWithin(amount, vatPercent);
  return [
    { account, amount: exact(amount - vat) },
    { account: 'vat', amount: vat },
  ];
};

const total = (bookings: readonly Booking[], type: BookableType): number =>
  sum(bookings.filter((booking) => booking.type === type).map(({ amount }) => positive(amount)));

/**
 * The rows of bookings that belong together. The purchases pay the incomes; the rest is the platform's revenue. An income
 * without a purchase (a refund) is paid by the platform and contains no tax.
 */
export const bookingRows = (bookings: readonly Booking[], vatPercent: number): Row[] => {
  const rows = bookings.map(({ userId, type, amount }): Row => {
    const signed = type === 'income' ? positive(amount) : -positive(amount);
    return { account: walletAccount(userId), amount: signed };
  });
  const margin = exact(total(bookings, 'purchase') - total(bookings, 'income'));
  return [
    ...rows,
    ...(margin > 0
      ? earned('revenue', margin, vatPercent)
      : [{ account: 'revenue' as const, amount: margin }]),
    ...earned('commission', total(bookings, 'commission'), vatPercent),
  ];
};

/** The tax contained in `amount`. */
const vatMeta = (amount: number, vatPercent: number): VatMeta => ({
  vat_percent: vatPercent,
  vat_amount: taxWithin(amount, vatPercent),
});

/** The fields of {@link vatMeta}, or none at a rate of 0. */
const vatFields = (amount: number, vatPercent: number): Partial<VatMeta> =>
  vatPercent === 0 ? {} : vatMeta(amount, vatPercent);

/**
 * The meta of a booking: the tax contained in a commission or in a purchase from the platform. A purchase from another
 * user earns the platform nothing, and its tax is the seller's.
 */
export const bookingMeta = (
  booking: Booking,
  all: readonly Booking[],
  vatPercent: number,
): VatMeta | null => {
  if (vatPercent === 0 || booking.type === 'income') return null;
  const isSale = all.some(({ type }) => type === 'income');
  if (booking.type === 'purchase' && isSale) return null;
  return vatMeta(booking.amount, vatPercent);
};

/**
 * What a deposit of `amount` costs the payer. The fee is added to the credited amount and contains the tax:
 * `payable_amount` is `amount` + `gateway_fee` at every rate.
 */
export const depositBreakdown = (
  amount: number,
  rates: { gatewayFeePercent: number; vatPercent: number },
): DepositMeta => {
  const fee = percentOf(positive(amount), rates.gatewayFeePercent);
  return {
    amount,
    gateway_fee: fee,
    payable_amount: exact(amount + fee),
    ...vatFields(fee, rates.vatPercent),
  };
};

export const chargedRial = (meta: DepositMeta): number => toRial(meta.payable_amount);

export const depositRows = (userId: number, meta: DepositMeta): Row[] => {
  const vat = meta.vat_amount ?? 0;
  return [
    { account: 'gateway_clearing', amount: -meta.payable_amount },
    { account: walletAccount(userId), amount: meta.amount },
    { account: 'gateway_fees', amount: exact(meta.gateway_fee - vat) },
    { account: 'vat', amount: vat },
  ];
};

/** A requested withdrawal: the amount leaves the balance and is held. */
export const holdRows = (userId: number, amount: number): Row[] => [
  { account: walletAccount(userId), amount: -positive(amount) },
  { account: 'held_withdrawals', amount },
];

/** A paid withdrawal. */
export const payoutRows = (amount: number): Row[] => [
  { account: 'held_withdrawals', amount: -positive(amount) },
  { account: 'gateway_clearing', amount },
];

/** A rejected withdrawal: the held amount returns to the balance. */
export const releaseRows = (userId: number, amount: number): Row[] => [
  { account: 'held_withdrawals', amount: -positive(amount) },
  { account: walletAccount(userId), amount },
];

/** A credit of an erased account leaves its balance. */
export const heldRows = (userId: number, amount: number): Row[] => [
  { account: walletAccount(userId), amount: -positive(amount) },
  { account: 'erased_credits', amount },
];

/** An operator has returned a held credit. */
export const returnedRows = (amount: number): Row[] => [
  { account: 'erased_credits', amount: -positive(amount) },
  { account: 'gateway_clearing', amount },
];

/** The store collected the price; no balance changes (specification 2.3, rule 3). */
export const storePurchaseRows = (amount: number, vatPercent: number): Row[] => [
  { account: 'store_clearing', amount: -exact(amount) },
  ...earned('revenue', amount, vatPercent),
];

/** The tax owed by the platform is contained in the price that the store collected. */
export const storePurchaseMeta = (
  { channel, productId, amount }: { channel: string; productId: string; amount: number },
  vatPercent: number,
): StorePurchaseMeta => ({ channel, product_id: productId, ...vatFields(amount, vatPercent) });
