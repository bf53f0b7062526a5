import { describe, expect, test } from '@jest/globals';
import { parseTimestamp } from '../clock.ts';
import { message } from '../error.ts';
import { CATALOGUES, type Catalogue, type MessageKey, type MessageParams, PARAMETERS } from './catalogue.ts';
import en from './catalogues/en.json' with { type: 'json' };
import { negotiateLocale } from './negotiate.ts';
import { formatInstant, formatList, formatRecentTime, LOCALES, translate, translator } from './translate.ts';

const keys = Object.keys(en) as (keyof Catalogue)[];
const plurals = keys.filter((key) => key.endsWith('_other')).map((key) => key.replace(/_other$/, ''));
const isForm = (key: string): boolean => plurals.some((plural) => key.startsWith(`${plural}_`));
const messages = [...keys.filter((key) => !isForm(key)), ...plurals] as MessageKey[];
/** Settings of a language for `Intl` and pages, which are not texts. */
const SETTINGS = ['language.direction', 'language.id', 'language.tag', 'language.time_zone'];
const parametersOf = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '').sort();

const parametersIn = (key: MessageKey): (keyof typeof PARAMETERS)[] =>
  parametersOf(
    en[key as keyof typeof en] ?? en[`${key}_other` as keyof typeof en],
  ) as (keyof typeof PARAMETERS)[];

const kindOf = (name: keyof typeof PARAMETERS): string => (name === 'count' ? 'count' : PARAMETERS[name]);
const sampleParams = (count: number): MessageParams => {
  const values = {
    number: 9_876,
    id: 1_250,
    instant: '2026-01-15 20:29:59',
    day: '1999-12-31',
    verbatim: '<as it is>',
  };
  const params = Object.entries(PARAMETERS).map(([name, kind]) => [name, values[kind]]);
  return { ...Object.fromEntries(params), count };
};
const samplesOf = (locale: string, count: number): Record<string, string> => ({
  count: locale === 'fa' ? (count === 1 ? '۱' : '۳٬۰۰۰') : count.toLocaleString('en'),
  number: locale === 'fa' ? '۹٬۸۷۶' : '9,876',
  id: locale === 'fa' ? '\u20681250\u2069' : '1250',
  instant: locale === 'fa' ? '۲۵ دی ۱۴۰۴ ساعت ۲۳:۵۹ به وقت تهران' : 'January 15, 2026 at 20:29 UTC',
  day: locale === 'fa' ? '۱۰ دی ۱۳۷۸' : 'December 31, 1999',
  verbatim: '<as it is>',
});

describe('every text', () => {
  describe.each([...CATALOGUES])('in %s', (locale, texts) => {
    test.each(keys)('%s exists, with the parameters of the English text', (key) => {
      expect(texts[key]?.trim()).not.toBe('');
      expect(parametersOf(texts[key] ?? '')).toEqual(parametersOf(en[key as keyof typeof en]));
    });

    test('no text marks code, because people read it as it is', () => {
      const marked = Object.entries(texts).filter(([, text]) => text.includes('`'));
      expect(marked.map(([key]) => key)).toEqual([]);
    });

    test('a catalogue has no text that English lacks', () => {
      const others = Object.keys(texts).filter((key) => !isForm(key));
      expect(others.sort()).toEqual(keys.filter((key) => !isForm(key)).sort());
    });

    test.each(plurals)('%s has every form that the language needs', (plural) => {
      const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions();
      expect(Object.keys(texts)).toEqual(
        expect.arrayContaining(pluralCategories.map((form) => `${plural}_${form}`)),
      );
    });

    test('a catalogue declares the direction of its writing', () => {
      expect(['ltr', 'rtl']).toContain(texts['language.direction']);
    });
  });

  test('every text of the Persian catalogue is in Persian letters', () => {
    const texts = CATALOGUES.get('fa');
    expect(texts?.['language.direction']).toBe('rtl');
    for (const key of keys.filter((name) => !SETTINGS.includes(name))) {
      expect(texts?.[key]).toMatch(/\p{Script=Arabic}/u);
    }
  });

  test('English and Persian are supported', () => {
    expect(LOCALES).toEqual(expect.arrayContaining(['en', 'fa']));
  });

  test('every parameter of a text is declared with its format, and no other', () => {
    const used = new Set(Object.values(en).flatMap(parametersOf));
    expect([...used].sort()).toEqual(Object.keys(PARAMETERS).sort());
  });

  test('every text is translated with all parameters filled in, each in the format of its kind', () => {
    for (const locale of LOCALES) {
      for (const key of messages) {
        for (const count of [1, 3_000]) {
          const text = translate(locale, key, sampleParams(count));
          for (const name of parametersIn(key))
            expect(text).toContain(samplesOf(locale, count)[kindOf(name)]);
          expect(text).not.toMatch(/[{}]/);
          expect(text).not.toBe(key);
        }
      }
    }
  });

  test('a Persian text has no Latin digits except in names and isolated ids', () => {
    const names =
      /\u2068\d+\u2069|MP4|UTF-8|\bHTTP 422\b|\b422\b|\((?:20[012]|409|422)\)|CloudEvents 1\.0|AsyncAPI 3|`[^`]*`/g;
    for (const key of messages.filter((name) => !SETTINGS.includes(name))) {
      for (const count of [1, 3_000]) {
        const text = translate('fa', key, sampleParams(count));
        expect([key, text.replaceAll(names, '').match(/[0-9٠-٩].*/)]).toEqual([key, null]);
      }
    }
  });

  test.each([
    ['en', 'January 15, 2026 at 20:29 UTC', 'January 15, 2026'],
    ['fa', '۲۵ دی ۱۴۰۴ ساعت ۲۳:۵۹ به وقت تهران', '۲۵ دی ۱۴۰۴'],
  ])(
    'a text in %s shows instants and days in words, in the calendar and zone of the language',
    (locale, instant, day) => {
      const expires_at = '2026-01-15 20:29:59';
      expect(formatInstant(locale, parseTimestamp(expires_at))).toBe(instant);
      expect(translate(locale, 'blocker.active_premium', { expires_at })).toContain(instant);
      expect(translate(locale, 'validation.date_too_early', { earliest: '2026-01-15' })).toContain(day);
    },
  );

  test('a Persian text shows the day of Tehran, which begins before the UTC day', () => {
    expect(formatInstant('fa', parseTimestamp('2026-03-20 20:29:00'))).toMatch(/^۲۹ اسفند ۱۴۰۴ ساعت ۲۳:۵۹ /);
    expect(formatInstant('fa', parseTimestamp('2026-03-20 20:30:00'))).toMatch(/^۱ فروردین ۱۴۰۵ ساعت ۰۰:۰۰ /);
  });

  test.each(['', 'soon', '2026-01-15T00:00:00Z'])(
    'a stored %j is shown unchanged where a timestamp is expected',
    (stored) => {
      expect(translate('fa', 'blocker.active_premium', { expires_at: stored })).toBe(
        `اشتراک ویژهٔ شما تا ${stored} فعال است.`,
      );
    },
  );

  test('an unsupported language falls back to English, with English numbers and dates', () => {
    expect(translate('xx', 'blocker.unsettled_balance', { balance: 5_000 })).toContain('5,000 Tooman');
    expect(formatInstant('xx', parseTimestamp('2026-01-15 00:00:00'))).toBe('January 15, 2026 at 00:00 UTC');
  });

  test.each([
    ['en', 1, 'You own 1 gym. Transfer or delete it first.'],
    ['en', 3, 'You own 3 gyms. Transfer or delete them first.'],
    ['fa', 1, 'شما مالک ۱ باشگاه هستید. ابتدا آن را واگذار یا حذف کنید.'],
    ['fa', 3, 'شما مالک ۳ باشگاه هستید. ابتدا آن‌ها را واگذار یا حذف کنید.'],
  ])('a text in %s has its own plural form for the count %d', (locale, count, text) => {
    expect(translate(locale, 'blocker.gym_ownership', { count })).toBe(text);
  });

  test.each([
    ['en', 1_250_000, '1,250,000 Tooman'],
    ['fa', 1_250_000, '۱٬۲۵۰٬۰۰۰ تومان'],
    ['fa', -5_000, '\u200e−۵٬۰۰۰ تومان'],
  ])('a text in %s writes the amount %j as the language does', (locale, amount, text) => {
    expect(translate(locale, 'ops.tooman', { amount })).toBe(text);
  });

  test.each([
    ['en', ['Member'], 'Member'],
    ['en', ['Member', 'Operator'], 'Member and Operator'],
    ['fa', ['عضو', 'اپراتور', 'مدیر سیستم'], 'عضو،‏ اپراتور، و مدیر سیستم'],
  ])('a text in %s writes a list as the language does', (locale, texts, list) => {
    expect(formatList(locale, texts).replaceAll('\u200f', '')).toBe(list.replaceAll('\u200f', ''));
  });

  test('parameters are inserted unchanged, without escaping or nested interpolation', () => {
    const t = translator('en');
    expect(t(message('validation.one_of', { values: `<a>&"{min}$t(error.internal)` }))).toBe(
      'This field must be one of: <a>&"{min}$t(error.internal).',
    );
    expect(t(message('blocker.gym_ownership', { count: 0 }))).toContain('0');
  });
});

describe('the language of a response', () => {
  test.each([
    [undefined, 'en'],
    ['', 'en'],
    ['fa', 'fa'],
    ['FA', 'fa'],
    ['fa-IR', 'fa'],
    ['fa_IR', 'fa'],
    ['FA_ir, en;q=0.8', 'fa'],
    ['fa_IR.UTF-8', 'fa'],
    ['en_US, fa_IR;q=0.9', 'en'],
    ['en-GB', 'en'],
    ['fa, en', 'fa'],
    ['en, fa', 'en'],
    ['fa;q=0.8, en;q=0.9', 'en'],
    ['fa;q=0.9, en;q=0.8', 'fa'],
    ['xx, fa-IR;q=0.9, en;q=0.5', 'fa'],
    ['xx-XX, xx;q=0.9', 'en'],
    ['*', 'en'],
    ['xx, *;q=0.5', 'en'],
    ['fa, *;q=0.5', 'fa'],
    ['fa;q=0.5, *', 'en'],
    ['fa;q=0', 'en'],
    ['fa;q=0, *', 'en'],
    ['en;q=0, fa', 'fa'],
    ['en;q=0, *', LOCALES.find((locale) => locale !== 'en')],
    ['  fa  ;  q=0.3  ', 'fa'],
  ])('the language for the header %p is %s', (header, locale) => {
    expect(negotiateLocale(header)).toBe(locale);
  });

  test.each([
    ';;;,,,',
    'q=1',
    'fa;q=abc, en',
    '-fa-',
    '__proto__',
    'constructor, toString',
    '\u0000\u0001',
    '*;q=0',
    'x'.repeat(8_000),
    ','.repeat(8_000),
    `${'a-'.repeat(2_000)},fa;q=`,
  ])('a malformed header still selects a supported language', (header) => {
    expect(LOCALES).toContain(negotiateLocale(header));
  });
});

test.each([
  ['en', '2026-01-14T23:30:00Z', 'yesterday 23:30'],
  ['en', '2026-01-15T00:00:00Z', 'today 00:00'],
  // 20:30 UTC is midnight in Tehran.
  ['fa', '2026-01-14T20:29:00Z', 'دیروز ۲۳:۵۹'],
  ['fa', '2026-01-14T20:30:00Z', 'امروز ۰۰:۰۰'],
])('a recent time in %s has the day of the time zone of its language', (locale, instant, text) => {
  expect(formatRecentTime(locale, new Date(instant), new Date('2026-01-15T10:00:00Z'))).toBe(text);
});
