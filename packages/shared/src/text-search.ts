/**
 * Substring search without a regular expression and without a collection scan: a document keeps the grams (runs of one
 * to three characters) of its folded text in an array with a multikey index, and a query is answered by the documents
 * that hold all grams of the folded query. Grams only narrow the candidates down ("abcab" holds every gram of "cabc"
 * but not the text itself), so whoever must be exact verifies the candidates with `matchesFolded`.
 *
 * Folding makes equal what a reader takes for the same: upper and lower case, Arabic and Persian forms of a letter,
 * Arabic, Persian and Latin digits, full and presentation forms, vowel marks and other diacritics, the stretch of a
 * word (tatweel), runs of white space, and the half-space (ZWNJ). A half-space is written by one person as nothing and
 * by the next as a space, so a text with one is found by all three spellings, and a query with one finds all three.
 */

const GRAM_LENGTH_MAX = 3;
const HALF_SPACE = /\u200c/g;
const HALF_SPACES_AND_AROUND = /\s*\u200c[\s\u200c]*/g;

const REPLACEMENTS: Readonly<Record<string, string>> = {
  ي: 'ی',
  ى: 'ی',
  ك: 'ک',
  ڪ: 'ک',
  ة: 'ه',
  ە: 'ه',
  ہ: 'ه',
  ھ: 'ه',
  ٱ: 'ا',
  ς: 'σ',
  ß: 'ss',
  ı: 'i',
};
const REPLACED = new RegExp(`[${Object.keys(REPLACEMENTS).join('')}]`, 'gu');
const ARABIC_DIGITS = /[\u0660-\u0669\u06f0-\u06f9]/g;
// Marks that stand on a letter, the tatweel, and characters that are not seen at all (ZWNJ, ZWJ, direction marks, BOM).
const UNSEEN = /[\p{Mn}\p{Cf}\u0640]/gu;

const codePointsOf = (text: string): readonly string[] => Array.from(text);

/**
 * The form of a text that is compared. Folding twice changes nothing; half-spaces are dropped.
 * @returns the folded text, '' for a text of white space and marks alone
 */
export const foldText = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(UNSEEN, '')
    .replace(REPLACED, (letter) => REPLACEMENTS[letter] ?? letter)
    .replace(ARABIC_DIGITS, (digit) => String(digit.charCodeAt(0) & 0xf))
    .replace(/\s+/gu, ' ')
    .trim();

/**
 * The folded spellings under which a text is found: one, or two when it holds a half-space. A query matches a text when
 * one of its spellings is a substring of one of the text's; `matchesFolded` is this, said in one call.
 */
export const foldedSpellings = (text: string): readonly string[] =>
  text.includes('\u200c')
    ? [foldText(text.replace(HALF_SPACES_AND_AROUND, '\u200c')), foldText(text.replace(HALF_SPACE, ' '))]
    : [foldText(text)];

const addGrams = (grams: Set<string>, folded: string, lengthMin: number, lengthMax: number): void => {
  const points = codePointsOf(folded);
  for (let length = lengthMin; length <= lengthMax; length += 1) {
    for (let start = 0; start + length <= points.length; start += 1) {
      grams.add(points.slice(start, start + length).join(''));
    }
  }
};

/**
 * The grams to store beside a text (several fields: join them by a line feed and store the grams of the whole, or take
 * the union of each field's grams so that no match spans two fields).
 * @returns distinct grams of one to three characters of the folded text; [] when nothing is left of it
 */
export const indexGrams = (text: string): string[] => {
  const grams = new Set<string>();
  for (const spelling of foldedSpellings(text)) {
    addGrams(grams, spelling, 1, GRAM_LENGTH_MAX);
  }
  return [...grams];
};

/**
 * The grams that a document must all hold to be a candidate: the query itself when it has one to three characters,
 * every run of three otherwise. A half-space of the query may stand for nothing or for a space in the document, so
 * only the grams on either side of it count.
 * @returns distinct grams; [] when the query folds to nothing and so says nothing
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

/**
 * Whether the text holds the query as a substring, both folded.
 * @param text as it was written (a folded text also serves, but has lost its half-spaces)
 * @param query as it was written; one that folds to nothing is held by every text
 */
export const matchesFolded = (text: string, query: string): boolean => {
  const wanted = foldedSpellings(query);
  return foldedSpellings(text).some((spelling) => wanted.some((one) => spelling.includes(one)));
};

/** Whether a query says anything once it is folded; one that does not is as good as none. */
export const asksForText = (query: string | undefined): query is string =>
  query !== undefined && queryGrams(query).length > 0;
