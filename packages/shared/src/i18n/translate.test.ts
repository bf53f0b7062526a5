import { describe, expect, test } from '@jest/globals';
import { BLOCKERS, blockerMessageKey } from '../blocker-catalogue.ts';
import { message } from '../error.ts';
import type { MessageKey } from './catalogue.ts';
import { en } from './catalogues/en.ts';
import { fa } from './catalogues/fa.ts';
import { negotiateLocale } from './negotiate.ts';
import { LOCALES, translate, translator } from './translate.ts';

const keys = Object.keys(en) as MessageKey[];
const parametersOf = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '').sort();

describe('every text', () => {
  test.each(keys)('%s is there in every language, with the same parameters', (key) => {
    expect(fa[key].trim()).not.toBe('');
    expect(en[key].trim()).not.toBe('');
    expect(parametersOf(fa[key])).toEqual(parametersOf(en[key]));
    expect(fa[key]).toMatch(/\p{Script=Arabic}/u);
  });

  test('no language has a text that the others lack', () => {
    expect(Object.keys(fa).sort()).toEqual([...keys].sort());
    expect(LOCALES).toEqual(['en', 'fa']);
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

  test('exists for each blocker, with the extras of its body as parameters', () => {
    for (const { code, extras } of BLOCKERS) {
      expect(parametersOf(en[blockerMessageKey(code)])).toEqual(Object.keys(extras.shape).sort());
    }
  });
});

describe('the language of an answer', () => {
  test.each([
    [undefined, 'en'],
    ['', 'en'],
    ['fa', 'fa'],
    ['FA', 'fa'],
    ['fa-IR', 'fa'],
    ['en-GB', 'en'],
    ['fa, en', 'fa'],
    ['en, fa', 'en'],
    ['fa;q=0.8, en;q=0.9', 'en'],
    ['fa;q=0.9, en;q=0.8', 'fa'],
    ['de, fa-IR;q=0.9, en;q=0.5', 'fa'],
    ['de-DE, de;q=0.9', 'en'],
    ['*', 'en'],
    ['de, *;q=0.5', 'en'],
    ['fa, *;q=0.5', 'fa'],
    ['fa;q=0.5, *', 'en'],
    ['fa;q=0', 'en'],
    ['fa;q=0, *', 'en'],
    ['en;q=0, fa', 'fa'],
    ['en;q=0, *', 'fa'],
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
