/** What is stored beside an account so that a substring of it is found by an index (`@fitness/shared/text-search.ts`). */
import { foldedSpellings, indexGrams, queryGrams } from '@fitness/shared/text-search.ts';

export interface SearchIndex {
  /** The folded parts, one a line, so that nothing matches across two of them. */
  text: string;
  grams: string[];
}

export const indexText = (parts: readonly string[]): SearchIndex => ({
  text: parts.flatMap(foldedSpellings).join('\n'),
  grams: [...new Set(parts.flatMap(indexGrams))],
});

export interface SearchQuery {
  /** A row is found when its text contains one of these. */
  texts: string[];
  /** Every row that is found has all of these. */
  grams: string[];
}

/** Undefined when nothing is left to look for. */
export const searchQuery = (search: string): SearchQuery | undefined => {
  const grams = queryGrams(search);
  return grams.length === 0 ? undefined : { texts: [...foldedSpellings(search)], grams };
};
