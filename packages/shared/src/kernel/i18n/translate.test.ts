import { describe, expect, test } from '@jest/globals';
import { message } from '../error.ts';
import type { MessageKey } from './catalogue.ts';
import { catalogue as en } from './catalogues/en.ts';
import { negotiateLocale } from './negotiate.ts';
import { CATALOGUES, LOCALES, translate, translator } from './translate.ts';

const keys = Object.keys(en) as MessageKey[];
const parametersOf = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '').sort();

describe('every text', () => {
  describe.each([...CATALOGUES])('in %s', (_locale, texts) => {
    test.each(keys)('%s is there, with the same parameters', (key) => {
      expect(texts[key].trim()).not.toBe('');
      expect(parametersOf(texts[key])).toEqual(parametersOf(en[key]));
    });

    test('has no text that English lacks', () => {
      expect(Object.keys(texts).sort()).toEqual([...keys].sort());
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
    for (const locale of LOCALES) {
      for (const key of keys) {
        const params = Object.fromEntries(parametersOf(en[key]).map((name) => [name, `<${name}>`]));
        const text = translate(locale, key, params);
        for (const value of Object.values(params)) expect(text).toContain(value);
        expect(text).not.toMatch(/[{}]/);
      }
    }
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
