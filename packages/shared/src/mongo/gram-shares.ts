/** Estimates by a sample how common the grams of a query are. This decides how a search is executed, never its result. */
import type { Collection } from 'mongoose';
import { EVERY_SEARCH, foldedLength, foldedSpellings, queryGrams } from '../kernel/text-search.ts';
import { PORTION_CHARACTERS, textsOf, yieldToEventLoop } from './search-rows.ts';

export interface Gram {
  text: string;
  /** Estimated share of the rows that contain it, from 0 to 1. */
  share: number;
}

/** The conditions of the candidates of a search by `gram`. No row meets two of them. */
export const candidateConditions = (gram: Gram): { grams: string }[] => [
  { grams: gram.text },
  { grams: EVERY_SEARCH },
];

/** Characters of a text that are enough for an estimate. */
const SAMPLED_LENGTH = 2_000;

/** Spread evenly over all ids, because recent rows may have common topics. */
const spreadIds = (newest: number, size: number): number[] => {
  const ids = Array.from({ length: size }, (_, index) => 1 + Math.floor(((index + 0.5) * newest) / size));
  return [...new Set(ids)];
};

/** The rarest gram of the query in a sample of `size` rows; undefined for a query that folds to ''. */
export const rarestGram = async (
  collection: Collection,
  query: string,
  fields: readonly string[],
  { newest, size }: { newest: number; size: number },
): Promise<Gram | undefined> => {
  const grams = queryGrams(query);
  if (grams.length === 0) return undefined;
  const projection = Object.fromEntries(fields.map((field) => [field, 1]));
  const ids = spreadIds(newest, size);
  const rows = await collection.find({ _id: { $in: ids } } as never, { projection }).toArray();
  const containing = new Map(grams.map((gram) => [gram, 0]));
  let characters = 0;
  for (const row of rows) {
    const texts = textsOf(row, fields).flatMap((text) => foldedSpellings(text.slice(0, SAMPLED_LENGTH)));
    for (const gram of grams) {
      if (texts.some((text) => text.includes(gram))) containing.set(gram, (containing.get(gram) ?? 0) + 1);
    }
    characters += foldedLength(texts);
    if (characters < PORTION_CHARACTERS) continue;
    await yieldToEventLoop();
    characters = 0;
  }
  return [...containing]
    .map(([text, count]): Gram => ({ text, share: count / Math.max(rows.length, 1) }))
    .reduce((rarest, gram) => (gram.share < rarest.share ? gram : rarest));
};
