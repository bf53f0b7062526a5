/**
 * The ids of a list in their order, at the same cost at any depth. A list is one word in the `facets` of its rows. Where
 * most rows are in the list, ids are read in windows of the primary key; where few are, from the index of the facets.
 * The caller tells how many there are (from counters), so the right way is known before anything is read.
 */
import type { Collection } from 'mongoose';

export type Order = 'ASC' | 'DESC';

export interface IdStream {
  facet: string;
  /** How many rows there are, `also` not considered; a guess does. */
  total: number;
  /** No id of the list is larger. */
  newest: number;
  /** Further conditions. */
  also?: Record<string, unknown>;
}

export interface Slice {
  order: Order;
  /** Ids beyond this one; from the beginning without it. */
  after?: number | undefined;
  need: number;
}

/** A list with less than one row in so many ids is read from the index. */
const SPARSE = 50;
/** Below this many ids no window is worth its trouble. */
const SMALL = 1_000;
const FIRST_SLACK = 1.3;
const WINDOW_GROWTH = 4;
const WINDOW_MAX = 50_000;

const direction = (order: Order): 1 | -1 => (order === 'ASC' ? 1 : -1);

const beyond = ({ order, after }: Slice): Record<string, unknown> => {
  if (after === undefined) return {};
  return { _id: order === 'ASC' ? { $gt: after } : { $lt: after } };
};

export const compareIds =
  (order: Order) =>
  (a: number, b: number): number =>
    order === 'ASC' ? a - b : b - a;

/**
 * Conditions within a window. As `$elemMatch` they leave the primary key its place also where a database takes any
 * equality for the better index, and would read the whole list for a window of it.
 */
export const holding = (field: 'facets' | 'grams', values: readonly string[]): Record<string, unknown> => ({
  [field]: { $elemMatch: { $in: values } },
});

/** Up to `slice.need` ids of the list, in order. */
export const readIds = async (collection: Collection, stream: IdStream, slice: Slice): Promise<number[]> => {
  if (stream.total <= 0) return [];
  if (stream.newest <= SMALL || stream.total * SPARSE < stream.newest) {
    const found = await collection
      .find({ facets: stream.facet, ...stream.also, ...beyond(slice) }, { projection: { _id: 1 } })
      .sort({ _id: direction(slice.order) })
      .limit(slice.need)
      .toArray();
    return found.map(({ _id }) => Number(_id));
  }
  const ids: number[] = [];
  const density = stream.total / stream.newest;
  for await (const rows of windows(collection, stream.newest, slice, {
    filter: { ...holding('facets', [stream.facet]), ...stream.also },
    projection: { _id: 1 },
    density,
    missing: () => slice.need - ids.length,
  })) {
    ids.push(...rows.map(({ _id }) => Number(_id)));
    if (ids.length >= slice.need) break;
  }
  return ids.slice(0, slice.need);
};

interface WindowOptions {
  filter: Record<string, unknown>;
  projection: Record<string, 0 | 1>;
  /** Rows that fit per id, as far as known. */
  density: number;
  missing: () => number;
}

export interface RawRow {
  _id: unknown;
  title?: string;
  content?: string;
  description?: string;
}

/** Window after window of the primary key, each row in the slice's order, until the ids end. */
export async function* windows(
  collection: Collection,
  newest: number,
  slice: Slice,
  options: WindowOptions,
): AsyncGenerator<RawRow[]> {
  const up = slice.order === 'ASC';
  // A cursor may say anything; a window begins where there are ids.
  let edge = up ? Math.max(slice.after ?? 0, 0) : Math.min(slice.after ?? newest + 1, newest + 1);
  let size = Math.ceil((options.missing() / options.density) * FIRST_SLACK) + 8;
  while (up ? edge < newest : edge > 1) {
    const width = Math.min(size, WINDOW_MAX);
    const range = up ? { $gt: edge, $lte: edge + width } : { $lt: edge, $gte: edge - width };
    yield await collection
      .find({ _id: range, ...options.filter } as never, { projection: options.projection })
      .sort({ _id: direction(slice.order) })
      .toArray();
    // The edge itself is read no second time: `$lte` and `$gte` close the window on its far side.
    edge = up ? edge + width : edge - width;
    size = width * WINDOW_GROWTH;
  }
}

/** The first `slice.need` ids of several lists that have no row in common. */
export const mergeIds = async (
  collection: Collection,
  streams: readonly IdStream[],
  slice: Slice,
): Promise<number[]> => {
  const lists = await Promise.all(streams.map((stream) => readIds(collection, stream, slice)));
  return lists.flat().toSorted(compareIds(slice.order)).slice(0, slice.need);
};
