import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  documentGrams,
  EVERY_SEARCH,
  FOLDED_MAX,
  foldedSpellings,
  foldText,
  GRAMS_MAX,
  indexGrams,
  matchesFolded,
  queryGrams,
  textMatcher,
} from './text-search.ts';

/** Every run checks the same examples. */
const SEED = 20260115;

/** Searches in two steps: the grams select the candidates, and `matchesFolded` verifies them. */
const finds = (query: string, text: string): boolean => {
  const stored = new Set(indexGrams(text));
  return queryGrams(query).every((gram) => stored.has(gram)) && matchesFolded(text, query);
};

describe('folding makes equivalent spellings equal', () => {
  test.each([
    ['case', 'Iron GYM', 'iron gym'],
    ['accents', 'Café Crème', 'cafe creme'],
    ['the Arabic and the Persian ye', 'علي', 'علی'],
    ['the alef maksura', 'موسى', 'موسی'],
    ['the Arabic and the Persian kaf', 'كتاب', 'کتاب'],
    ['the te marbuta', 'فاطمة', 'فاطمه'],
    ['the forms of the alef', 'أإآا', 'اااا'],
    ['Arabic digits', '٠١٢٣٤٥٦٧٨٩', '0123456789'],
    ['Persian digits', '۰۱۲۳۴۵۶۷۸۹', '0123456789'],
    ['full-width digits', '１２', '12'],
    ['vowel marks', 'بَاشگاهِ', 'باشگاه'],
    ['the tatweel', 'بـــاشگاه', 'باشگاه'],
    ['presentation forms', 'ﺑﺎﺷﮕﺎﻩ', 'باشگاه'],
    ['the Urdu ye', 'چائے', 'چائی'],
    ['the Urdu ye with a hamza', 'دریاۓ', 'دریای'],
    ['the ye of Kurdish and Pashto', 'ێېۍؠ', 'یییی'],
    ['the he, the round te and the ezafe', 'ہھةۃەۂۀۿ', 'هههههههه'],
    ['the Urdu final noon', 'جہاں', 'جهان'],
    ['the waw of Kurdish', 'ۆۇ', 'وو'],
    ['the reh and the lam of Kurdish', 'ڕڵ', 'رل'],
    ['the gaf of Pashto', 'ګ', 'گ'],
    ['letters with a hamza', 'ئؤأإ', 'یواا'],
    ['the wavy alefs', 'ٲٳٱ', 'ااا'],
    ['ligatures', 'ﷲ ﻻ', 'الله لا'],
    ['the decimal sign', '۷۲٫۵', '72.5'],
    ['the thousands sign', '۱٬۰۰۰', '1,000'],
    ['the percent sign', '۵۰٪', '50%'],
    ['the full-width percent sign', '５０％', '50%'],
    ['punctuation', 'چرا؟ بله، نه؛ ۔ ٭', 'چرا? بله, نه; . *'],
    ['the final sigma', 'ΟΔΟΣ', 'οδοσ'],
    ['the sharp s', 'STRASSE', 'straße'],
    ['the Turkish i', 'İstanbul', 'istanbul'],
    ['runs of white space', ' a \t\n\u00a0 b ', 'a b'],
    ['direction marks', '\u200fباشگاه\u200e', 'باشگاه'],
  ])('folding removes the difference: %s', (_name, one, other) => {
    expect(foldText(one)).toBe(foldText(other));
  });

  test('folding keeps letters, digits and punctuation', () => {
    expect(foldText('C++ & C#, 100%')).toBe('c++ & c#, 100%');
    expect(foldText('\u200c \u064e')).toBe('');
  });

  test('folding twice changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => foldText(foldText(text)) === foldText(text)),
      { seed: SEED, numRuns: 30 },
    );
  });
});

describe('numbers are found however they are written', () => {
  test.each([
    ['72.5', 'وزن ۷۲٫۵ کیلو'],
    ['۷۲٫۵', 'weight 72.5 kg'],
    ['50%', 'تخفیف ۵۰٪ تا شنبه'],
    ['۵۰٪', '50% off'],
    ['٥٠٪', '50% off'],
    ['1,000', '۱٬۰۰۰ تومان'],
  ])('%j finds %j', (query, text) => {
    expect(finds(query, text)).toBe(true);
  });

  test('another number is not found', () => {
    expect(finds('72.5', 'وزن ۷۲۵ کیلو')).toBe(false);
    expect(finds('725', 'وزن ۷۲٫۵ کیلو')).toBe(false);
  });
});

describe('a half-space matches nothing or a space', () => {
  test.each(['می\u200cشود', 'میشود', 'می شود'])('a text with a half-space is found by %j', (query) => {
    expect(finds(query, 'گفت می\u200cشود رفت')).toBe(true);
  });

  test.each(['می\u200cشود', 'میشود', 'می شود'])('a query with a half-space finds %j', (text) => {
    expect(finds('می\u200cشود', text)).toBe(true);
  });

  test('a real space is not a half-space', () => {
    expect(finds('rapist', 'the rapist')).toBe(true);
    expect(finds('therapist', 'the rapist')).toBe(false);
  });
});

describe('grams', () => {
  test('a text is stored as its distinct substrings of one to three characters', () => {
    expect(indexGrams('ABA').toSorted()).toEqual(['a', 'ab', 'aba', 'b', 'ba']);
    expect(indexGrams('')).toEqual([]);
  });

  test('a query of one or two characters is one gram, a longer one its substrings of three', () => {
    expect(queryGrams('A')).toEqual(['a']);
    expect(queryGrams('ab')).toEqual(['ab']);
    expect(queryGrams('abcd')).toEqual(['abc', 'bcd']);
    expect(queryGrams(' \u200c ')).toEqual([]);
  });

  test('a character outside the basic plane is one character', () => {
    expect(queryGrams('💪')).toEqual(['💪']);
    expect(finds('🏋', 'Gym 💪🏋️')).toBe(true);
  });

  test('a text with all grams of the query but not the query does not match', () => {
    const text = 'abca cabc';
    expect(queryGrams('cabca').every((gram) => indexGrams(text).includes(gram))).toBe(true);
    expect(finds('cabca', text)).toBe(false);
  });

  test('characters of regular expressions are matched literally', () => {
    expect(finds('.*', 'anything')).toBe(false);
    expect(finds('a.c', 'abc')).toBe(false);
    expect(finds('(a+', 'x(a+)+$')).toBe(true);
  });

  const letters = fc.string({
    unit: fc.constantFrom(
      'a',
      'B',
      'c',
      'ي',
      'ی',
      'ك',
      'م',
      '\u200c',
      ' ',
      '۵',
      '5',
      '\u064e',
      'ß',
      'Σ',
      '💪',
    ),
    maxLength: 12,
  });

  test('every text that contains the query contains its grams', () => {
    fc.assert(
      fc.property(letters, letters, letters, (before, query, after) => {
        for (const text of [before + query + after, after + query]) {
          if (!matchesFolded(text, query)) continue;
          const stored = new Set(indexGrams(text));
          expect(queryGrams(query).filter((gram) => !stored.has(gram))).toEqual([]);
        }
      }),
      { numRuns: 500, seed: SEED },
    );
  });

  test('every substring of a text finds it', () => {
    const plain = fc.string({
      unit: fc.constantFrom('a', 'B', 'ي', 'ك', 'م', '۵', 'Z'),
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(plain, fc.nat(), fc.nat(), (text, from, length) => {
        const start = from % text.length;
        expect(finds(text.slice(start, start + 1 + (length % text.length)), text)).toBe(true);
      }),
      { seed: SEED },
    );
  });
});

describe('the grams of a document', () => {
  const distinct = (count: number): string =>
    Array.from({ length: count }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('');

  test('a document has the grams of each of its texts, and none that spans two texts', () => {
    const texts = ['می\u200cشود', 'Iron', '', 'iron 12'];
    expect(documentGrams(texts).toSorted()).toEqual([...new Set(texts.flatMap(indexGrams))].toSorted());
  });

  test('a document with more than 8,000 grams has one key and is a candidate of every search', () => {
    // A text of n different characters has 3n - 3 grams.
    const most = distinct(Math.floor(GRAMS_MAX / 3) + 1);
    expect(documentGrams([most])).toEqual(indexGrams(most));
    expect(documentGrams([most, '?', '!'])).toHaveLength(GRAMS_MAX);
    expect(documentGrams([most, '?', '!', '.'])).toEqual([EVERY_SEARCH]);
    expect(documentGrams([distinct(20_000)])).toEqual([EVERY_SEARCH]);
  });

  test('only the first 60,000 characters of a folded text have grams, which no script exceeds', () => {
    const ligature = '\ufdfa';
    expect(foldText(ligature)).toHaveLength(18);
    const text = `first ${ligature.repeat(19_990)} last`;
    expect(foldText(text)).toHaveLength(FOLDED_MAX);
    const grams = documentGrams([text]);
    expect([grams.includes('fir'), grams.includes('las')]).toEqual([true, false]);
    expect([matchesFolded(text, 'first'), matchesFolded(text, 'last')]).toEqual([true, false]);
    // Three letters for each syllable.
    const hangul = `${'\uac01'.repeat(19_996)}last`;
    expect([documentGrams([hangul]).includes('las'), matchesFolded(hangul, 'last')]).toEqual([true, true]);
    // A pair of surrogates is not cut in two.
    expect(foldText(`a${'\u{10400}'.repeat(30_000)}`).isWellFormed()).toBe(true);
  });

  test('no query has the key of documents with too many grams among its grams', () => {
    expect(queryGrams(EVERY_SEARCH)).not.toContain(EVERY_SEARCH);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (query) =>
        queryGrams(query).every((gram) => Array.from(gram).length <= 3),
      ),
      { seed: SEED },
    );
    expect(Array.from(EVERY_SEARCH).length).toBeGreaterThan(3);
  });
});

describe('folding takes linear time', () => {
  /** How texts were folded before; it takes quadratic time. */
  const oldFold = (text: string): string =>
    text
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[\p{Mn}\p{Cf}\u0640]/gu, '')
      .replace(/\s+/gu, ' ')
      .trim();
  const oldSpellings = (text: string): string[] =>
    text.includes('\u200c')
      ? [oldFold(text.replace(/\s*\u200c[\s\u200c]*/g, '\u200c')), oldFold(text.replace(/\u200c/g, ' '))]
      : [oldFold(text)];

  test('folding in linear time gives the same spellings as the earlier folding', () => {
    const common = [
      '\u200c',
      ' ',
      '\n',
      '\u00a0',
      '\u3000',
      'a',
      'Z',
      'م',
      '\u0301',
      '\u0323',
      '\ufdfa',
      '💪',
    ];
    const unit = fc.oneof(fc.constantFrom(...common), fc.string({ unit: 'grapheme', maxLength: 1 }));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 25 }), (text) => {
        // The earlier folding replaced letters by the same table.
        const expected = oldSpellings(text).map(foldText);
        expect(foldedSpellings(text)).toEqual(expected);
      }),
      { numRuns: 500, seed: SEED },
    );
  });

  /** Microseconds of CPU: the least of three runs, to exclude other work of the machine. */
  const cpuOf = (text: string): number => {
    const match = textMatcher('zzz');
    const runs = Array.from({ length: 3 }, () => {
      const start = process.cpuUsage();
      match(text);
      const { user, system } = process.cpuUsage(start);
      return user + system;
    });
    return Math.min(...runs);
  };
  /** Shorter work is not measured exactly. */
  const NOISE_US = 20_000;
  const filled = (part: string, length: number): string => part.repeat(Math.ceil(length / part.length));

  test.each<[string, (length: number) => string]>([
    ['white space beside one half-space', (length) => `\u200ca${filled(' ', length)}b`],
    ['white space and half-spaces', (length) => `${filled('\u200c    ', length)}a`],
    ['half-spaces', (length) => filled('\u200c', length)],
    ['letters, white space and half-spaces', (length) => filled('a \u200c b  ', length)],
    ['characters that become eighteen', (length) => filled('\ufdfa', length)],
    [
      'marks that normalization sorts',
      (length) => `a${filled('\u0301', length / 2)}${filled('\u0323', length / 2)}`,
    ],
    [
      'spacing marks that normalization sorts',
      (length) => `a${filled('\u302e', length / 2)}${filled('\u{16ff0}', length / 2)}`,
    ],
    ['letters that become marks', (length) => filled('\u0301\uff9e', length)],
  ])('%s: twice the length takes less than three times as long', (_name, textOf) => {
    const [once = 0, twice = 0] = [10_000, 20_000].map((length) => cpuOf(textOf(length)));
    expect(twice).toBeLessThan(3 * once + NOISE_US);
  });

  test('the cost of a search is measured in characters of the folded text', () => {
    expect(textMatcher('zzz')('abc').characters).toBe(3);
    expect(textMatcher('zzz')('\ufdfa').characters).toBe(18);
    expect(textMatcher('zzz')('a\u200cb').characters).toBe(5);
    expect(textMatcher('zzz')(' '.repeat(50)).characters).toBe(50);
  });
});
