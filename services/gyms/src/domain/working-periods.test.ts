import { describe, expect, test } from '@jest/globals';
import { overlap, type WorkingPeriod, workingStatus } from './working-periods.ts';

const period = (weekday: number, opensAt: string, closesAt: string): WorkingPeriod => ({
  weekday,
  opensAt,
  closesAt,
});
// 2026-01-10 is a Saturday; Tehran is three and a half hours ahead of UTC.
const at = (tehran: string): Date => new Date(Date.parse(`${tehran}+03:30`));
const morning = period(0, '08:00', '12:00');

describe('working status in the local time of Tehran', () => {
  test.each<[string, WorkingPeriod[], string, boolean, string | null]>([
    ['before it opens', [morning], '2026-01-10T07:59:59', false, '2026-01-10 04:30:00'],
    ['at the minute it opens', [morning], '2026-01-10T08:00:00', true, '2026-01-10 08:30:00'],
    ['in the last second', [morning], '2026-01-10T11:59:59', true, '2026-01-10 08:30:00'],
    [
      'at the minute it closes, until next week',
      [morning],
      '2026-01-10T12:00:00',
      false,
      '2026-01-17 04:30:00',
    ],
    [
      'two periods that touch',
      [morning, period(0, '12:00', '14:00')],
      '2026-01-10T09:00:00',
      true,
      '2026-01-10 10:30:00',
    ],
    [
      'a period that crosses midnight',
      [period(0, '22:00', '02:00')],
      '2026-01-11T01:00:00',
      true,
      '2026-01-10 22:30:00',
    ],
    [
      'a period that crosses the end of the week',
      [period(6, '22:00', '02:00')],
      '2026-01-10T01:00:00',
      true,
      '2026-01-09 22:30:00',
    ],
    [
      'a period until midnight and one from midnight',
      [period(0, '20:00', '24:00'), period(1, '00:00', '01:00')],
      '2026-01-10T23:00:00',
      true,
      '2026-01-10 21:30:00',
    ],
    ['a whole day', [period(0, '00:00', '24:00')], '2026-01-10T23:00:00', true, '2026-01-10 20:30:00'],
    [
      'equal times mean a whole day',
      [period(0, '06:00', '06:00')],
      '2026-01-11T05:00:00',
      true,
      '2026-01-11 02:30:00',
    ],
    [
      'always open',
      Array.from({ length: 7 }, (_, day) => period(day, '00:00', '24:00')),
      '2026-01-12T05:00:00',
      true,
      null,
    ],
  ])(
    'the status shows whether a gym is open, and when that changes: %s',
    (_name, periods, now, isOpen, changesAt) => {
      expect(workingStatus(periods, at(now))).toEqual({ is_open: isOpen, changes_at: changesAt });
    },
  );

  test('a gym without periods has no status', () => {
    expect(workingStatus([], at('2026-01-10T08:00:00'))).toBeNull();
  });

  test('the status follows daylight saving time in the years that had it', () => {
    // In July 2021 Tehran was four and a half hours ahead of UTC; the 3rd was a Saturday.
    expect(workingStatus([morning], new Date('2021-07-03T04:00:00Z'))).toEqual({
      is_open: true,
      changes_at: '2021-07-03 07:30:00',
    });
  });
});

describe('periods that overlap', () => {
  test.each<[string, WorkingPeriod[], boolean]>([
    ['touching', [morning, period(0, '12:00', '13:00')], false],
    ['sharing a minute', [morning, period(0, '11:59', '13:00')], true],
    ['the same twice', [morning, morning], true],
    ['on other days', [morning, period(1, '08:00', '12:00')], false],
    ['one inside a longer one', [period(0, '08:00', '20:00'), period(0, '09:00', '10:00')], true],
    ['across midnight into the next day', [period(0, '22:00', '08:01'), period(1, '08:00', '09:00')], true],
    ['across the end of the week into its beginning', [period(6, '22:00', '08:01'), morning], true],
  ])('periods overlap only if they share a minute: %s', (_name, periods, expected) => {
    expect(overlap(periods)).toBe(expected);
    expect(overlap(periods.toReversed())).toBe(expected);
  });
});
