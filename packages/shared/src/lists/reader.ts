/** Reads pages of lists and searches in windows of ids, at the same cost at any cursor (README.md, docs/adr/0101). */
import { EVERY_SEARCH, type TextMatch } from '../kernel/text-search.ts';
import type { Gram, RarestGram } from './grams.ts';
import {
  hasAnyKey,
  KEYS_MAX,
  type Listed,
  type ListQuery,
  type ListRow,
  type ListSource,
  type Lists,
  meets,
  type RowSearch,
  type Slice,
  WINDOW_MAX,
  type Window,
} from './list.ts';
import {
  endOf,
  inOrder,
  inWindows,
  isAfter,
  isEnd,
  startOf,
  WINDOW_GROWTH,
  widthFor,
  windowAfter,
} from './windows.ts';

/** A list with at most this many rows is read as a whole. */
const WHOLE_MAX = 250;
/** Rows of a search that are read at once: each may have 20,000 characters. */
const SEARCH_CHUNK = 250;
/** The results of a search that would have to read more rows than this are not counted. */
export const COUNTED_MAX = 1_000;
/** How much one page of a search reads at most; characters count in the folded form. */
export const SEARCHED_ROWS_MAX = 5_000;
export const SEARCHED_CHARACTERS_MAX = 8_000_000;
/** Characters that are searched before a pause for other work: a search of long texts takes seconds of CPU time. */
const PORTION_CHARACTERS = 100_000;

/** Rows of the list in order, before the texts are compared. */
interface Batch {
  rows: readonly ListRow[];
  /** How many rows were read for it. */
  read: number;
  /** How many rows are known to follow, unread; undefined: none. */
  left?: number;
  /** The next batch starts after this id. */
  lastId: number;
  isLast: boolean;
}

interface Portion extends Batch {
  /** How many characters were searched. */
  characters: number;
}

const newestOf = ({ newest }: ListQuery): number => Math.max(newest, 1);
/** Rows per id, above 0 and up to 1. If the total is unknown, the first window tells more. */
const densityOf = ({ total = Number.POSITIVE_INFINITY, newest }: ListQuery): number =>
  Math.min(Math.max(total, 1) / Math.max(newest, 1), 1);
const isSmall = ({ total = Number.POSITIVE_INFINITY }: ListQuery, max: number): boolean => total <= max;
/** Windows of many keys, or of rows that a condition excludes, cost more than reading the whole list. */
const isWhole = (query: ListQuery): boolean =>
  isSmall(query, query.condition !== undefined || query.keys.length > KEYS_MAX ? COUNTED_MAX : WHOLE_MAX);

export const createReader = (source: ListSource, rarestGram: RarestGram): Lists => {
  /** Whether a row that has a key of the list is in it. */
  const isListed = ({ accept, condition = {}, without = [] }: ListQuery): ((row: ListRow) => boolean) => {
    const others = new Set(without);
    return (row) => !others.has(row._id) && meets(row, condition) && (accept?.(row) ?? true);
  };

  const listed = (rows: readonly ListRow[], query: ListQuery): ListRow[] =>
    rows.filter((row) => hasAnyKey(row, query)).filter(isListed(query));

  async function* wholeList(query: ListQuery, slice: Slice): AsyncGenerator<Batch> {
    const candidateRows = await source.whole(query);
    const start = startOf(slice, newestOf(query));
    const rows = candidateRows.filter((row) => isAfter(row._id, start, slice.order)).filter(isListed(query));
    yield { rows: inOrder(rows, slice.order), read: candidateRows.length, lastId: start, isLast: true };
  }

  /** `rowCount`: how many rows the slice needs. */
  async function* listInWindows(query: ListQuery, slice: Slice, rowCount: number): AsyncGenerator<Batch> {
    const read = (window: Window) => source.windows(query, window);
    const firstWidth = widthFor(rowCount, densityOf(query));
    const widths = { firstWidth, widthMax: Number.POSITIVE_INFINITY, limit: WINDOW_MAX };
    for await (const { items, ...batch } of inWindows(slice, newestOf(query), widths, read))
      yield { ...batch, rows: items.filter(isListed(query)), read: items.length };
  }

  async function* candidates(
    query: ListQuery,
    slice: Slice,
    gram: Gram,
    firstWidth: number,
  ): AsyncGenerator<Batch> {
    const read = (window: Window) =>
      Promise.all([gram.text, EVERY_SEARCH].map((one) => source.candidates(one, window)));
    const widths = { firstWidth, widthMax: COUNTED_MAX / gram.share, limit: Number.POSITIVE_INFINITY };
    for await (const { items, ...batch } of inWindows(slice, newestOf(query), widths, read)) {
      for await (const chunk of inGivenOrder(items.map(({ _id }) => _id)))
        yield { ...chunk, ...(chunk.isLast ? batch : {}), rows: listed(chunk.rows, query) };
    }
  }

  async function* inGivenOrder(ids: readonly number[]): AsyncGenerator<Batch> {
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

  /** The rows of batches whose texts match, in portions, because folding long texts takes time. */
  async function* matching(
    batches: AsyncIterable<Batch>,
    match: (row: ListRow) => TextMatch,
  ): AsyncGenerator<Portion> {
    for await (const batch of batches) {
      let matches: ListRow[] = [];
      let characters = 0;
      for (const row of batch.rows) {
        const searched = match(row);
        characters += searched.characters;
        if (searched.isMatch) matches.push(row);
        if (characters < PORTION_CHARACTERS) continue;
        const left = batch.read + (batch.left ?? 0);
        yield { rows: matches, read: 0, left, lastId: row._id, isLast: false, characters };
        await new Promise(setImmediate);
        [matches, characters] = [[], 0];
      }
      yield { ...batch, rows: matches, characters };
    }
  }

  /** The first page of `portions`. `isCounted`: all portions are read to count them, unless there are too many. */
  const page = async (
    portions: AsyncIterable<Batch & Partial<Portion>>,
    { skip, take, signal }: Omit<Slice, 'order'>,
    search: { isCounted: boolean } | undefined,
  ): Promise<Listed> => {
    const collected: ListRow[] = [];
    let [total, read, searched] = [0, 0, 0];
    for await (const portion of portions) {
      for (const row of portion.rows) {
        total += 1;
        if (total > skip && collected.length <= take) collected.push(row);
      }
      const more = collected.length > take;
      const rows = collected.slice(0, take);
      read += portion.read;
      searched += portion.characters ?? 0;
      const isCountable = search === undefined || read + (portion.left ?? 0) <= COUNTED_MAX;
      if (portion.isLast) return { rows, more, total: isCountable ? total : undefined };
      const isSpent =
        read >= SEARCHED_ROWS_MAX || searched >= SEARCHED_CHARACTERS_MAX || signal?.aborted === true;
      const isCounting = search?.isCounted === true && isCountable && !isSpent;
      if ((more && !isCounting) || signal?.aborted === true) return { rows, more, total: undefined };
      if (search !== undefined && isSpent)
        return { rows, more: true, continueAfter: portion.lastId, total: undefined };
    }
    return { rows: collected, more: false, total: undefined };
  };

  const search = async (query: ListQuery, slice: Slice, { grams, match }: RowSearch): Promise<Listed> => {
    const inList = (rows: AsyncIterable<Batch>) =>
      page(matching(rows, match), slice, { isCounted: slice.counted });
    if (isWhole(query)) return inList(wholeList(query, slice));
    const gram = await rarestGram(grams, newestOf(query));
    // A short list of a large collection has fewer rows than the gram.
    if (isSmall(query, Math.min(COUNTED_MAX, gram.share * newestOf(query))))
      return inList(listInWindows(query, slice, SEARCH_CHUNK));
    // The error of the estimate shows when the ids are known.
    const mayBeCounted = gram.isRare || gram.share * newestOf(query) <= 2 * COUNTED_MAX;
    const isCounted = slice.counted && mayBeCounted;
    const width = isCounted
      ? newestOf(query)
      : widthFor(slice.skip + slice.take + 1, gram.share * densityOf(query));
    return page(matching(candidates(query, slice, gram, width), match), slice, { isCounted });
  };

  /** Skips whole windows by counting their rows. The rest to skip fits in one window. */
  const skipWindows = async (query: ListQuery, slice: Slice): Promise<Slice> => {
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

  return {
    read: async (query, slice) => {
      if (query.keys.length === 0 || query.total === 0) return { rows: [], more: false, total: 0 };
      await source.catchUp(query.versions);
      if (query.search !== undefined) return search(query, slice, query.search);
      if (isWhole(query)) return page(wholeList(query, slice), slice, undefined);
      const isCountable = (query.accept ?? query.condition) === undefined && slice.skip > WINDOW_MAX;
      const rest = isCountable ? await skipWindows(query, slice) : slice;
      return page(listInWindows(query, rest, rest.skip + rest.take + 1), rest, undefined);
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
      return page(matching(inGivenOrder(ids), accepted), slice, { isCounted: slice.counted });
    },
    count: async (key, versions) => {
      await source.catchUp(versions);
      return source.count({ keys: [key], newest: 0 }, { from: 1, to: Number.MAX_SAFE_INTEGER });
    },
    cachedCount: async (key, versions) => {
      await source.catchUp(versions);
      return source.cachedCount(key);
    },
  };
};
