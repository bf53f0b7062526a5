/**
 * What each process may book. A process that is taken over signs valid calls, and must not create money with them: an income is paid by
 * a purchase of the same booking, or returns an earlier one.
 */
import type { ProcessName } from '@fitness/shared/kernel/process-name.ts';
import type { Booking } from './booking.ts';

/** `refund`: it returns the purchase with this key. `unknown`: the process may not book this. */
export type BookingKind = { kind: 'sale' | 'purchase' | 'unknown' } | { kind: 'refund'; purchaseKey: string };

const REFUND = /^(.+):refund$/;

/** The key of the entry of a booking. */
export const entryKey = (key: string): string => `booking:${key}`;

/** The key of the purchase that a booking or an entry with this key returns; undefined for any other key. */
export const purchaseKeyOf = (key: string): string | undefined => REFUND.exec(key)?.[1];

/** Content sells between members. Store-billing sells for the platform, and returns a purchase at most once, because of the key. */
export const bookingKindOf = (from: ProcessName, key: string, bookings: readonly Booking[]): BookingKind => {
  const [first] = bookings;
  if (from === 'content') return { kind: isSale(bookings) ? 'sale' : 'unknown' };
  if (from !== 'store-billing' || first === undefined || bookings.length > 1) return { kind: 'unknown' };
  if (first.type === 'purchase') return { kind: 'purchase' };
  const purchaseKey = first.type === 'income' ? purchaseKeyOf(key) : undefined;
  return purchaseKey === undefined ? { kind: 'unknown' } : { kind: 'refund', purchaseKey };
};

/** A purchase, the same amount as income, and at most one commission that the seller pays out of it. */
const isSale = (bookings: readonly Booking[]): boolean => {
  const ofType = (type: Booking['type']) => bookings.filter((booking) => booking.type === type);
  const [purchases, incomes, commissions] = [ofType('purchase'), ofType('income'), ofType('commission')];
  const [purchase] = purchases;
  const [income] = incomes;
  if (purchase === undefined || income === undefined || purchase.amount !== income.amount) return false;
  if (purchases.length > 1 || incomes.length > 1 || commissions.length > 1) return false;
  return commissions.every(({ userId, amount }) => userId === income.userId && amount <= income.amount);
};

/** Whether the income returns this purchase, or a part of it. */
export const returnsPurchase = (
  income: Pick<Booking, 'userId' | 'amount'>,
  purchased: Pick<Booking, 'userId' | 'amount'> & { type: string },
): boolean =>
  purchased.type === 'purchase' && purchased.userId === income.userId && income.amount <= purchased.amount;
