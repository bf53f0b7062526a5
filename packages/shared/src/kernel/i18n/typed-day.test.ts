import { describe, expect, test } from '@jest/globals';
import { DAY_MS, formatTimestamp, parseTimestamp } from '../clock.ts';
import { formatTypedDay, parseTypedDay } from './typed-day.ts';

const period = (locale: string, text: string): string[] | undefined => {
  const day = parseTypedDay(locale, text);
  return day && [formatTimestamp(day.start), formatTimestamp(day.end)];
};

describe('a typed day', () => {
  test.each([
    ['۱۴۰۵/۰۹/۰۶', '2026-11-26 20:30:00', '2026-11-27 20:29:59'],
    ['1405/09/06', '2026-11-26 20:30:00', '2026-11-27 20:29:59'],
    [' ١٤٠٥-٩-٦ ', '2026-11-26 20:30:00', '2026-11-27 20:29:59'],
    ['1403/12/30', '2025-03-19 20:30:00', '2025-03-20 20:29:59'],
    // Tehran had daylight saving time until 2022. It began at the end of this day, and its last day had 25 hours.
    ['1401/01/02', '2022-03-21 20:30:00', '2022-03-22 19:29:59'],
    ['1401/06/30', '2022-09-20 19:30:00', '2022-09-21 20:29:59'],
  ])('%s is read as a day in Tehran by the Persian calendar', (text, start, end) => {
    expect(period('fa', text)).toEqual([start, end]);
  });

  test.each(['2026-11-27', '2026/11/27', '۲۰۲۶-۱۱-۲۷'])('%s is read as a UTC day in English', (text) => {
    expect(period('en', text)).toEqual(['2026-11-27 00:00:00', '2026-11-27 23:59:59']);
  });

  test.each([
    ['fa', ''],
    ['fa', '2026-11-27'],
    ['fa', '1404/12/30'],
    ['fa', '1405/13/01'],
    ['fa', '1405/00/10'],
    ['fa', '1405/7/31'],
    ['fa', '1405/09-06'],
    ['fa', 'دیروز'],
    ['en', '2026-02-29'],
    ['en', '1405/09/06'],
    ['en', '2026-11-27 10:00'],
    ['xx', '2026-11-27'],
  ])('in %s, %j is not a day', (locale, text) => {
    expect(parseTypedDay(locale, text)).toBeUndefined();
  });

  /** The ends of February and of the Persian year, with and without a leap day, and of a long and a short month. */
  const ENDS = [
    '2024-02-27',
    '2025-02-26',
    '2025-03-17',
    '2026-03-17',
    '2025-12-29',
    '2026-09-20',
    '2026-10-20',
  ];

  test.each(['en', 'fa'])(
    'in %s, the days at each end of a month come back as they were written',
    (locale) => {
      for (const day of ENDS) {
        const first = parseTimestamp(`${day} 12:00:00`).getTime();
        for (let days = 0; days < 6; days += 1) {
          const instant = new Date(first + days * DAY_MS);
          const { start, end } = parseTypedDay(locale, formatTypedDay(locale, instant)) ?? {};
          expect(start && end && start <= instant && instant <= end).toBe(true);
        }
      }
    },
  );

  test('a day is shown in the calendar, the zone and the digits of the language', () => {
    const instant = parseTimestamp('2026-11-26 20:30:00');
    expect([formatTypedDay('en', instant), formatTypedDay('fa', instant)]).toEqual([
      '2026-11-26',
      '۱۴۰۵/۰۹/۰۶',
    ]);
  });
});
