import { describe, expect, test } from '@jest/globals';
import {
  type Booking,
  bookingMeta,
  bookingRows,
  depositBreakdown,
  depositRows,
  storePurchaseRows,
} from './booking.ts';
import { createEntry, type Row, walletMoves, walletOwner } from './ledger.ts';

const booking = (userId: number, type: Booking['type'], amount: number): Booking => ({
  userId,
  type,
  amount,
  description: null,
  payableType: null,
  payableId: null,
});

const condensed = (rows: readonly Row[]) => {
  const entry = createEntry({ key: 'test', kind: 'booking', rows, paymentIds: [1] });
  return Object.fromEntries(entry.rows.map(({ account, amount }) => [account, amount]));
};

describe('entries', () => {
  test('rows that do not add up to zero make no entry', () => {
    const rows: Row[] = [
      { account: 'wallet:1', amount: -5 },
      { account: 'revenue', amount: 4 },
    ];
    expect(() => createEntry({ key: 'k', kind: 'booking', rows, paymentIds: [1] })).toThrow('off by -1');
  });

  test('rows of one account are merged, and rows of 0 are dropped', () => {
    expect(
      condensed([
        { account: 'wallet:1', amount: 5 },
        { account: 'wallet:1', amount: -5 },
        { account: 'vat', amount: 0 },
        { account: 'revenue', amount: 3 },
        { account: 'wallet:2', amount: -3 },
      ]),
    ).toEqual({ revenue: 3, 'wallet:2': -3 });
  });

  test('wallets change in ascending order of their users', () => {
    const rows: Row[] = [
      { account: 'wallet:10', amount: 5 },
      { account: 'wallet:9', amount: -5 },
    ];
    const entry = createEntry({ key: 'k', kind: 'booking', rows, paymentIds: [1] });
    expect(walletMoves(entry)).toEqual([
      { userId: 9, amount: -5 },
      { userId: 10, amount: 5 },
    ]);
  });

  test.each(['revenue', 'wallet:', 'wallet:0', 'wallet:1x', 'xwallet:1'])(
    '%p is not a wallet account',
    (account) => {
      expect(walletOwner(account)).toBeUndefined();
    },
  );
});

describe('bookings', () => {
  test('a sale pays the seller from the buyer, and the commission from the seller', () => {
    const sale = [booking(1, 'purchase', 1_000), booking(2, 'income', 1_000), booking(2, 'commission', 100)];
    expect(condensed(bookingRows(sale, 0))).toEqual({ 'wallet:1': -1_000, 'wallet:2': 900, commission: 100 });
  });

  test('the rest of a purchase is revenue of the platform, split into net amount and tax', () => {
    expect(condensed(bookingRows([booking(1, 'purchase', 1_100)], 10))).toEqual({
      'wallet:1': -1_100,
      revenue: 1_000,
      vat: 100,
    });
  });

  test('an income without a purchase is paid by the platform and contains no tax', () => {
    expect(condensed(bookingRows([booking(1, 'income', 500)], 10))).toEqual({
      'wallet:1': 500,
      revenue: -500,
    });
  });

  test('the meta shows the tax of the platform’s earnings: not of incomes or purchases from another user', () => {
    const sale = [booking(1, 'purchase', 1_000), booking(2, 'income', 1_000), booking(2, 'commission', 110)];
    expect(sale.map((one) => bookingMeta(one, sale, 10))).toEqual([
      null,
      null,
      { vat_percent: 10, vat_amount: 10 },
    ]);
    const own = [booking(1, 'purchase', 1_100)];
    expect(bookingMeta(booking(1, 'purchase', 1_100), own, 10)).toEqual({ vat_percent: 10, vat_amount: 100 });
    expect(bookingMeta(booking(1, 'purchase', 1_100), own, 0)).toBeNull();
  });
});

describe('deposits and store purchases', () => {
  test.each([0, 9, 10])('the payer pays amount and fee at %p percent VAT, and the rows add up', (vat) => {
    const meta = depositBreakdown(50_001, { gatewayFeePercent: 1.5, vatPercent: vat });
    expect(meta.payable_amount).toBe(meta.amount + meta.gateway_fee);
    expect('vat_amount' in meta).toBe(vat > 0);
    expect(condensed(depositRows(1, meta))).toMatchObject({
      gateway_clearing: -meta.payable_amount,
      'wallet:1': 50_001,
    });
  });

  test('a store purchase changes no wallet', () => {
    expect(condensed(storePurchaseRows(1_100, 10))).toEqual({
      store_clearing: -1_100,
      revenue: 1_000,
      vat: 100,
    });
    expect(condensed(storePurchaseRows(0, 10))).toEqual({});
  });
});
