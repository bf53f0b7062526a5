/** How common the grams of a query are, from a sample: it decides how a search is read, never what it finds. */

import type { Collection } from 'mongoose';
import { foldedSpellings, matchesFolded, queryGrams } from '../text-search.ts';

type Row = Readonly<Record<string, unknown>>;

export interface Gram {
  text: string;
  /** Of all rows, how many hold it, from 0 to 1; a guess. */
  share: number;
}

const textsOf = (row: Row, fields: readonly string[]): string[] =>
  fields.map((field) => (row[field] as string | undefined) ?? '');

/** Whether one of the fields holds the text. */
export const holdsText = (row: Row, fields: readonly string[], query: string): boolean =>
  textsOf(row, fields).some((text) => matchesFolded(text, query));

/** Spread over all ids: what was written about today must not look as if it were everywhere. */
const spreadIds = (newest: number, size: number): number[] => {
  const ids = Array.from({ length: size }, (_, index) => 1 + Math.floor(((index + 0.5) * newest) / size));
  return [...new Set(ids)];
};

/** The gram of the query that the fewest of `size` rows hold; undefined where the query folds to nothing. */
export const rarestGram = async (
  collection: Collection,
  query: string,
  fields: readonly string[],
  { newest, size }: { newest: number; size: number },
): Promise<Gram | undefined> => {
  const grams = queryGrams(query);
  const [only] = grams;
  if (only === undefined) return undefined;
  const projection = Object.fromEntries(fields.map((field) => [field, 1]));
  const ids = spreadIds(newest, size);
  const rows = await collection.find({ _id: { $in: ids } } as never, { projection }).toArray();
  const spellings = rows.map((row) => textsOf(row, fields).flatMap(foldedSpellings));
  const shareOf = (gram: string): number =>
    spellings.filter((texts) => texts.some((text) => text.includes(gram))).length / Math.max(rows.length, 1);
  return grams
    .map((text): Gram => ({ text, share: shareOf(text) }))
    .reduce((rarest, gram) => (gram.share < rarest.share ? gram : rarest));
};
