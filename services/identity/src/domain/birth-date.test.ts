import { expect, test } from '@jest/globals';
import { isInTheFuture } from './birth-date.ts';

test('a date is in the future only if it is in the future in every time zone', () => {
  const now = new Date('2026-03-01T12:00:00Z');
  expect(isInTheFuture('2026-03-01', now)).toBe(false);
  expect(isInTheFuture('2026-03-02', now)).toBe(false);
  expect(isInTheFuture('2026-03-03', now)).toBe(true);
});
