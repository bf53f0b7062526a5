import { expect, test } from '@jest/globals';
import { acknowledgeWaitMs, isStoreToken, nextReconciliationAt } from './purchase.ts';

const redeemedAt = new Date('2026-01-01T00:00:00Z');

test('a redeemed purchase is reconciled daily for thirty days', () => {
  let at: Date | null = redeemedAt;
  const checks: string[] = [];
  for (;;) {
    at = nextReconciliationAt(redeemedAt, at);
    if (at === null) break;
    checks.push(at.toISOString().slice(0, 10));
  }
  expect(checks).toHaveLength(30);
  expect([checks[0], checks.at(-1)]).toEqual(['2026-01-02', '2026-01-31']);
});

test('the acknowledgement is repeated without a limit, at least every six hours', () => {
  expect([0, 1, 2, 100].map(acknowledgeWaitMs)).toEqual([5_000, 10_000, 20_000, 21_600_000]);
});

test.each(['.', '..', '\ud800'])('%j is not a token: a path cannot contain it unchanged', (value) => {
  expect(isStoreToken(value)).toBe(false);
});

test.each(['...', 'a/../b', '%2e%2e', 'شناسه', ' '])('%j is a token', (value) => {
  expect(isStoreToken(value)).toBe(true);
});
