/** Estimates by a sample how common the grams of a query are. This decides how a search is executed, never its result. */
import { LRUCache } from 'lru-cache';
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

/** A sample is used again for this time, while the collection grows by less than a tenth. */
const SAMPLE_LIFETIME_MS = 60_000;
/** Grams whose share in a sample is known. */
const SHARES_MAX = 10_000;

/** Rows read once for all searches: few searches have a gram that another one had before. */
interface Sample {
  /** The folded texts of each row. */
  rows: Promise<readonly (readonly string[])[]>;
  newest: number;
  until: number;
  shares: LRUCache<string, number>;
}

/** By collection, then by the number of rows. */
const samples = new WeakMap<Collection, Map<number, Sample>>();

/** @param work Returns how many characters it has read. */
const inPortions = async <Item>(items: readonly Item[], work: (item: Item) => number): Promise<void> => {
  let characters = 0;
  for (const item of items) {
    characters += work(item);
    if (characters < PORTION_CHARACTERS) continue;
    await yieldToEventLoop();
    characters = 0;
  }
};

const readRows = async (
  collection: Collection,
  fields: readonly string[],
  ids: readonly number[],
): Promise<string[][]> => {
  const projection = Object.fromEntries(fields.map((field) => [field, 1]));
  const rows = await collection.find({ _id: { $in: ids } } as never, { projection }).toArray();
  const folded: string[][] = [];
  await inPortions(rows, (row) => {
    const texts = textsOf(row, fields).flatMap((text) => foldedSpellings(text.slice(0, SAMPLED_LENGTH)));
    folded.push(texts);
    return foldedLength(texts);
  });
  return folded;
};

const sampleOf = (
  collection: Collection,
  fields: readonly string[],
  { newest, size }: { newest: number; size: number },
): Sample => {
  const bySize = samples.get(collection) ?? new Map<number, Sample>();
  samples.set(collection, bySize);
  const known = bySize.get(size);
  const now = performance.now();
  if (known !== undefined && known.until > now && newest <= known.newest * 1.1) return known;
  const sample: Sample = {
    rows: readRows(collection, fields, spreadIds(newest, size)),
    newest,
    until: now + SAMPLE_LIFETIME_MS,
    shares: new LRUCache({ max: SHARES_MAX }),
  };
  bySize.set(size, sample);
  sample.rows.catch(() => {
    if (bySize.get(size) === sample) bySize.delete(size);
  });
  return sample;
};

/** The share of the rows of a sample that contain each gram. */
const sharesIn = async (sample: Sample, grams: readonly string[]): Promise<Map<string, number>> => {
  const rows = await sample.rows;
  const containing = new Map(grams.map((gram) => [gram, 0]));
  await inPortions(rows, (texts) => {
    for (const gram of grams)
      if (texts.some((text) => text.includes(gram))) containing.set(gram, (containing.get(gram) ?? 0) + 1);
    return foldedLength(texts);
  });
  return new Map([...containing].map(([gram, count]) => [gram, count / Math.max(rows.length, 1)]));
};

/** The rarest gram of the query in a sample of `size` rows; undefined for a query that folds to ''. */
export const rarestGram = async (
  collection: Collection,
  query: string,
  fields: readonly string[],
  of: { newest: number; size: number },
): Promise<Gram | undefined> => {
  const grams = queryGrams(query);
  if (grams.length === 0) return undefined;
  const sample = sampleOf(collection, fields, of);
  const unknown = grams.filter((gram) => !sample.shares.has(gram));
  if (unknown.length > 0)
    for (const [gram, share] of await sharesIn(sample, unknown)) sample.shares.set(gram, share);
  return grams
    .map((text): Gram => ({ text, share: sample.shares.get(text) ?? 1 }))
    .reduce((rarest, gram) => (gram.share < rarest.share ? gram : rarest));
};
