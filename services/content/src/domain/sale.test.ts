import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { commissionOf, saleBookings } from './sale.ts';

/** Every run checks the same examples. */
const SEED = 20260115;

describe('the commission', () => {
  test.each([
    [99_999, 10, 9_999],
    [100_000, 2.9, 2_900],
    [1, 99.99, 0],
    [1_000_000_000, 100, 1_000_000_000],
    [5, 0, 0],
  ])('the commission of %i at %f percent is %i', (price, percent, expected) => {
    expect(commissionOf(price, percent)).toBe(expected);
  });

  test('a commission never exceeds the price and is less than one Tooman below the exact share', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000_000 }),
        fc.integer({ min: 0, max: 10_000 }),
        (price, hundredths) => {
          const commission = commissionOf(price, hundredths / 100);
          const exact = BigInt(price) * BigInt(hundredths);
          expect(BigInt(commission) * 10_000n <= exact).toBe(true);
          expect((BigInt(commission) + 1n) * 10_000n > exact).toBe(true);
          expect(commission).toBeLessThanOrEqual(price);
        },
      ),
      { seed: SEED },
    );
  });
});

test('a sale without a commission has two bookings, none of 0 Tooman', () => {
  const sale = {
    traineeId: 1,
    trainingServiceId: 2,
    title: 'T',
    sellerUserId: 3,
    buyerUserId: 4,
    price: 5,
    commission: 0,
  };
  expect(saleBookings(sale).map(({ type, user_id, amount }) => [type, user_id, amount])).toEqual([
    ['purchase', 4, 5],
    ['income', 3, 5],
  ]);
});
