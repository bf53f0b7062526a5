/** The words by which a row is found. */
import { indexGrams } from '@fitness/shared/text-search.ts';

/** The grams of each text alone, so that no match spans two of them. */
export const gramsOf = (...texts: string[]): string[] => [...new Set(texts.flatMap(indexGrams))];

export const sameWords = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && new Set([...a, ...b]).size === a.length;
