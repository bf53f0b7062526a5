import { expect, test } from '@jest/globals';
import { acknowledgeWaitMs, isStoreToken, nextLookAt } from './purchase.ts';

const redeemedAt = new Date('2026-01-01T00:00:00Z');

test('a redeemed purchase is looked at daily for thirty days', () => {
  let at: Date | null = redeemedAt;
  const looks: string[] = [];
  for (;;) {
    at = nextLookAt(redeemedAt, at);
    if (at === null) break;
    looks.push(at.toISOString().slice(0, 10));
  }
  expect(looks).toHaveLength(30);
  expect([looks[0], looks.at(-1)]).toEqual(['2026-01-02', '2026-01-31']);
});

test('the acknowledgement is repeated without end, at most every six hours', () => {
  expect([0, 1, 2, 100].map(acknowledgeWaitMs)).toEqual([5_000, 10_000, 20_000, 21_600_000]);
});

test.each(['.', '..', '\ud800'])('%j is no token: it would not reach the store as what it is', (value) => {
  expect(isStoreToken(value)).toBe(false);
});

test.each(['...', 'a/../b', '%2e%2e', 'شناسه', ' '])('%j reaches the store as it is', (value) => {
  expect(isStoreToken(value)).toBe(true);
});
