import { expect, test } from '@jest/globals';
import { ManualClock } from '../testing/manual-clock.ts';
import { DAY_MS, formatTimestamp, parseTimestamp } from './clock.ts';

test('a timestamp is YYYY-MM-DD HH:MM:SS in UTC', () => {
  expect(formatTimestamp(new Date('2026-03-04T05:06:07.999Z'))).toBe('2026-03-04 05:06:07');
  expect(parseTimestamp('2026-03-04 05:06:07')).toEqual(new Date('2026-03-04T05:06:07Z'));
});

test('a manual clock moves only by `advance`', () => {
  const clock = new ManualClock('2026-01-01T00:00:00Z');
  clock.advance(14 * DAY_MS);
  expect(clock.now().toISOString()).toBe('2026-01-15T00:00:00.000Z');
});
