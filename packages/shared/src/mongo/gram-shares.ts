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

/** An estimate is used again for this time, while the collection grows by less than a tenth. */
const SHARE_LIFETIME_MS = 60_000;
const SHARES_MAX = 10_000;

interface KnownShare {
  share: number;
  newest: number;
  until: number;
}

/** By collection, then by sample size and gram; the oldest first. */
const knownShares = new WeakMap<Collection, Map<string, KnownShare>>();

const sharesOf = (collection: Collection): Map<string, KnownShare> => {
  const known = knownShares.get(collection) ?? new Map<string, KnownShare>();
  knownShares.set(collection, known);
  return known;
};

/** The rarest gram of the query in a sample of `size` rows; undefined for a query that folds to ''. */
export const rarestGram = async (
  collection: Collection,
  query: string,
  fields: readonly string[],
  sample: { newest: number; size: number },
): Promise<Gram | undefined> => {
  const grams = queryGrams(query);
  if (grams.length === 0) return undefined;
  const { newest, size } = sample;
  const known = sharesOf(collection);
  const now = performance.now();
  const isKnown = (gram: string): boolean => {
    const found = known.get(`${size}:${gram}`);
    return found !== undefined && found.until > now && newest <= found.newest * 1.1;
  };
  const unknown = grams.filter((gram) => !isKnown(gram));
  if (unknown.length > 0) {
    for (const [gram, share] of await estimate(collection, unknown, fields, sample)) {
      known.delete(`${size}:${gram}`);
      known.set(`${size}:${gram}`, { share, newest, until: now + SHARE_LIFETIME_MS });
    }
    for (const key of known.keys()) {
      if (known.size <= SHARES_MAX) break;
      known.delete(key);
    }
  }
  return grams
    .map((text): Gram => ({ text, share: known.get(`${size}:${text}`)?.share ?? 1 }))
    .reduce((rarest, gram) => (gram.share < rarest.share ? gram : rarest));
};

/** The share of the rows of a sample that contain each gram. */
const estimate = async (
  collection: Collection,
  grams: readonly string[],
  fields: readonly string[],
  { newest, size }: { newest: number; size: number },
): Promise<[string, number][]> => {
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
  return [...containing].map(([gram, count]) => [gram, count / Math.max(rows.length, 1)]);
};
