/** Public texts. i18next does interpolation and plurals: the number `count` selects the form of a plural. */
import i18next from 'i18next';
import { parseTimestamp } from '../clock.ts';
import type { Message } from '../error.ts';
import { CATALOGUES, type Catalogue, type MessageKey, type MessageParams, PARAMETERS } from './catalogue.ts';

/** A language tag of {@link LOCALES}, e.g. `en`. */
export type Locale = string;

export const LOCALES: readonly Locale[] = [...CATALOGUES.keys()];
export const DEFAULT_LOCALE: Locale = 'en';
export const isLocale = (value: string): boolean => LOCALES.includes(value);

const instance = i18next.createInstance();
void instance.init({
  lng: DEFAULT_LOCALE,
  fallbackLng: DEFAULT_LOCALE,
  keySeparator: false,
  nsSeparator: false,
  initAsync: false,
  showSupportNotice: false,
  // Responses are JSON; clients escape for HTML.
  interpolation: { escapeValue: false, prefix: '{', suffix: '}' },
  resources: Object.fromEntries([...CATALOGUES].map(([locale, texts]) => [locale, { translation: texts }])),
} as Parameters<typeof instance.init>[0]);

interface Formats {
  number: Intl.NumberFormat;
  list: Intl.ListFormat;
  series: Intl.ListFormat;
  /** A calendar day, which is independent of time zones. */
  day: Intl.DateTimeFormat;
  date: Intl.DateTimeFormat;
  time: Intl.DateTimeFormat;
  weekday: Intl.DateTimeFormat;
  language: Intl.DisplayNames;
}

const formatsOf = (catalogue: Catalogue): Formats => {
  const tag = catalogue['language.tag'];
  const timeZone = catalogue['language.time_zone'];
  const day = { day: 'numeric', month: 'long', year: 'numeric' } as const;
  return {
    number: new Intl.NumberFormat(tag),
    list: new Intl.ListFormat(tag),
    series: new Intl.ListFormat(tag, { type: 'unit', style: 'short' }),
    day: new Intl.DateTimeFormat(tag, { ...day, timeZone: 'UTC' }),
    date: new Intl.DateTimeFormat(tag, { ...day, timeZone }),
    time: new Intl.DateTimeFormat(tag, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone }),
    weekday: new Intl.DateTimeFormat(tag, { weekday: 'long', timeZone: 'UTC' }),
    language: new Intl.DisplayNames(tag, { type: 'language' }),
  };
};

const FORMATS: ReadonlyMap<Locale, Formats> = new Map(
  [...CATALOGUES].map(([locale, catalogue]) => [locale, formatsOf(catalogue)]),
);
const formats = (locale: Locale): Formats => FORMATS.get(locale) ?? (FORMATS.get(DEFAULT_LOCALE) as Formats);

/** `1,250,000` in English, `۱٬۲۵۰٬۰۰۰` in Persian. */
export const formatNumber = (locale: Locale, value: number): string => formats(locale).number.format(value);

/**
 * The id of a record in Latin digits, which people copy and search for. A right-to-left text isolates it, as it isolates a name in
 * Latin letters.
 */
const formatId = (locale: Locale, id: number): string =>
  translate(locale, 'language.direction') === 'rtl' ? `\u2068${id}\u2069` : String(id);

/** The time of day in the time zone of the language: `00:00` in English, `۰۳:۳۰` in Persian. */
export const formatTime = (locale: Locale, instant: Date): string => formats(locale).time.format(instant);

/** {@link formatTime} of today or yesterday, with the word for the day: `yesterday 05:30`. */
export const formatRecentTime = (locale: Locale, instant: Date, now: Date): string => {
  const { date } = formats(locale);
  const isToday = date.format(instant) === date.format(now);
  return translate(locale, isToday ? 'language.today' : 'language.yesterday', {
    time: formatTime(locale, instant),
  });
};

/** `January 15, 2026 at 00:00 UTC` in English, `۲۵ دی ۱۴۰۴ ساعت ۰۳:۳۰ به وقت تهران` in Persian. */
export const formatInstant = (locale: Locale, instant: Date): string => {
  const { date, time } = formats(locale);
  return translate(locale, 'language.instant', { date: date.format(instant), time: time.format(instant) });
};

/** {@link formatInstant} in two parts: the date, and the time with its zone. A line may break only between them. */
export const instantParts = (locale: Locale, instant: Date): [date: string, time: string] => {
  const { date, time } = formats(locale);
  const withoutDate = translate(locale, 'language.instant', { date: '', time: time.format(instant) });
  return [date.format(instant), withoutDate.trim()];
};

/** `Member and Operator` in English. */
export const formatList = (locale: Locale, texts: readonly string[]): string =>
  formats(locale).list.format(texts);

/** `Android, Persian` in English, `Android، فارسی` in Persian. */
export const formatSeries = (locale: Locale, texts: readonly string[]): string =>
  formats(locale).series.format(texts);

const DAY = /^\d{4}-\d\d-\d\d$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

/** `YYYY-MM-DD` as `December 31, 1999` in English, `۱۰ دی ۱۳۷۸` in Persian. Any other text is returned unchanged. */
export const formatDay = (locale: Locale, text: string): string =>
  DAY.test(text) ? formats(locale).day.format(new Date(text)) : text;

/** {@link formatInstant} for a timestamp of the API, `YYYY-MM-DD HH:MM:SS` in UTC. Any other text is returned unchanged. */
export const formatTimestampIn = (locale: Locale, text: string): string =>
  TIMESTAMP.test(text) ? formatInstant(locale, parseTimestamp(text)) : text;

/** The name of a language, such as `fa`: `Persian` in English, `فارسی` in Persian. */
export const formatLanguage = (locale: Locale, tag: string): string =>
  formats(locale).language.of(tag) ?? tag;

/** The name of a weekday; 0 is Sunday. */
export const formatWeekday = (locale: Locale, day: number): string =>
  formats(locale).weekday.format(new Date(Date.UTC(2026, 0, 4 + day)));

/** Stored data that does not have the format of its parameter is written unchanged. */
const formatParameter = (locale: Locale, name: string, value: string | number): string => {
  const kind = Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name as keyof typeof PARAMETERS] : 'verbatim';
  if (typeof value === 'number') {
    if (kind === 'id') return formatId(locale, value);
    return kind === 'number' ? formatNumber(locale, value) : String(value);
  }
  if (kind === 'instant') return formatTimestampIn(locale, value);
  return kind === 'day' ? formatDay(locale, value) : value;
};

/** The text of `key` in `locale`; the catalogue marks parameters as `{name}`, and {@link PARAMETERS} says how each is written. */
export const translate = (locale: Locale, key: MessageKey, params: MessageParams = {}): string => {
  const replace = Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, formatParameter(locale, name, value)]],
    ),
  );
  const { count } = params;
  return instance.t(key, { lng: locale, replace, ...(count === undefined ? {} : { count }) });
};

export type Translate = (text: Message) => string;
export type Translator = Translate & { readonly locale: Locale };

/** {@link translate} for one language. */
export const translator = (locale: Locale): Translator =>
  Object.assign((text: Message) => translate(locale, text.key, text.params), { locale });
