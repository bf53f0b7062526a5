import { describe, expect, test } from '@jest/globals';
import { message } from '../error.ts';
import type { Catalogue, MessageKey } from './catalogue.ts';
import { catalogue as en } from './catalogues/en.ts';
import { negotiateLocale } from './negotiate.ts';
import { CATALOGUES, LOCALES, translate, translator } from './translate.ts';

const keys = Object.keys(en) as (keyof Catalogue)[];
const plurals = keys.filter((key) => key.endsWith('_other')).map((key) => key.replace(/_other$/, ''));
const isForm = (key: string): boolean => plurals.some((plural) => key.startsWith(`${plural}_`));
const messages = [...keys.filter((key) => !isForm(key)), ...plurals] as MessageKey[];
const parametersOf = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '').sort();

describe('every text', () => {
  describe.each([...CATALOGUES])('in %s', (locale, texts) => {
    test.each(keys)('%s is there, with the same parameters', (key) => {
      expect(texts[key]?.trim()).not.toBe('');
      expect(parametersOf(texts[key] ?? '')).toEqual(parametersOf(en[key as keyof typeof en]));
    });

    test('has no text that English lacks', () => {
      const others = Object.keys(texts).filter((key) => !isForm(key));
      expect(others.sort()).toEqual(keys.filter((key) => !isForm(key)).sort());
    });

    test.each(plurals)('%s has every form that the language needs', (plural) => {
      const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions();
      expect(Object.keys(texts)).toEqual(
        expect.arrayContaining(pluralCategories.map((form) => `${plural}_${form}`)),
      );
    });

    test('has a direction of writing', () => {
      expect(['ltr', 'rtl']).toContain(texts['language.direction']);
    });
  });

  test('is in Persian letters in the Persian catalogue', () => {
    const texts = CATALOGUES.get('fa');
    expect(texts?.['language.direction']).toBe('rtl');
    for (const key of keys.filter((name) => name !== 'language.direction')) {
      expect(texts?.[key]).toMatch(/\p{Script=Arabic}/u);
    }
  });

  test('is there in English and Persian', () => {
    expect(LOCALES).toEqual(expect.arrayContaining(['en', 'fa']));
  });

  test('comes out with all parameters filled in', () => {
    const names = [...new Set(Object.values(en).flatMap(parametersOf))].filter((name) => name !== 'count');
    const texts = Object.fromEntries(names.map((name) => [name, `<${name}>`]));
    for (const [locale, catalogue] of CATALOGUES) {
      for (const key of messages) {
        const used = parametersOf(
          catalogue[key as keyof Catalogue] ?? catalogue[`${key}_other` as keyof Catalogue] ?? '',
        );
        for (const count of [1, 3]) {
          const text = translate(locale, key, { ...texts, count });
          const shown = { ...texts, count: count.toLocaleString(locale) };
          for (const name of used) expect(text).toContain(shown[name as keyof typeof shown]);
          expect(text).not.toMatch(/[{}]/);
          expect(text).not.toBe(key);
        }
      }
    }
  });

  test.each([
    ['en', 1, 'You own 1 gym. Transfer or delete it first.'],
    ['en', 3, 'You own 3 gyms. Transfer or delete them first.'],
    ['fa', 1, 'شما مالک ۱ باشگاه هستید. ابتدا آن را واگذار یا حذف کنید.'],
    ['fa', 3, 'شما مالک ۳ باشگاه هستید. ابتدا آن‌ها را واگذار یا حذف کنید.'],
  ])('in %s has its own form for the count %d', (locale, count, text) => {
    expect(translate(locale, 'blocker.gym_ownership', { count })).toBe(text);
  });

  test.each([
    ['en', 1_250_000, '1,250,000 Tooman'],
    ['fa', 1_250_000, '۱٬۲۵۰٬۰۰۰ تومان'],
    ['en', '1250000', '1250000 Tooman'],
  ])('in %s writes %j as the language does, and strings as they are', (locale, amount, text) => {
    expect(translate(locale, 'ops.tooman', { amount })).toBe(text);
  });

  test('takes parameters as they are: no escaping, no second filling-in', () => {
    const t = translator('en');
    expect(t(message('validation.one_of', { values: `<a>&"{min}$t(error.internal)` }))).toBe(
      'This field must be one of: <a>&"{min}$t(error.internal).',
    );
    expect(t(message('blocker.gym_ownership', { count: 0 }))).toContain('0');
  });
});

describe('the language of an answer', () => {
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
  ])('for %p is %s', (header, locale) => {
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
  ])('for a header that makes no sense is one of ours', (header) => {
    expect(LOCALES).toContain(negotiateLocale(header));
  });
});
