import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { isVisible, oneLine, visibleLines } from './refinements.ts';

const line = oneLine('Title', z.string().trim().min(1).max(100));
const lines = visibleLines('Address', z.string().min(1).max(100));

const SHOWN: [what: string, text: string][] = [
  ['Persian with a half-space', 'می\u200cنا'],
  ['a joined emoji', '👨\u200d👩\u200d👧'],
  ['a flag made of tags', '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'],
  ['a flag of two letters', '🇮🇷'],
  ['a keycap', '#\ufe0f\u20e3'],
  ['a letter with a combining mark', 'e\u0301'],
  ['marks of direction', '\u200fAli\u200e'],
  ['one digit', '7'],
  ['one sign', '-'],
  ['letters of a language without case', '나'],
];

const EMPTY: [what: string, text: string][] = [
  ['a zero-width space', '\u200b'],
  ['a half-space', '\u200c'],
  ['a joiner', '\u200d'],
  ['a word joiner', '\u2060'],
  ['a byte order mark', '\ufeff'],
  ['a soft hyphen', '\u00ad'],
  ['marks of direction', '\u200e\u200f'],
  ['blank Braille', '\u2800'],
  ['a Hangul filler', '\u3164'],
  ['the other Hangul fillers', '\u115f\u1160\uffa0'],
  ['Khmer vowels without a form', '\u17b4\u17b5'],
  ['Egyptian blanks', '\u{13441}\u{13442}'],
  ['a note without a head', '\u{1d159}'],
  ['a place for an object', '\ufffc'],
  ['a variation selector', '\ufe0f'],
  ['tags', '\u{e0041}'],
  ['a mark without a letter', '\u0301'],
  ['a character of private use', '\ue000'],
  ['spaces of all kinds', '\u00a0\u2003\u3000'],
  ['several of them', '\u200b\u2800 \u3164'],
];

describe('a text of one line', () => {
  test.each(SHOWN)('a one-line text may be %s', (_what, text) => {
    expect(line.safeParse(text).success).toBe(true);
  });

  test.each(EMPTY)('a one-line text may not be just %s', (_what, text) => {
    expect(line.safeParse(text).success).toBe(false);
    expect(isVisible(text)).toBe(false);
  });

  test.each([
    ...['\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069'],
    ...['\n', '\r', '\t', '\u0000', '\u007f', '\u0085', '\u009f', '\u2028', '\u2029', '\ud800'],
  ])('a one-line text may not contain %j', (character) => {
    expect(line.safeParse(`a${character}b`).success).toBe(false);
  });

  test('an invalid one-line text is refused with a specific message', () => {
    expect(line.safeParse('\u200b').error?.issues).toEqual([
      expect.objectContaining({ code: 'custom', params: { key: 'validation.one_line' } }),
    ]);
  });
});

describe('a text of several lines', () => {
  test('a text of several lines may contain line breaks', () => {
    for (const text of ['a\nb', 'a\r\nb']) expect(lines.safeParse(text).success).toBe(true);
  });

  test.each(['\u202e', '\u2066', '\t', '\u0000', '\u0085'])(
    'a text of several lines may not contain %j',
    (character) => {
      expect(lines.safeParse(`a\n${character}b`).success).toBe(false);
    },
  );

  test.each(EMPTY)('a text of several lines may not be just %s', (_what, text) => {
    expect(lines.safeParse(`\n${text}\n`).success).toBe(false);
  });
});
