/** Estimates by a sample how common the grams of a query are. This decides how a search is executed, never its result. */
import type { Collection } from 'mongoose';
import {
  EVERY_SEARCH,
  foldedLength,
  foldedSpellings,
  queryGrams,
  type TextMatch,
  textMatcher,
} from '../kernel/text-search.ts';

type Row = Readonly<Record<string, unknown>>;

export interface Gram {
  text: string;
  /** Estimated share of the rows that contain it, from 0 to 1. */
  share: number;
}

const textsOf = (row: Row, fields: readonly string[]): string[] =>
  fields.map((field) => (row[field] as string | undefined) ?? '');

/** Searches the fields of a row for the query, until one contains it. */
export const rowMatcher = (fields: readonly string[], query: string): ((row: Row) => TextMatch) => {
  const match = textMatcher(query);
  return (row) => {
    let characters = 0;
    for (const text of textsOf(row, fields)) {
      const found = match(text);
      characters += found.characters;
      if (found.isMatch) return { isMatch: true, characters };
    }
    return { isMatch: false, characters };
  };
};

/** Characters that are searched between two turns of the event loop. */
export const PORTION_CHARACTERS = 100_000;

export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** The number of characters that a row stores in its searched fields. */
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
  const containing = new Map(grams.map((gram) => [gram, 0]));
  let characters = 0;
  for (const row of rows) {
    const texts = textsOf(row, fields).flatMap((text) => foldedSpellings(text.slice(0, SAMPLED_LENGTH)));
    for (const gram of grams) {
      if (texts.some((text) => text.includes(gram))) containing.set(gram, (containing.get(gram) ?? 0) + 1);
    }
    characters += foldedLength(texts);
    if (characters < PORTION_CHARACTERS) continue;
    await nextTurn();
    characters = 0;
  }
  return [...containing]
    .map(([text, count]): Gram => ({ text, share: count / Math.max(rows.length, 1) }))
    .reduce((rarest, gram) => (gram.share < rarest.share ? gram : rarest));
};
