import { expect, test } from '@jest/globals';
import { nextWaitMs, VERIFICATION_WINDOW_MS } from './attempt.ts';

test('the waits between verifications grow from 15 seconds to an hour and stay there', () => {
  expect([0, 1, 2, 7, 8, 1_000].map(nextWaitMs)).toEqual([
    15_000, 30_000, 60_000, 1_920_000, 3_600_000, 3_600_000,
  ]);
});

test('an attempt is verified for 72 hours', () => {
  expect(VERIFICATION_WINDOW_MS).toBe(259_200_000);
});
