import { describe, expect, test } from '@jest/globals';
import { differenceOfBookings, differenceOfEntry, differenceOfHold, differenceOfWallet } from './audit.ts';
import { createEntry, type LedgerEntry } from './ledger.ts';
import { newPayment, type Payment } from './payment.ts';
import { type BookedEntry, entryHash } from './seal.ts';

const at = new Date('2026-01-15T10:00:00Z');
const booked = (entry: LedgerEntry, seal: number | null = null): BookedEntry => ({
  ...entry,
  bookedAt: at,
  hash: entryHash(entry, at),
  seal,
});
const income = newPayment({ id: 1, userId: 1, type: 'income', amount: 5, isDone: true, createdAt: at });
const incomeEntry = booked(
  createEntry({
    key: 'booking:one',
    kind: 'booking',
    rows: [
      { account: 'wallet:1', amount: 5 },
      { account: 'revenue', amount: -5 },
    ],
    paymentIds: [1],
  }),
);
const withdrawal = newPayment({
  id: 2,
  userId: 1,
  type: 'withdrawal',
  amount: 3,
  isDone: false,
  createdAt: at,
});
const holdEntry = booked(
  createEntry({
    key: 'withdrawal:2',
    kind: 'withdrawal',
    rows: [
      { account: 'wallet:1', amount: -3 },
      { account: 'held_withdrawals', amount: 3 },
    ],
    paymentIds: [2],
  }),
);
const payments = new Map<number, Payment>([income, withdrawal].map((payment) => [payment.id, payment]));
const judged = (entry: BookedEntry): string | undefined =>
  differenceOfEntry(entry, payments, new Set([1]), 0);

describe('an entry', () => {
  test('an entry as booked has no difference', () => {
    expect([judged(incomeEntry), judged(holdEntry)]).toEqual([undefined, undefined]);
  });

  test.each<[string, Partial<LedgerEntry>, string]>([
    ['with a sum that is not zero', { rows: [{ account: 'wallet:1', amount: 5 }] }, 'are off by 5'],
    [
      'on an unknown account',
      {
        rows: [
          { account: 'wallet:0', amount: 5 },
          { account: 'revenue', amount: -5 },
        ],
      },
      'unknown account wallet:0',
    ],
    [
      'on an account of another kind',
      {
        rows: [
          { account: 'wallet:1', amount: 5 },
          { account: 'held_withdrawals', amount: -5 },
        ],
      },
      'has other rows',
    ],
    ['without a payment', { paymentIds: [] }, 'for a payment that does not exist'],
    ['of another kind', { kind: 'deposit' }, 'does not belong to payment 1 (income) in its state'],
  ])('an entry %s is reported', (_what, change, expected) => {
    const { bookedAt: _at, hash: _hash, seal: _seal, ...entry } = incomeEntry;
    expect(judged(booked({ ...entry, ...change }))).toContain(expected);
  });
});

describe('a payment', () => {
  test('a payment booked twice with two keys is reported', () => {
    expect(differenceOfBookings(income, [incomeEntry])).toBeUndefined();
    const twice = differenceOfBookings(income, [incomeEntry, { ...incomeEntry, key: 'booking:two' }]);
    expect(twice).toBe('payment 1 is booked twice as booking');
  });

  test('a payment whose hold does not match its state is reported', () => {
    expect(differenceOfHold(withdrawal, [holdEntry])).toBeUndefined();
    expect(differenceOfHold({ ...withdrawal, isDone: true }, [holdEntry])).toBe(
      'held for payment 2 are 3 by the rows, and 0 by its state',
    );
    expect(differenceOfHold(withdrawal, [])).toBe('held for payment 2 are 0 by the rows, and 3 by its state');
  });
});

describe('a wallet', () => {
  test('a balance is compared with its payments and its rows, even above 2^53', () => {
    const huge = BigInt(Number.MAX_SAFE_INTEGER) + 2n;
    expect(differenceOfWallet({ userId: 1, balance: 5 }, 5n, 5n)).toBeUndefined();
    expect(differenceOfWallet({ userId: 1, balance: 5 }, 6n, 5n)).toContain('but is 6 by the payments');
    expect(differenceOfWallet({ userId: 1, balance: 5 }, 5n, 4n)).toContain('but is 4 by the rows');
    expect(differenceOfWallet({ userId: 1, balance: Number.MAX_SAFE_INTEGER }, huge, huge)).toContain(
      `${huge}`,
    );
    expect(differenceOfWallet({ userId: 1, balance: 0.5 }, 0n, 0n)).toContain('stored as 0.5');
  });
});
