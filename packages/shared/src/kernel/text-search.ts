/**
 * Substring search by n-grams, without a collection scan. A document stores the grams (substrings of one to three
 * characters) of its folded text in an array with a multikey index; candidates for a query contain all grams of the
 * folded query. Candidates may be wrong ("abcab" contains every gram of "cabc"): verify them by `matchesFolded`.
 *
 * Every gram is an index key. No text of a natural language has more than `GRAMS_MAX` of them. A document with more stores
 * `EVERY_SEARCH` instead and is a candidate of every search, so no match is missed.
 *
 * Folding removes differences of spelling:
 * - upper and lower case, presentation forms, diacritics, tatweel and repeated white space;
 * - the forms of a letter on Persian, Arabic, Urdu, Kurdish and Pashto keyboards;
 * - Arabic, Persian and Latin digits and signs (`۷۲٫۵` is `72.5`);
 * - the half-space (ZWNJ). People write it as nothing or as a space. A text with a half-space is found by all three spellings,
 *   and a query with one finds all three.
 */

const GRAM_LENGTH_MAX = 3;
/** 20,000 characters of English or Persian have 3,000 to 6,000. */
export const GRAMS_MAX = 8_000;
/** Longer than a gram, so that no query contains it. */
export const EVERY_SEARCH = 'every search';
/**
 * Maximum length of a folded text. No script exceeds it with the longest text, 20,000 characters: a syllable of Hangul becomes
 * three. A character such as U+FDFA becomes 18, and a text of it alone would cost many times as much as any other. Text beyond
 * this length is not found.
 */
export const FOLDED_MAX = 60_000;
const HALF_SPACE = /\u200c/g;
// A pattern such as /\s*\u200c/ takes quadratic time for white space without a half-space after it.
const HALF_SPACES_OR_SPACE = /[\s\u200c]+/g;

/**
 * Name of the upgrade that recomputes stored grams and folded texts (docs/adr/0014). It changes with every change of the
 * folding.
 */
export const FOLDING_UPGRADE = 'search folding of 1.1.0';

/** Letters of a Persian keyboard with their variants on other keyboards, except variants that NFKD decomposes. */
const LETTERS: Readonly<Record<string, string>> = {
  ی: 'يىےېۍێؠ',
  ک: 'كڪ',
  گ: 'ګ',
  ه: 'ةەہھۃۿ',
  ا: 'ٱٲٳ',
  و: 'ۆۇ',
  ن: 'ں',
  ر: 'ڕ',
  ل: 'ڵ',
};

/** Signs in numbers and sentences, with their equivalents on a Latin keyboard. */
const SIGNS: Readonly<Record<string, string>> = {
  '\u066b': '.',
  '\u066c': ',',
  '\u066a': '%',
  '\u060c': ',',
  '\u061b': ';',
  '\u061f': '?',
  '\u06d4': '.',
  '\u066d': '*',
};

const REPLACEMENTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(LETTERS).flatMap(([letter, others]) => Array.from(others, (other) => [other, letter])),
  ),
  ...SIGNS,
  ς: 'σ',
  ß: 'ss',
  ı: 'i',
};
const REPLACED = new RegExp(`[${Object.keys(REPLACEMENTS).join('')}]`, 'gu');
const ARABIC_DIGITS = /[\u0660-\u0669\u06f0-\u06f9]/g;
// Diacritics, the tatweel, and invisible characters (ZWNJ, ZWJ, direction marks, BOM).
const INVISIBLE = /[\p{Mn}\p{Cf}\u0640]/gu;
/** Characters that normalization may reorder: marks, and characters that decompose to a mark. */
const REORDERED = /[\p{M}\uff9e\uff9f]{30}/gu;
/** Separates runs of {@link REORDERED}: normalization reorders no characters across it, and folding removes it. */
const GRAPHEME_JOINER = '\u034f';

const codePointsOf = (text: string): readonly string[] => Array.from(text);

const HIGH_SURROGATE = /[\ud800-\udbff]/;

const cut = (text: string): string => {
  if (text.length <= FOLDED_MAX) return text;
  return text.slice(0, HIGH_SURROGATE.test(text.charAt(FOLDED_MAX - 1)) ? FOLDED_MAX - 1 : FOLDED_MAX);
};

/**
 * The form in which texts are compared, {@link FOLDED_MAX} long at most. Folding is idempotent; half-spaces are removed.
 * @returns the folded text; '' for a text of white space and diacritics only
 */
export const foldText = (text: string): string =>
  // Runs are split as in Unicode's stream-safe text format (UAX 15), because sorting a run of marks takes quadratic time.
  cut(text.replace(REORDERED, `$&${GRAPHEME_JOINER}`).normalize('NFKD'))
    .toLowerCase()
    .replace(INVISIBLE, '')
    .replace(REPLACED, (letter) => REPLACEMENTS[letter] ?? letter)
    .replace(ARABIC_DIGITS, (digit) => String(digit.charCodeAt(0) & 0xf))
    .replace(/\s+/gu, ' ')
    .trim();

const withoutSpaceAtHalfSpaces = (text: string): string =>
  text.replace(HALF_SPACES_OR_SPACE, (run) => (run.includes('\u200c') ? '\u200c' : run));

/**
 * The folded spellings of a text: one, or two if it contains a half-space. A query matches a text if one of its
 * spellings is a substring of one of the text's (see `matchesFolded`).
 */
export const foldedSpellings = (text: string): readonly string[] =>
  text.includes('\u200c')
    ? [foldText(withoutSpaceAtHalfSpaces(text)), foldText(text.replace(HALF_SPACE, ' '))]
    : [foldText(text)];

const addGrams = (
  grams: Set<string>,
  folded: string,
  lengthMin: number,
  lengthMax: number,
  limit = Number.POSITIVE_INFINITY,
): void => {
  const points = codePointsOf(folded);
  for (let length = lengthMin; length <= lengthMax; length += 1) {
    for (let start = 0; start + length <= points.length; start += 1) {
      grams.add(points.slice(start, start + length).join(''));
      if (grams.size > limit) return;
    }
  }
};

/**
 * The grams of a text: all distinct substrings of one to three characters of its folded form; [] for a text that folds to
 * ''. Their number is not limited: for texts of any length a document stores `documentGrams` instead.
 */
export const indexGrams = (text: string): string[] => {
  const grams = new Set<string>();
  for (const spelling of foldedSpellings(text)) {
    addGrams(grams, spelling, 1, GRAM_LENGTH_MAX);
  }
  return [...grams];
};

/**
 * The grams to store with a document: the grams of each searched text, so no match spans two texts, or
 * `EVERY_SEARCH` alone if there are more than `GRAMS_MAX`.
 */
export const documentGrams = (texts: readonly string[]): string[] => {
  const grams = new Set<string>();
  for (const spelling of texts.flatMap(foldedSpellings)) {
    addGrams(grams, spelling, 1, GRAM_LENGTH_MAX, GRAMS_MAX);
    if (grams.size > GRAMS_MAX) return [EVERY_SEARCH];
  }
  return [...grams];
};

/**
 * The grams that a candidate must contain: the query itself if it has one to three characters, else every substring of
 * three. A half-space in the query matches nothing or a space, so no gram spans it.
 * @returns distinct grams; [] for a query that folds to ''
 */
export const queryGrams = (query: string): string[] => {
  const grams = new Set<string>();
  for (const part of query.split('\u200c')) {
    const folded = foldText(part);
    const length = Math.min(codePointsOf(folded).length, GRAM_LENGTH_MAX);
    if (length > 0) {
      addGrams(grams, folded, length, length);
    }
  }
  return [...grams];
};

export interface TextMatch {
  isMatch: boolean;
  /** The cost of the search: the length of the text or of its folded form (one character may fold to eighteen). */
  characters: number;
}

/**
 * Folds the query once and returns a function that searches unfolded texts for it. `spellings`: the folded spellings of the
 * text, if they are known already.
 */
export const textMatcher = (query: string): ((text: string, spellings?: readonly string[]) => TextMatch) => {
  const querySpellings = foldedSpellings(query);
  return (text, spellings = foldedSpellings(text)) => {
    return {
      isMatch: spellings.some((spelling) => querySpellings.some((part) => spelling.includes(part))),
      characters: Math.max(text.length, foldedLength(spellings)),
    };
  };
};

const foldedLength = (spellings: readonly string[]): number =>
  spellings.reduce((sum, { length }) => sum + length, 0);

/**
 * Whether the folded text contains the folded query.
 * @param text not folded: a folded text has lost its half-spaces
 * @param query not folded; one that folds to '' matches every text
 */
export const matchesFolded = (text: string, query: string): boolean => textMatcher(query)(text).isMatch;

/** Whether a query restricts the result: it is present and does not fold to ''. */
export const hasSearchTerms = (query: string | undefined): query is string =>
  query !== undefined && queryGrams(query).length > 0;
