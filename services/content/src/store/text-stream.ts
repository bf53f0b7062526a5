/** The ids of those rows of a list that hold a text (see shared/text-search.ts), in their order. */
import { matchesFolded, queryGrams } from '@fitness/shared/text-search.ts';
import type { Collection } from 'mongoose';
import { holding, type IdStream, type RawRow, type Slice, windows } from './id-stream.ts';

export interface TextStream extends Omit<IdStream, 'facet'> {
  /** The rows of these lists; they have none in common. */
  facets: readonly string[];
  query: string;
  /** The fields of which one must hold the text. */
  fields: readonly ('title' | 'content' | 'description')[];
}

export interface FoundIds {
  ids: number[];
  /** How many there are from the slice's beginning on; undefined where that is too many to count. */
  total: number | undefined;
}

/** What is in more rows than this is not counted. */
export const COUNTED_MAX = 1_000;
const CHUNK = COUNTED_MAX + 1;
/** How many of the newest rows are looked at to guess how common a gram is. */
const SAMPLE = 200;

/** Up to `slice.need` ids in order. */
export const findText = async (
  collection: Collection,
  stream: TextStream,
  slice: Slice,
): Promise<FoundIds> => {
  const grams = queryGrams(stream.query);
  const shares = await shareOf(collection, grams, stream.newest);
  const byRarity = grams.toSorted((a, b) => (shares.get(a) ?? 0) - (shares.get(b) ?? 0));
  const rarest = shares.get(byRarity[0] ?? '') ?? 0;
  return rarest * stream.newest > COUNTED_MAX
    ? readWindows(collection, stream, slice, grams, rarest)
    : readIndex(collection, stream, slice, byRarity);
};

const projectionOf = (stream: TextStream): Record<string, 0 | 1> =>
  Object.fromEntries(['_id', ...stream.fields].map((name) => [name, 1]));

const holds = (row: RawRow, { fields, query }: TextStream): boolean =>
  fields.some((field) => matchesFolded(row[field] ?? '', query));

/** A guess from the newest rows: the share of all rows that hold each gram. */
const shareOf = async (
  collection: Collection,
  grams: readonly string[],
  newest: number,
): Promise<Map<string, number>> => {
  // Few rows are all looked at anyway, and one gram leaves nothing to choose.
  if (newest <= COUNTED_MAX) return new Map();
  const counted = Object.fromEntries(
    grams.map((gram, index) => [
      `g${index}`,
      { $sum: { $cond: [{ $in: [{ $literal: gram }, '$grams'] }, 1, 0] } },
    ]),
  );
  const [sums] = await collection
    .aggregate([{ $match: { _id: { $gt: newest - SAMPLE } } }, { $group: { _id: null, ...counted } }])
    .toArray();
  return new Map(grams.map((gram, index) => [gram, Number(sums?.[`g${index}`] ?? 0) / SAMPLE]));
};

/** From the index of grams, the rarest first: every candidate is looked at once. */
const readIndex = async (
  collection: Collection,
  stream: TextStream,
  slice: Slice,
  grams: readonly string[],
): Promise<FoundIds> => {
  const ids: number[] = [];
  let { after } = slice;
  for (let chunk = 0; ; chunk += 1) {
    const bound = slice.order === 'ASC' ? { $gt: after } : { $lt: after };
    const filter = {
      grams: { $all: grams },
      facets: stream.facets.length === 1 ? stream.facets[0] : { $in: stream.facets },
      ...stream.also,
      ...(after === undefined ? {} : { _id: bound }),
    };
    const rows: RawRow[] = await collection
      .find(filter as never, { projection: projectionOf(stream) })
      .sort({ _id: slice.order === 'ASC' ? 1 : -1 })
      .limit(CHUNK)
      .toArray();
    ids.push(...rows.filter((row) => holds(row, stream)).map(({ _id }) => Number(_id)));
    if (rows.length < CHUNK)
      return { ids: ids.slice(0, slice.need), total: chunk === 0 ? ids.length : undefined };
    if (ids.length >= slice.need) return { ids: ids.slice(0, slice.need), total: undefined };
    after = Number(rows.at(-1)?._id);
  }
};

/** In windows of the primary key, for what is in many rows. */
const readWindows = async (
  collection: Collection,
  stream: TextStream,
  slice: Slice,
  grams: readonly string[],
  density: number,
): Promise<FoundIds> => {
  const conditions = [holding('facets', stream.facets), ...grams.map((gram) => holding('grams', [gram]))];
  const ids: number[] = [];
  for await (const rows of windows(collection, stream.newest, slice, {
    filter: { $and: conditions, ...stream.also },
    projection: projectionOf(stream),
    density,
    missing: () => slice.need - ids.length,
  })) {
    ids.push(...rows.filter((row) => holds(row, stream)).map(({ _id }) => Number(_id)));
    if (ids.length >= slice.need) break;
  }
  return { ids: ids.slice(0, slice.need), total: undefined };
};
