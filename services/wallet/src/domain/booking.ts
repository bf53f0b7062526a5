/** How what is bought, sold, paid in and paid out becomes rows. */
import { type Account, type Row, walletAccount } from './ledger.ts';
import { exact, percentOf, positive, sum, taxWithin, toRial } from './money.ts';
import type { DepositMeta, PaymentType, StorePurchaseMeta, VatMeta } from './payment.ts';

/** What other services may book. */
export const BOOKABLE_TYPES = ['purchase', 'income', 'commission'] as const satisfies readonly PaymentType[];

type BookableType = (typeof BOOKABLE_TYPES)[number];

export interface Booking {
  userId: number;
  type: BookableType;
  /** Positive. */
  amount: number;
  description: string | null;
  payableType: string | null;
  payableId: number | null;
}

/** Splits what an account of the house earns into the earning and the tax contained in it. */
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
 * The rows of bookings that belong together. A purchase pays the incomes beside it; what is left of it is the house's
 * revenue. Incomes beyond the purchases are at the house's expense (a gift, a refund): no tax is earned there.
 */
export const bookingRows = (bookings: readonly Booking[], vatPercent: number): Row[] => {
  const rows = bookings.map(({ userId, type, amount }): Row => {
    const signed = type === 'income' ? positive(amount) : -positive(amount);
    return { account: walletAccount(userId), amount: signed };
  });
  const left = exact(total(bookings, 'purchase') - total(bookings, 'income'));
  return [
    ...rows,
    ...(left > 0 ? earned('revenue', left, vatPercent) : [{ account: 'revenue' as const, amount: left }]),
    ...earned('commission', total(bookings, 'commission'), vatPercent),
  ];
};

/** The tax inside `amount`, for a meta: nothing where no rate is in force. */
const vatMeta = (amount: number, vatPercent: number): VatMeta =>
  vatPercent === 0 ? {} : { vat_percent: vatPercent, vat_amount: taxWithin(amount, vatPercent) };

/**
 * The meta of each booking: the tax inside a commission, and inside a purchase from the house. A purchase from another
 * user is not the house's earning, and his tax is his own.
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
 * What a deposit of `amount` costs the payer. The fee comes on top of the credited amount, and the tax is inside the
 * fee: `payable_amount` is `amount` + `gateway_fee` at every rate.
 */
export const depositBreakdown = (
  amount: number,
  rates: { gatewayFeePercent: number; vatPercent: number },
): DepositMeta => {
  const fee = percentOf(positive(amount), rates.gatewayFeePercent);
  return { amount, gateway_fee: fee, payable_amount: exact(amount + fee), ...vatMeta(fee, rates.vatPercent) };
};

/** What is charged at the gateway. */
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

export const holdRows = (userId: number, amount: number): Row[] => [
  { account: walletAccount(userId), amount: -positive(amount) },
  { account: 'held_withdrawals', amount },
];

export const payoutRows = (amount: number): Row[] => [
  { account: 'held_withdrawals', amount: -positive(amount) },
  { account: 'gateway_clearing', amount },
];

export const releaseRows = (userId: number, amount: number): Row[] => [
  { account: 'held_withdrawals', amount: -positive(amount) },
  { account: walletAccount(userId), amount },
];

/** The store collected the price; no wallet is touched (specification 2.3, rule 3). */
export const storePurchaseRows = (amount: number, vatPercent: number): Row[] => [
  { account: 'store_clearing', amount: -exact(amount) },
  ...earned('revenue', amount, vatPercent),
];

/** The tax that the house owes is inside the price that the store collected. */
export const storePurchaseMeta = (
  { channel, productId, amount }: { channel: string; productId: string; amount: number },
  vatPercent: number,
): StorePurchaseMeta => ({ channel, product_id: productId, ...vatMeta(amount, vatPercent) });
