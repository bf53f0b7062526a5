import { LOCALES } from '@fitness/shared/kernel/i18n/translate.ts';
import { describe, expect, test } from '@jest/globals';
import english from './place-names/en.json' with { type: 'json' };
import { PLACE_NAMES, type PlaceNames } from './place-names.ts';
import { CITIES, MAJORS, STATES } from './reference-data.ts';

const KINDS = Object.keys(english) as (keyof PlaceNames)[];

/** `<kind> <id> (<English name>)` for every place without a name. */
const lacking = (names: PlaceNames): string[] =>
  KINDS.flatMap((kind) => {
    const own: Readonly<Record<string, string>> = names[kind];
    return Object.entries(english[kind])
      .filter(([id]) => (own[id] ?? '').trim() === '')
      .map(([id, name]) => `${kind} ${id} (${name})`);
  });

describe('names of places', () => {
  test.each([...LOCALES])('every state, city and major has a name in %s', (locale) => {
    const names = PLACE_NAMES.get(locale);
    expect(names && lacking(names)).toEqual([]);
  });

  test('every stored state, city and major has a name in every language', () => {
    const names = [...STATES, ...CITIES].map(({ name }) => name).concat(MAJORS.map(({ title }) => title));
    for (const name of names) expect(Object.keys(name)).toEqual([...LOCALES]);
  });
});

test('every named place is listed once, and every city has one state', () => {
  const listed = { states: STATES, cities: CITIES, majors: MAJORS };
  for (const kind of KINDS) {
    const ids = listed[kind].map(({ id }) => id).toSorted((a, b) => a - b);
    expect(ids).toEqual(Object.keys(english[kind]).map(Number));
  }
});

test('an id is never given to another place', () => {
  const at = (rows: readonly { id: number }[], id: number) => rows.find((row) => row.id === id);
  expect(at(STATES, 31)).toMatchObject({ id: 31, name: { en: 'Zanjan', fa: 'زنجان' } });
  expect(at(CITIES, 22)).toMatchObject({ id: 22, stateId: 2, name: { en: 'Karaj', fa: 'کرج' } });
  expect(at(MAJORS, 3)).toMatchObject({ id: 3, title: { en: 'CrossFit', fa: 'کراس‌فیت' } });
});
