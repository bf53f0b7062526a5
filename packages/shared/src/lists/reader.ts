/** Reads pages of lists and searches in windows of ids, at the same cost at any cursor (README.md, docs/adr/0101). */
import { EVERY_SEARCH } from '../kernel/text-search.ts';
import {
  type Batch,
  COUNTED_MAX,
  candidates,
  densityOf,
  inGivenOrder,
  listed,
  listInWindows,
  newestOf,
  SEARCH_CHUNK,
  wholeList,
} from './batches.ts';
import { firstPage, matching } from './first-page.ts';
import type { RarestGram } from './grams.ts';
import {
  KEYS_MAX,
  type Listed,
  type ListQuery,
  type ListRow,
  type ListSource,
  type Lists,
  type RowSearch,
  type Slice,
  WINDOW_MAX,
  type Window,
} from './list.ts';
import { endOf, isEnd, startOf, WINDOW_GROWTH, widthFor, windowAfter } from './windows.ts';

/** A list with at most this many rows is read as a whole. */
const WHOLE_MAX = 250;

const isSmall = ({ total = Number.POSITIVE_INFINITY }: ListQuery, max: number): boolean => total <= max;
/** Windows of many keys, or of rows that a condition excludes, cost more than reading the whole list. */
const isWhole = (query: ListQuery): boolean =>
  isSmall(query, query.condition !== undefined || query.keys.length > KEYS_MAX ? COUNTED_MAX : WHOLE_MAX);

const search = async (
  source: ListSource,
  rarestGram: RarestGram,
  query: ListQuery,
  slice: Slice,
  { grams, match }: RowSearch,
): Promise<Listed> => {
  const inList = (rows: AsyncIterable<Batch>) =>
    firstPage(matching(rows, match), slice, { isCounted: slice.counted });
  if (isWhole(query)) return inList(wholeList(source, query, slice));
  const gram = await rarestGram(grams, newestOf(query));
  // A short list of a large collection has fewer rows than the gram.
  if (isSmall(query, Math.min(COUNTED_MAX, gram.share * newestOf(query))))
    return inList(listInWindows(source, query, slice, SEARCH_CHUNK));
  // The error of the estimate shows when the ids are known.
  const mayBeCounted = gram.isRare || gram.share * newestOf(query) <= 2 * COUNTED_MAX;
  const isCounted = slice.counted && mayBeCounted;
  const width = isCounted
    ? newestOf(query)
    : widthFor(slice.skip + slice.take + 1, gram.share * densityOf(query));
  return firstPage(matching(candidates(source, query, slice, gram, width), match), slice, { isCounted });
};

/** Skips whole windows by counting their rows. The rest to skip fits in one window. */
const skipWindows = async (source: ListSource, query: ListQuery, slice: Slice): Promise<Slice> => {
  const { order } = slice;
  const { without = [] } = query;
  const newest = newestOf(query);
  let position = startOf(slice, newest);
  let left = slice.skip;
  let width = left / densityOf(query);
  while (left > WINDOW_MAX && !isEnd(position, order, newest)) {
    const window = windowAfter(position, width, order, newest);
    const others = without.filter((id) => id >= window.from && id < window.to).length;
    const count = (await source.count(query, window)) - others;
    if (count > left) {
      width *= Math.min(left / count, 0.9);
      continue;
    }
    left -= count;
    position = endOf(window);
    width = Math.max(left / densityOf(query), count === 0 ? width * WINDOW_GROWTH : 0);
  }
  return { ...slice, after: position, skip: left };
};

export const createReader = (source: ListSource, rarestGram: RarestGram): Lists => ({
  read: async (query, slice) => {
    if (query.keys.length === 0 || query.total === 0) return { rows: [], more: false, total: 0 };
    await source.catchUp(query.versions);
    if (query.search !== undefined) return search(source, rarestGram, query, slice, query.search);
    if (isWhole(query)) return firstPage(wholeList(source, query, slice), slice, undefined);
    const isCountable = (query.accept ?? query.condition) === undefined && slice.skip > WINDOW_MAX;
    const rest = isCountable ? await skipWindows(source, query, slice) : slice;
    return firstPage(listInWindows(source, query, rest, rest.skip + rest.take + 1), rest, undefined);
  },
  ranked: async (condition, query) => {
    await source.catchUp(query.versions);
    const rows = listed(await source.ranked(condition), query);
    return query.search === undefined ? rows : rows.filter((row) => query.search?.match(row).isMatch);
  },
  mayMatch: async ({ search: { grams }, newest, versions }) => {
    await source.catchUp(versions);
    const gram = await rarestGram(grams, newest);
    const window: Window = { order: 'DESC', from: 1, to: newest + 1 };
    const candidateIds = await Promise.all(
      [gram.text, EVERY_SEARCH].map((one) => source.candidates(one, window)),
    );
    return [...new Set(candidateIds.flat().map(({ _id }) => _id))];
  },
  among: async ({ ids, search: { match }, accept = () => true, versions }, slice) => {
    await source.catchUp(versions);
    const accepted = (row: ListRow) => (accept(row) ? match(row) : { isMatch: false, characters: 0 });
    return firstPage(matching(inGivenOrder(source, ids), accepted), slice, { isCounted: slice.counted });
  },
  count: async (key, versions) => {
    await source.catchUp(versions);
    return source.count({ keys: [key], newest: 0 }, { from: 1, to: Number.MAX_SAFE_INTEGER });
  },
  cachedCount: async (key, versions) => {
    await source.catchUp(versions);
    return source.cachedCount(key);
  },
});
