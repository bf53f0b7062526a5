/** Converts a day that a person types in the calendar of their language to a period in their time zone. */
import { SECOND_MS } from '../clock.ts';
import { CATALOGUES } from './catalogue.ts';
import type { Locale } from './translate.ts';

/** Both are inclusive whole seconds. */
export interface Period {
  start: Date;
  end: Date;
}

/** Years outside this range are typing errors or belong to another calendar. */
const EARLIEST_S = Date.UTC(1970, 0, 1) / SECOND_MS;
const LATEST_S = Date.UTC(2200, 0, 1) / SECOND_MS;

/** `2026-11-27` or `2026/11/27`, in Latin, Persian or Arabic digits. */
const DAY = /^(\d{4})([-/])(\d{1,2})\2(\d{1,2})$/;
const DIGIT = /[\u06f0-\u06f9\u0660-\u0669]/g;

/** Persian and Arabic digits are read like Latin ones. */
export const latinDigits = (text: string): string =>
  text.replace(DIGIT, (digit) => String((digit.codePointAt(0) ?? 0) % 16));

/** Year, month and day of an instant as one number that grows with time. */
type Ordinal = (second: number) => number;

const ordinalOf = (year: number, month: number, day: number): number => (year * 100 + month) * 100 + day;

const formatOf = (locale: Locale): Intl.DateTimeFormat | undefined => {
  const catalogue = CATALOGUES.get(locale);
  if (catalogue === undefined) return undefined;
  const { 'language.tag': tag, 'language.time_zone': timeZone } = catalogue;
  const { locale: language, calendar } = new Intl.DateTimeFormat(tag).resolvedOptions();
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  return new Intl.DateTimeFormat(language, { ...parts, calendar, numberingSystem: 'latn', timeZone });
};

const ordinalBy =
  (format: Intl.DateTimeFormat): Ordinal =>
  (second) => {
    const parts = format.formatToParts(second * SECOND_MS);
    const part = (type: Intl.DateTimeFormatPartTypes): number =>
      Number(parts.find((one) => one.type === type)?.value);
    return ordinalOf(part('year'), part('month'), part('day'));
  };

/** The first second whose day is `target` or later: the days of a calendar grow with time. */
const firstSecond = (ordinal: Ordinal, target: number): number => {
  let [low, high] = [EARLIEST_S, LATEST_S];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (ordinal(middle) >= target) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** Undefined for a text that is not a day in the calendar of `locale`. */
export const parseTypedDay = (locale: Locale, text: string): Period | undefined => {
  const [, year, , month, day] = DAY.exec(latinDigits(text.trim())) ?? [];
  const format = formatOf(locale);
  if (format === undefined) return undefined;
  const ordinal = ordinalBy(format);
  const target = ordinalOf(Number(year), Number(month), Number(day));
  const start = firstSecond(ordinal, target);
  if (ordinal(start) !== target) return undefined;
  const end = firstSecond(ordinal, target + 1) - 1;
  return { start: new Date(start * SECOND_MS), end: new Date(end * SECOND_MS) };
};

/** A day in the form that {@link parseTypedDay} reads: `2026-11-27` in English, `۱۴۰۵/۰۹/۰۶` in Persian. */
export const formatTypedDay = (locale: Locale, instant: Date): string => {
  const format = formatOf(locale);
  if (format === undefined) return '';
  const { calendar } = format.resolvedOptions();
  const ordinal = String(ordinalBy(format)(Math.floor(instant.getTime() / SECOND_MS)));
  const separator = calendar === 'gregory' ? '-' : '/';
  const text = [ordinal.slice(0, 4), ordinal.slice(4, 6), ordinal.slice(6)].join(separator);
  return text.replace(/\d/g, (digit) => digitsOf(locale)[Number(digit)] ?? digit);
};

const digitsOf = (locale: Locale): string[] => {
  const tag = CATALOGUES.get(locale)?.['language.tag'];
  const format = new Intl.NumberFormat(tag, { useGrouping: false });
  return Array.from({ length: 10 }, (_, digit) => format.format(digit));
};
