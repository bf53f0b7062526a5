/** Pages of lists: their totals and cursors. */
import type { CursorKey, PageOf, PageRequest } from '../kernel/page.ts';
import { hasSearchTerms } from '../kernel/text-search.ts';
import type { Listed, Order, Slice } from './list.ts';

/**
 * A page of a list with a known total (`query.total` must be exact, not considering `search`); the cursor is the last id.
 * The total of a search is undefined if there are too many rows to count.
 */
export const readListPage = async <Row extends { id: number }>(
  read: (slice: Slice) => Promise<Omit<Listed, 'rows'> & { rows: Row[] }>,
  { total: listTotal, search }: { total: number; search?: string | undefined },
  order: Order,
  request: PageRequest,
): Promise<PageOf<Row>> => {
  const isPaged = request.mode === 'page';
  const skip = isPaged ? request.skip : 0;
  const { signal } = request;
  const isSearch = hasSearchTerms(search);
  if (skip >= listTotal) {
    const total = isSearch && listTotal > 0 ? await countResults(read, signal) : listTotal;
    return { rows: [], total: isPaged ? total : undefined, next: undefined };
  }
  const after = isPaged ? undefined : request.after[0];
  const page = await read({ order, after, skip, take: request.perPage, counted: isPaged, signal });
  const last = page.continueAfter ?? page.rows.at(-1)?.id;
  const total = isSearch ? page.total : listTotal;
  return {
    rows: page.rows,
    total: isPaged ? total : undefined,
    next: page.more && last !== undefined ? [last] : undefined,
  };
};

/** The number of results of a search; undefined if there are too many rows to count. */
const countResults = async (
  read: (slice: Slice) => Promise<Pick<Listed, 'total'>>,
  signal: AbortSignal | undefined,
): Promise<number | undefined> =>
  (await read({ order: 'DESC', skip: 0, take: 0, counted: true, signal })).total;

/** A row with a rank, such as a boosted one; it comes before the rows of rank 0. */
export interface RankedId {
  id: number;
  /** At least 1; a larger one comes first. */
  rank: number;
}

/**
 * A page of a list that begins with few ranked rows, by rank and then the newest; the rows of rank 0 follow, newest first.
 * The cursor is the rank and the id of the last row. See {@link readListPage} for totals.
 */
export const readRankedPage = async <Row extends { id: number }>(
  {
    ranked: all,
    findMany,
    readRest,
    total: listTotal,
    search,
  }: {
    /** The ranked rows that match the filter and the text. */
    ranked: readonly RankedId[];
    /** In the order of `ids`. */
    findMany: (ids: readonly number[]) => Promise<Row[]>;
    /** Reads the rows of rank 0. */
    readRest: (slice: Slice) => Promise<Omit<Listed, 'rows'> & { rows: Row[] }>;
    total: number;
    search?: string | undefined;
  },
  request: PageRequest,
): Promise<PageOf<Row>> => {
  const isPaged = request.mode === 'page';
  const skip = isPaged ? request.skip : 0;
  const { signal } = request;
  const isSearch = hasSearchTerms(search);
  if (skip >= listTotal) {
    const others = isSearch && listTotal > 0 ? await countResults(readRest, signal) : listTotal;
    const total = isSearch && others !== undefined ? others + all.length : others;
    return { rows: [], total: isPaged ? total : undefined, next: undefined };
  }
  const [rank = Number.POSITIVE_INFINITY, after] = isPaged ? [] : request.after;
  const ranked = all
    .filter((leader) => leader.rank < rank || (leader.rank === rank && leader.id < Number(after)))
    .toSorted((a, b) => b.rank - a.rank || b.id - a.id);
  const first = ranked.slice(skip, skip + request.perPage);
  const rest = await readRest({
    order: 'DESC',
    after: rank === 0 ? after : undefined,
    skip: Math.max(skip - ranked.length, 0),
    take: request.perPage - first.length,
    counted: isPaged,
    signal,
  });
  const rows = [...(await findMany(first.map(({ id }) => id))), ...rest.rows];
  const matches = rest.total === undefined ? undefined : ranked.length + rest.total;
  const moreRanked = ranked.length > skip + first.length;
  const lastOther = moreRanked ? undefined : (rest.continueAfter ?? rest.rows.at(-1)?.id);
  const lastRanked = first.at(-1);
  const last: CursorKey | undefined =
    lastOther === undefined ? lastRanked && [lastRanked.rank, lastRanked.id] : [0, lastOther];
  return {
    rows,
    total: isPaged ? (isSearch ? matches : listTotal) : undefined,
    next: moreRanked || rest.more ? last : undefined,
  };
};
