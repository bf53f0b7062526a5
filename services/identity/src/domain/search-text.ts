/** The search fields of an account, by which an index finds substrings (`@fitness/shared/kernel/text-search.ts`). */
import { foldedSpellings, indexGrams, queryGrams } from '@fitness/shared/kernel/text-search.ts';
import { normalizePhone } from './phone.ts';

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

/**
 * As {@link searchQuery}, where phones are searched as well: a complete one is found in every spelling by which its owner
 * can sign in. What contains it as it is typed is still found.
 */
export const contactQuery = (search: string): SearchQuery | undefined => {
  const typed = searchQuery(search);
  const phone = normalizePhone(search.trim());
  const stored = phone === undefined ? undefined : searchQuery(phone);
  if (typed === undefined || stored === undefined) return typed;
  // The last digits first: almost every phone begins with the same ones.
  const shared = stored.grams.filter((gram) => typed.grams.includes(gram)).reverse();
  return shared.length === 0 ? stored : { texts: [...typed.texts, ...stored.texts], grams: shared };
};
