/** Consecutive windows of ids. A position is the id before the next one in the order of the list. */
import type { Order, Slice, Window } from './list.ts';

/** The first window is three standard deviations wider than the average, which is enough for almost every page. */
const DEVIATIONS = 3;
export const WINDOW_GROWTH = 4;

export const isAfter = (id: number, after: number, order: Order): boolean =>
  order === 'ASC' ? id > after : id < after;
export const inOrder = <Item extends { _id: number }>(items: readonly Item[], order: Order): Item[] =>
  items.toSorted((a, b) => (order === 'ASC' ? a._id - b._id : b._id - a._id));
/** The position before the first id. The cursor is client input. */
export const startOf = ({ order, after }: Slice, newest: number): number =>
  order === 'ASC'
    ? Math.max(Math.floor(after ?? 0), 0)
    : Math.min(Math.ceil(after ?? newest + 1), newest + 1);
/** The number of ids that contain `rowCount` rows. */
export const widthFor = (rowCount: number, density: number): number =>
  Math.ceil((rowCount + DEVIATIONS * Math.sqrt(rowCount * (1 - density))) / density) + 1;
/** `width` ids after a position. */
export const windowAfter = (position: number, width: number, order: Order, newest: number): Window =>
  order === 'ASC'
    ? { order, from: position + 1, to: Math.min(position + 1 + Math.ceil(width), newest + 1) }
    : { order, from: Math.max(position - Math.ceil(width), 1), to: position };
/** The position after a window. */
export const endOf = ({ order, from, to }: Window): number => (order === 'ASC' ? to - 1 : from);
export const isEnd = (position: number, order: Order, newest: number): boolean =>
  order === 'ASC' ? position >= newest : position <= 1;

/**
 * Yields the items of windows of ids in order. Each window is wider than the one before. `read`: one array per query. `limit`: a
 * query that returns this many items may lack some.
 */
export async function* inWindows<Item extends { _id: number }>(
  slice: Slice,
  newest: number,
  { firstWidth, widthMax, limit }: { firstWidth: number; widthMax: number; limit: number },
  read: (window: Window) => Promise<readonly (readonly Item[])[]>,
): AsyncGenerator<{ items: Item[]; lastId: number; isLast: boolean }> {
  const { order } = slice;
  let position = startOf(slice, newest);
  for (let width = firstWidth, isLast = false; !isLast; width *= WINDOW_GROWTH) {
    const window = windowAfter(position, Math.min(width, widthMax), order, newest);
    const parts = window.from < window.to ? await read(window) : [];
    // If a query reached its limit, rows behind its last one are left to the next window, for all queries.
    const full = parts.filter(({ length }) => length >= limit);
    const ends = full.map((items) => inOrder(items, order)[limit - 1]?._id ?? 0);
    position = ends.reduce((first, end) => (isAfter(first, end, order) ? end : first), endOf(window));
    isLast = isEnd(position, order, newest);
    // A row that moves from one list to another meanwhile may be in both.
    const items = new Map(parts.flat().map((item) => [item._id, item]));
    const before = [...items.values()].filter(({ _id }) => !isAfter(_id, position, order));
    yield { items: inOrder(before, order), lastId: position, isLast };
  }
}
