/** Estimates by a sample how common the grams of a query are. This decides how a search is executed, never its result. */
import type { Collection } from 'mongoose';
import { EVERY_SEARCH, foldedSpellings, queryGrams, textMatcher } from '../kernel/text-search.ts';

type Row = Readonly<Record<string, unknown>>;

export interface Gram {
  text: string;
  /** Estimated share of the rows that contain it, from 0 to 1. */
  share: number;
}

const textsOf = (row: Row, fields: readonly string[]): string[] =>
  fields.map((field) => (row[field] as string | undefined) ?? '');

/** Whether one of the fields of a row contains the query. */
export const rowMatcher = (fields: readonly string[], query: string): ((row: Row) => boolean) => {
  const matches = textMatcher(query);
  return (row) => textsOf(row, fields).some(matches);
};

/** The number of characters that a search reads in a row. */
export const textLength = (row: Row, fields: readonly string[]): number =>
  textsOf(row, fields).reduce((sum, text) => sum + text.length, 0);

/** The conditions of the candidates of a search by `gram`; no row meets two of them. */
export const candidateConditions = (gram: Gram): { grams: string }[] => [
  { grams: gram.text },
  { grams: EVERY_SEARCH },
];

/** Enough of a long text for an estimate. */
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
  const spellings = rows.map((row) =>
    textsOf(row, fields).flatMap((text) => foldedSpellings(text.slice(0, SAMPLED_LENGTH))),
  );
  const shareOf = (gram: string): number =>
    spellings.filter((texts) => texts.some((text) => text.includes(gram))).length / Math.max(rows.length, 1);
  return grams
    .map((text): Gram => ({ text, share: shareOf(text) }))
    .reduce((rarest, gram) => (gram.share < rarest.share ? gram : rarest));
};
