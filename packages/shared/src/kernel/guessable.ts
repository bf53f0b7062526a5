/** Recognizes secrets that were not generated at random. */

/**
 * Secrets of this length come from a generator. Nearly all random ones of 32 hexadecimal digits have more distinct
 * characters.
 */
const LONG = 32;
const FEWEST_IN_LONG = 6;
const SHORT = 8;
const FEWEST_IN_SHORT = 4;
/** The share of neighboring characters that are equal or consecutive, as in `abcdefgh…` or `aaaabbbb…`. */
const SEQUENCE_SHARE = 0.75;

/** Whether `secret` has few distinct characters, repeats a part of itself, or is a sequence. */
export const isGuessable = (secret: string): boolean => {
  const codes = [...secret].map((character) => character.codePointAt(0) ?? 0);
  return hasFewDifferent(codes) || isRepetition(codes) || isSequence(codes);
};

const hasFewDifferent = (codes: readonly number[]): boolean => {
  const different = new Set(codes).size;
  if (codes.length >= LONG) return different < FEWEST_IN_LONG;
  return codes.length >= SHORT && different < FEWEST_IN_SHORT;
};

/** The last repetition may be incomplete. */
const isRepetition = (codes: readonly number[]): boolean => {
  for (let period = 1; period <= codes.length / 2; period += 1) {
    if (codes.every((code, at) => at < period || code === codes[at - period])) return true;
  }
  return false;
};

const isSequence = (codes: readonly number[]): boolean => {
  if (codes.length < SHORT) return false;
  const steps = codes.filter((code, at) => at > 0 && Math.abs(code - (codes[at - 1] ?? 0)) <= 1).length;
  return steps >= (codes.length - 1) * SEQUENCE_SHARE;
};

const SHORTEST_WORD = 3;
const WORDS_SHARE = 2 / 3;

/** Whether `secret` has spaces, or most of it can be pronounced as words. This is true of less than one random secret in 1,000. */
export const isReadable = (secret: string): boolean => {
  const words = (secret.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? []).filter(
    (word) =>
      word.length >= SHORTEST_WORD && /[aeiouy]/i.test(word) && !/[^aeiouy]{4}|[aeiou]{4}/i.test(word),
  );
  return /\s/.test(secret) || words.join('').length >= secret.length * WORDS_SHARE;
};
