/** The grams (runs of one to three characters) that a text search uses. */
import { indexGrams } from '@fitness/shared/kernel/text-search.ts';

/** Of each text by itself, so that no match spans two texts. */
export const gramsOf = (...texts: string[]): string[] => [...new Set(texts.flatMap(indexGrams))];

export const sameWords = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && new Set([...a, ...b]).size === a.length;
