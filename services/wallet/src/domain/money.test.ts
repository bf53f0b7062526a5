import { describe, expect, test } from '@jest/globals';
import { exact, percentOf, positive, sum, taxWithin, toRial } from './money.ts';

const LARGEST = Number.MAX_SAFE_INTEGER;

describe('exactness', () => {
  test.each([0, 1, -1, LARGEST, -LARGEST])('the amount %p is exact', (amount) => {
    expect(exact(amount)).toBe(amount);
  });

  test.each([LARGEST + 1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'the amount %p is refused, not rounded',
    (amount) => {
      expect(() => exact(amount)).toThrow('Not an exact whole amount');
    },
  );

  test('a sum with a partial sum above 2^53 is refused', () => {
    expect(() => sum([LARGEST, 1, -1])).toThrow('Not an exact whole amount');
    expect(sum([LARGEST, -LARGEST, 5])).toBe(5);
    expect(sum([])).toBe(0);
  });

  test('zero and less are not positive', () => {
    expect(() => positive(0)).toThrow('Not a positive amount');
    expect(() => positive(-1)).toThrow('Not a positive amount');
  });
});

test('a Tooman is ten Rial', () => {
  expect(toRial(50_500)).toBe(505_000);
  expect(() => toRial(LARGEST)).toThrow('Not an exact whole amount');
});

describe('percentages', () => {
  test.each([
    [50_000, 1, 500],
    [1_049, 1, 10],
    [1_050, 1, 11],
    [1_000, 0, 0],
    [333, 2.5, 8],
    [500_000_000, 1.1, 5_500_000],
    [LARGEST, 100, LARGEST],
  ])('%i at %p percent is %i, with halves rounded up', (amount, percent, expected) => {
    expect(percentOf(amount, percent)).toBe(expected);
  });

  test.each([
    [1_100, 10, 100],
    [500, 10, 45],
    [500, 0, 0],
    [0, 9, 0],
  ])('an amount of %i at %p percent contains %i of tax', (amount, percent, expected) => {
    expect(taxWithin(amount, percent)).toBe(expected);
  });
});
