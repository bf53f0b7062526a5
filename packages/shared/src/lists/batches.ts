/** Rows of a list in order, read in batches: as a whole, in windows of ids, by the candidates of a gram, or by their ids. */
import { EVERY_SEARCH } from '../kernel/text-search.ts';
import type { Gram } from './grams.ts';
import {
  hasAnyKey,
  type ListQuery,
  type ListRow,
  type ListSource,
  meets,
  type Slice,
  WINDOW_MAX,
  type Window,
} from './list.ts';
import { inOrder, inWindows, isAfter, startOf, widthFor } from './windows.ts';

/** Rows of a search that are read at once: each may have 20,000 characters. */
export const SEARCH_CHUNK = 250;
/** The results of a search that would have to read more rows than this are not counted. */
export const COUNTED_MAX = 1_000;

/** Rows of the list in order, before the texts are compared. */
export interface Batch {
  rows: readonly ListRow[];
  /** How many rows were read for it. */
  read: number;
  /** How many rows are known to follow, unread; undefined: none. */
  left?: number;
  /** The next batch starts after this id. */
  lastId: number;
  isLast: boolean;
}

export const newestOf = ({ newest }: ListQuery): number => Math.max(newest, 1);
/** Rows per id, above 0 and up to 1. If the total is unknown, the first window tells more. */
export const densityOf = ({ total = Number.POSITIVE_INFINITY, newest }: ListQuery): number =>
  Math.min(Math.max(total, 1) / Math.max(newest, 1), 1);

/** Whether a row that has a key of the list is in it. */
const isListed = ({ accept, condition = {}, without = [] }: ListQuery): ((row: ListRow) => boolean) => {
  const others = new Set(without);
  return (row) => !others.has(row._id) && meets(row, condition) && (accept?.(row) ?? true);
};

export const listed = (rows: readonly ListRow[], query: ListQuery): ListRow[] =>
  rows.filter((row) => hasAnyKey(row, query)).filter(isListed(query));

export async function* wholeList(source: ListSource, query: ListQuery, slice: Slice): AsyncGenerator<Batch> {
  const candidateRows = await source.whole(query);
  const start = startOf(slice, newestOf(query));
  const rows = candidateRows.filter((row) => isAfter(row._id, start, slice.order)).filter(isListed(query));
  yield { rows: inOrder(rows, slice.order), read: candidateRows.length, lastId: start, isLast: true };
}

/** `rowCount`: how many rows the slice needs. */
export async function* listInWindows(
  source: ListSource,
  query: ListQuery,
  slice: Slice,
  rowCount: number,
): AsyncGenerator<Batch> {
  const read = (window: Window) => source.windows(query, window);
  const firstWidth = widthFor(rowCount, densityOf(query));
  const widths = { firstWidth, widthMax: Number.POSITIVE_INFINITY, limit: WINDOW_MAX };
  for await (const { items, ...batch } of inWindows(slice, newestOf(query), widths, read))
    yield { ...batch, rows: items.filter(isListed(query)), read: items.length };
}

export async function* candidates(
  source: ListSource,
  query: ListQuery,
  slice: Slice,
  gram: Gram,
  firstWidth: number,
): AsyncGenerator<Batch> {
  const read = (window: Window) =>
    Promise.all([gram.text, EVERY_SEARCH].map((one) => source.candidates(one, window)));
  const widths = { firstWidth, widthMax: COUNTED_MAX / gram.share, limit: Number.POSITIVE_INFINITY };
  for await (const { items, ...batch } of inWindows(slice, newestOf(query), widths, read)) {
    for await (const chunk of inGivenOrder(
      source,
      items.map(({ _id }) => _id),
    ))
      yield { ...chunk, ...(chunk.isLast ? batch : {}), rows: listed(chunk.rows, query) };
  }
}

export async function* inGivenOrder(source: ListSource, ids: readonly number[]): AsyncGenerator<Batch> {
  for (let start = 0; start === 0 || start < ids.length; start += SEARCH_CHUNK) {
    const chunk = ids.slice(start, start + SEARCH_CHUNK);
    const rows = new Map((await source.byIds(chunk)).map((row) => [row._id, row]));
    yield {
      rows: chunk.flatMap((id) => rows.get(id) ?? []),
      read: chunk.length,
      left: Math.max(ids.length - start - SEARCH_CHUNK, 0),
      lastId: chunk.at(-1) ?? 0,
      isLast: start + SEARCH_CHUNK >= ids.length,
    };
  }
}
