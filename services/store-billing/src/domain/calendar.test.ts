import { describe, expect, test } from '@jest/globals';
import { addCalendarMonth } from './calendar.ts';

const month = (start: string): string => addCalendarMonth(new Date(start)).toISOString();

describe('a month is a calendar month', () => {
  test.each([
    ['2026-01-15T10:20:30.400Z', '2026-02-15T10:20:30.400Z'],
    ['2026-01-31T23:59:59.000Z', '2026-02-28T23:59:59.000Z'],
    ['2028-01-31T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
    ['2028-01-29T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
    ['2026-03-31T12:00:00.000Z', '2026-04-30T12:00:00.000Z'],
    ['2026-02-28T12:00:00.000Z', '2026-03-28T12:00:00.000Z'],
    ['2026-12-31T12:00:00.000Z', '2027-01-31T12:00:00.000Z'],
    ['2026-11-30T12:00:00.000Z', '2026-12-30T12:00:00.000Z'],
  ])('a month from %s ends at %s', (start, end) => {
    expect(month(start)).toBe(end);
  });

  test('addCalendarMonth does not change its argument', () => {
    const start = new Date('2026-01-31T00:00:00Z');
    addCalendarMonth(start);
    expect(start.toISOString()).toBe('2026-01-31T00:00:00.000Z');
  });
});
