/** The search fields of an account, by which an index finds substrings (`@fitness/shared/kernel/text-search.ts`). */
import { foldedSpellings, indexGrams, queryGrams } from '@fitness/shared/kernel/text-search.ts';

interface SearchIndex {
  /** The folded parts, one on each line, so that no query matches across two of them. */
  text: string;
  grams: string[];
}

export const indexText = (parts: readonly string[]): SearchIndex => ({
  text: parts.flatMap(foldedSpellings).join('\n'),
  grams: [...new Set(parts.flatMap(indexGrams))],
});

export interface SearchQuery {
  /** A match contains at least one of these texts. */
  texts: string[];
  /** A match has all of these grams. */
  grams: string[];
}

/** Undefined when the folded query is empty. */
export const searchQuery = (search: string): SearchQuery | undefined => {
  const grams = queryGrams(search);
  return grams.length === 0 ? undefined : { texts: [...foldedSpellings(search)], grams };
};
