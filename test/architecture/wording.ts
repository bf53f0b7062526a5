/** Patterns of unidiomatic English (docs/writing.md), with examples. */

export interface Pattern {
  fault: RegExp;
  /** Better wording. */
  instead: string;
  /** A text with the fault, and the same text without it. */
  example: readonly [faulty: string, better: string];
}

/** Words that no text may contain, including comments, titles, messages, descriptions and documents. */
export const WORDS: Record<string, Pattern> = {
  likewise: {
    fault: /\blikewise\b/i,
    instead: 'repeat the fact, or name it',
    example: ['of the licenses likewise', 'a license list is paged like a gym list'],
  },
  whoever: {
    fault: /\bwhoever\b/i,
    instead: 'anyone who',
    example: ['whoever holds the link', 'anyone who has the link'],
  },
  'also where': {
    fault: /\balso (?:where|with|without|of|by)\b/i,
    instead: 'even if, including, too',
    example: ['also where it is empty', 'even if it is empty'],
  },
  'is over': {
    fault: /\b(?:is|are|was|were) over\b/i,
    instead: 'has ended',
    example: ['the session is over', 'the session has ended'],
  },
  'counts as': {
    fault: /\bcounts as\b/i,
    instead: 'is treated as',
    example: ['an empty text counts as none', 'an empty text is treated as missing'],
  },
  'is told': {
    fault: /\b(?:is|are|was|were|be) told\b/i,
    instead: 'is notified, sees, is listed',
    example: ['the user is told by SMS', 'the user is notified by SMS'],
  },
  'British spelling': {
    fault:
      /licence|\b(?:recogni|normali|initiali|seriali|authori|organi|optimi)s(?:e[drs]?|ing|ation)\b|(?:behavi|neighb|fav|col|hon)our|\bcentred?\b|\b(?:centi|kilo)?metres?\b/i,
    instead: 'American spelling, as in the specification',
    example: ['a recognised licence of a neighbour', 'a recognized license of a neighbor'],
  },
};

/** A comment without a beginning. */
export const COMMENT: Pattern = {
  fault: /(?:\/\*\*?|\/\/|^\s*[*#])\s+(?:Of|As|By)\b/,
  instead: 'a noun phrase or a complete sentence',
  example: ['/** Of a session. */', '/** Lifetime of a session. */'],
};

/** The most words that one sentence of a document may have. Use two sentences for more. */
export const LONGEST_SENTENCE = 25;

export const longSentences = (text: string): string[] =>
  text
    .replace(/`[^`]*`/g, 'code')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/\bcode(?:,? code)+\b/g, 'code')
    .split(/(?<=[.!?:;]["”)]?)\s+/)
    .filter((sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length > LONGEST_SENTENCE);
