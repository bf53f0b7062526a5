/**
 * Reads the rows of a list in the order of their ids, at the same cost at any cursor (docs/adr/0101). There are three
 * plans: windows of ids if most rows are in the list, the condition of the list if few are, and for a text search the
 * index of its rarest gram (`grams` of each row, see text-search.ts). Estimates decide which one is cheapest. Each plan
 * queries one index; all other conditions are checked here.
 *
 * A search reads limited rows and characters, also if its text does not occur among many candidates. Then it returns what
 * it has found and from where the next page continues, so that no match is missed.
 */
import type { Collection } from 'mongoose';
import type { CursorKey, PageOf, PageRequest } from '../kernel/page.ts';
import { hasSearchTerms, type TextMatch } from '../kernel/text-search.ts';
import { candidateConditions, type Gram, rarestGram } from './gram-shares.ts';
import {
  type FoldedRows,
  PORTION_CHARACTERS,
  rowMatcher,
  textLength,
  yieldToEventLoop,
} from './search-rows.ts';

export type Order = 'ASC' | 'DESC';

export interface ListQuery {
  /**
   * A condition of every row of the list: one field that equals one or one of several values, with an index that is
   * ordered by id; or that and a range of the next field of the index, which is read completely.
   */
  condition: Record<string, unknown>;
  /** Whether a row is in the list, not considering `search`. */
  accept: (row: ListRow) => boolean;
  /** Number of rows of the list, not considering `search`; may be an estimate. */
  total: number;
  /** The largest id. */
  newest: number;
  /** Not folded; ignored if it folds to ''. */
  search?: string | undefined;
}

export interface Slice {
  order: Order;
  /** Only ids after this one in `order`. */
  after?: number | undefined;
  skip: number;
  take: number;
  /** Whether to count the rows of a search. */
  counted: boolean;
  /** A search ends when the client has gone. */
  signal?: AbortSignal | undefined;
}

/** A stored row without `grams`. */
export interface ListRow {
  _id: number;
  [field: string]: unknown;
}

export interface Listed {
  rows: ListRow[];
  /** Whether more rows follow, or may follow after `continueAfter`. */
  more: boolean;
  /** Of a search that ended at its limit, before the page was full: the next page continues after this id. */
  continueAfter?: number | undefined;
  /** Number of rows after `after`, if it is known. */
  total: number | undefined;
}

export interface ListReader {
  read(query: ListQuery, slice: Slice): Promise<Listed>;
}

/** The results of a search that would have to read more rows than this are not counted. */
export const COUNTED_MAX = 1_000;
/** How much one page of a search reads at most; characters count in the folded form. */
export const SEARCHED_ROWS_MAX = 5_000;
export const SEARCHED_CHARACTERS_MAX = 8_000_000;
/** Rows of one query of a search at most. */
const SEARCH_CHUNK = COUNTED_MAX + 1;
const FIRST_SEARCH_CHUNK = 250;
/** Later queries of a search read as many rows as have about this many characters. */
const SEARCH_CHUNK_CHARACTERS = 1_000_000;
/** Sample sizes for the estimate of how common a gram is. The second one is used if the first estimate was wrong. */
const SAMPLES = [128, 1_024] as const;
/** An estimate counts as wrong after this many times the estimated rows. */
const BUDGET_FACTOR = 4;
/** The first window is wider than estimated, so that one query is enough for most pages; the next ones grow. */
const FIRST_WINDOW_SLACK = 1.3;
const FIRST_WINDOW_EXTRA = 8;
const WINDOW_GROWTH = 4;
/** Ids of one window. Limited because a database may compare every row with every id of `$in`. */
const WINDOW_MAX = 500;

type Projection = Readonly<Record<string, 0 | 1>>;
const WITHOUT_GRAMS: Projection = { grams: 0 };

interface Plan {
  /** Indexed conditions; no row meets two of them. Undefined: windows of ids. */
  conditions: readonly Record<string, unknown>[] | undefined;
  /** The gram that the conditions select. */
  gram?: string | undefined;
  /** Estimated number of rows to read. */
  cost: number;
  /** Whether all rows of the plan may be read to count the results. */
  isCountable: boolean;
}

interface Batch {
  rows: ListRow[];
  /** The last id; the next batch starts after it. */
  lastId: number | undefined;
  isLast: boolean;
}

/** The matching rows of a batch, or of a part of it. */
interface Portion extends Batch {
  /** How many rows were read for it. */
  read: number;
  /** How many characters were searched. */
  characters: number;
  isCountable: boolean;
}

const direction = (order: Order): 1 | -1 => (order === 'ASC' ? 1 : -1);

/** A search reads chunks, and a database may read all rows for each chunk. */
const searchCost = (rows: number): number => rows * Math.max(1, rows / SEARCH_CHUNK);

/** @param densityMax The share of matching rows among those read so far; 1 at the start. */
const cheapestPlan = (query: ListQuery, slice: Slice, gram: Gram | undefined, densityMax: number): Plan => {
  const { condition, total, newest } = query;
  const byList = { conditions: [condition], cost: gram === undefined ? total : searchCost(total) };
  const byGram = gram && {
    conditions: candidateConditions(gram),
    gram: gram.text,
    cost: searchCost(gram.share * newest),
  };
  const byIndex = byGram === undefined || byList.cost < byGram.cost ? byList : byGram;
  const density = Math.min((total / newest) * (gram?.share ?? 1), densityMax);
  const byWindows = { conditions: undefined, cost: (slice.skip + slice.take + 1) / density };
  const isCountable = slice.counted && gram !== undefined && byIndex.cost <= COUNTED_MAX;
  return { ...(isCountable || byIndex.cost <= byWindows.cost ? byIndex : byWindows), isCountable };
};

/** After this many rows the plan is chosen again. Below {@link COUNTED_MAX} rows a second sample would cost more. */
const budgetOf = ({ conditions, cost }: Plan, isSearch: boolean): number =>
  isSearch && conditions !== undefined ? Math.max(cost * BUDGET_FACTOR, COUNTED_MAX) : cost * BUDGET_FACTOR;

/** The next `width` ids after `lastId` in `order`. */
const idsAfter = (lastId: number, width: number, newest: number, order: Order): number[] =>
  order === 'ASC'
    ? Array.from({ length: Math.max(Math.min(width, newest - lastId), 0) }, (_, index) => lastId + 1 + index)
    : Array.from({ length: Math.max(Math.min(width, lastId - 1), 0) }, (_, index) => lastId - 1 - index);

/** Limits the cursor, which is client input, to the range of ids. */
const startId = ({ order, after }: Slice, newest: number): number =>
  order === 'ASC'
    ? Math.max(Math.floor(after ?? 0), 0)
    : Math.min(Math.ceil(after ?? newest + 1), newest + 1);

const inOrder = (rows: ListRow[], order: Order): ListRow[] =>
  rows.sort((a, b) => direction(order) * (a._id - b._id));

const isAfter = (id: number, after: number | undefined, order: Order): boolean =>
  after === undefined || (order === 'ASC' ? id > after : id < after);

/** Whether the condition contains a range: the index is then not ordered by id. */
const hasRange = (condition: Record<string, unknown>): boolean =>
  Object.values(condition).some(
    (wanted) => typeof wanted === 'object' && wanted !== null && !Object.hasOwn(wanted, '$in'),
  );

/** Of a collection that keeps rows in memory. */
interface ListMemory {
  /** Those that exist, in any order, without their grams. */
  findByIds(ids: readonly number[]): Promise<ListRow[]>;
  /**
   * The ids of all rows that may contain a text with this gram, in any order; undefined for too many. `estimate`: of them.
   */
  candidates(gram: string, estimate: number): Promise<readonly number[] | undefined>;
}

interface ListSource {
  /** The fields that a search reads. */
  texts: readonly string[];
  /** The fields that `ListQuery.accept` reads. */
  accepted: readonly string[];
  memory?: ListMemory;
}

export const createListReader = (
  collection: Collection,
  { texts, accepted, memory }: ListSource,
): ListReader => {
  const folded: FoldedRows | undefined = memory && new WeakMap();
  const acceptedOnly: Projection = Object.fromEntries(accepted.map((field) => [field, 1]));

  const find = async (filter: Record<string, unknown>, projection: Projection): Promise<ListRow[]> =>
    (await collection.find(filter as never, { projection }).toArray()) as unknown as ListRow[];

  /** The rows of a window of ids. */
  const findWindow = (ids: readonly number[], projection: Projection): Promise<ListRow[]> =>
    memory !== undefined && projection === WITHOUT_GRAMS
      ? memory.findByIds(ids)
      : find({ _id: { $in: ids } }, projection);

  const findFirst = async (
    filter: Record<string, unknown>,
    projection: Projection,
    order: Order,
    limit: number,
  ): Promise<ListRow[]> => {
    const cursor = collection.find(filter as never, { projection }).sort({ _id: direction(order) });
    return (await cursor.limit(limit).toArray()) as unknown as ListRow[];
  };

  /**
   * The next rows of all conditions in order. When one condition returns `limit` rows, rows of the others after its last one
   * are left to the next chunk: rows of this condition may come before them.
   */
  const findChunk = async (
    conditions: readonly Record<string, unknown>[],
    { order, after }: Pick<Slice, 'order' | 'after'>,
    projection: Projection,
    limit: number,
  ): Promise<Batch> => {
    const bound = after === undefined ? {} : { _id: order === 'ASC' ? { $gt: after } : { $lt: after } };
    const found = await Promise.all(
      conditions.map((condition) => findFirst({ ...condition, ...bound }, projection, order, limit)),
    );
    const ends = found.flatMap((rows) => (rows.length < limit ? [] : [rows.at(-1)?._id ?? 0]));
    const end = ends.length === 0 ? undefined : order === 'ASC' ? Math.min(...ends) : Math.max(...ends);
    const rows = found.flat().filter(({ _id }) => end === undefined || !isAfter(_id, end, order));
    return { rows: inOrder(rows, order), lastId: end ?? after, isLast: end === undefined };
  };

  async function* fromIndex(
    conditions: readonly Record<string, unknown>[],
    slice: Slice,
    projection: Projection,
    chunk: { first: number; isSearch: boolean },
  ): AsyncGenerator<Batch> {
    const { order, after } = slice;
    const [only] = conditions;
    if (only !== undefined && hasRange(only)) {
      const rows = (await find(only, projection)).filter(({ _id }) => isAfter(_id, after, order));
      yield { rows: inOrder(rows, order), lastId: after, isLast: true };
      return;
    }
    let limit = chunk.first;
    for (let lastId = after; ; ) {
      const batch = await findChunk(conditions, { order, after: lastId }, projection, limit);
      lastId = batch.lastId;
      yield batch;
      if (batch.isLast) return;
      if (chunk.isSearch) limit = nextChunk(batch.rows);
    }
  }

  /** The rows of a search by ids in memory; from the index for a gram that too many rows contain. */
  async function* fromCandidates(
    { conditions = [], gram, cost }: Omit<Plan, 'isCountable'>,
    slice: Slice,
    projection: Projection,
  ): AsyncGenerator<Batch> {
    const { order, after } = slice;
    const candidates = gram === undefined ? undefined : await memory?.candidates(gram, cost);
    if (memory === undefined || candidates === undefined) {
      yield* fromIndex(conditions, slice, projection, { first: FIRST_SEARCH_CHUNK, isSearch: true });
      return;
    }
    const ids = candidates.filter((id) => isAfter(id, after, order));
    ids.sort((a, b) => direction(order) * (a - b));
    for (let start = 0; start === 0 || start < ids.length; start += FIRST_SEARCH_CHUNK) {
      const chunk = ids.slice(start, start + FIRST_SEARCH_CHUNK);
      const rows = inOrder(await memory.findByIds(chunk), order);
      yield { rows, lastId: chunk.at(-1) ?? after, isLast: start + FIRST_SEARCH_CHUNK >= ids.length };
    }
  }

  const nextChunk = (rows: readonly ListRow[]): number => {
    const characters = rows.reduce((sum, row) => sum + textLength(row, texts), 0);
    const average = Math.max(characters / Math.max(rows.length, 1), 1);
    return Math.min(Math.ceil(SEARCH_CHUNK_CHARACTERS / average), SEARCH_CHUNK);
  };

  async function* fromWindows(
    newest: number,
    slice: Slice,
    projection: Projection,
    width: number,
  ): AsyncGenerator<Batch> {
    let lastId = startId(slice, newest);
    let size = Math.ceil(width * FIRST_WINDOW_SLACK) + FIRST_WINDOW_EXTRA;
    for (let isLast = false; !isLast; size *= WINDOW_GROWTH) {
      const ids = idsAfter(lastId, Math.min(size, WINDOW_MAX), newest, slice.order);
      const rows = ids.length === 0 ? [] : await findWindow(ids, projection);
      lastId = ids.at(-1) ?? lastId;
      isLast = slice.order === 'ASC' ? lastId >= newest : lastId <= 1;
      yield { rows: inOrder(rows, slice.order), lastId, isLast };
    }
  }

  const batches = (
    plan: Plan,
    query: ListQuery,
    slice: Slice,
    projection: Projection,
  ): AsyncGenerator<Batch> => {
    if (plan.conditions === undefined) return fromWindows(query.newest, slice, projection, plan.cost);
    if (hasSearchTerms(query.search)) return fromCandidates(plan, slice, projection);
    const first = slice.skip + slice.take + 1;
    return fromIndex(plan.conditions, slice, projection, { first, isSearch: false });
  };

  /** The rows of a batch that `accept` and the text match, in portions, because folding long texts takes time. */
  async function* search(
    { rows, lastId, isLast }: Batch,
    accept: (row: ListRow) => boolean,
    match: (row: ListRow) => TextMatch,
  ): AsyncGenerator<Omit<Portion, 'isCountable'>> {
    let found: ListRow[] = [];
    let read = 0;
    let characters = 0;
    for (const row of rows) {
      read += 1;
      if (accept(row)) {
        const searched = match(row);
        characters += searched.characters;
        if (searched.isMatch) found.push(row);
      }
      if (characters < PORTION_CHARACTERS) continue;
      yield { rows: found, lastId: row._id, isLast: false, read, characters };
      await yieldToEventLoop();
      [found, read, characters] = [[], 0, 0];
    }
    yield { rows: found, lastId, isLast, read, characters };
  }

  /** The matching rows in order, by the cheapest plan; by another one as soon as the first exceeds its budget. */
  async function* matchingRows(
    query: ListQuery,
    slice: Slice,
    projection: Projection,
  ): AsyncGenerator<Portion> {
    const { accept, search: text } = query;
    const match = hasSearchTerms(text) ? rowMatcher(texts, text, folded) : undefined;
    let rest = slice;
    let seen = 0;
    let kept = 0;
    for (const size of SAMPLES) {
      const gram = hasSearchTerms(text)
        ? await rarestGram(collection, text, texts, { newest: query.newest, size })
        : undefined;
      const plan = cheapestPlan(query, rest, gram, seen === 0 ? 1 : (kept + 1) / seen);
      const { isCountable } = plan;
      const budget = size === SAMPLES.at(-1) ? Number.POSITIVE_INFINITY : budgetOf(plan, match !== undefined);
      for await (const batch of batches(plan, query, rest, projection)) {
        if (match === undefined) {
          const rows = batch.rows.filter(accept);
          kept += rows.length;
          yield { ...batch, rows, read: batch.rows.length, characters: 0, isCountable };
        } else
          for await (const portion of search(batch, accept, match)) {
            kept += portion.rows.length;
            yield { ...portion, isCountable };
          }
        if (batch.isLast) return;
        seen += batch.rows.length;
        rest = { ...rest, after: batch.lastId };
        if (seen > budget) break;
      }
    }
  }

  /** The id of the last of `slice.skip` rows, read without contents; undefined after the end. Not for searches. */
  const lastSkippedId = async (query: ListQuery, slice: Slice): Promise<number | undefined> => {
    let left = slice.skip;
    for await (const { rows } of matchingRows(query, slice, acceptedOnly)) {
      if (rows.length >= left) return rows[left - 1]?._id;
      left -= rows.length;
    }
    return undefined;
  };

  const readRows = async (query: ListQuery, slice: Slice): Promise<Listed> => {
    const isSearch = hasSearchTerms(query.search);
    const found: ListRow[] = [];
    let count = 0;
    let read = 0;
    let characters = 0;
    for await (const portion of matchingRows(query, slice, WITHOUT_GRAMS)) {
      for (const row of portion.rows) {
        count += 1;
        if (count > slice.skip && found.length <= slice.take) found.push(row);
      }
      const more = found.length > slice.take;
      const rows = found.slice(0, slice.take);
      if (portion.isLast) return { rows, more, total: count };
      read += portion.read;
      characters += portion.characters;
      const isSpent =
        read >= SEARCHED_ROWS_MAX || characters >= SEARCHED_CHARACTERS_MAX || slice.signal?.aborted === true;
      const isCounting = portion.isCountable && read <= COUNTED_MAX;
      if (more && (isSpent || !isCounting)) return { rows, more, total: undefined };
      if (isSearch && isSpent) return { rows, more: true, continueAfter: portion.lastId, total: undefined };
    }
    return { rows: found, more: false, total: undefined };
  };

  return {
    read: async (query, slice) => {
      if (query.total <= 0) return { rows: [], more: false, total: 0 };
      if (slice.skip === 0 || hasSearchTerms(query.search)) return readRows(query, slice);
      const after = await lastSkippedId(query, slice);
      if (after === undefined) return { rows: [], more: false, total: undefined };
      return readRows(query, { ...slice, after, skip: 0 });
    },
  };
};

/**
 * A page of a list with a known total (`query.total` must be exact, not considering `search`); the cursor is the last id.
 * The total of a search is undefined if there are too many rows to count.
 */
export const readListPage = async <Row extends { id: number }>(
  read: (slice: Slice) => Promise<Omit<Listed, 'rows'> & { rows: Row[] }>,
  { total: known, search }: Pick<ListQuery, 'total' | 'search'>,
  order: Order,
  request: PageRequest,
): Promise<PageOf<Row>> => {
  const isPaged = request.mode === 'page';
  const skip = isPaged ? request.skip : 0;
  const { signal } = request;
  const isSearch = hasSearchTerms(search);
  if (skip >= known) {
    const total = isSearch && known > 0 ? await countResults(read, signal) : known;
    return { rows: [], total: isPaged ? total : undefined, next: undefined };
  }
  const after = isPaged ? undefined : request.after[0];
  const found = await read({ order, after, skip, take: request.perPage, counted: isPaged, signal });
  const last = found.continueAfter ?? found.rows.at(-1)?.id;
  const total = isSearch ? found.total : known;
  return {
    rows: found.rows,
    total: isPaged ? total : undefined,
    next: found.more && last !== undefined ? [last] : undefined,
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
    total: known,
    search,
  }: {
    /** The ranked rows that match the filter and the text. */
    ranked: readonly RankedId[];
    /** In the order of `ids`. */
    findMany: (ids: readonly number[]) => Promise<Row[]>;
    /** Reads the rows of rank 0. */
    readRest: (slice: Slice) => Promise<Omit<Listed, 'rows'> & { rows: Row[] }>;
  } & Pick<ListQuery, 'total' | 'search'>,
  request: PageRequest,
): Promise<PageOf<Row>> => {
  const isPaged = request.mode === 'page';
  const skip = isPaged ? request.skip : 0;
  const { signal } = request;
  const isSearch = hasSearchTerms(search);
  if (skip >= known) {
    const others = isSearch && known > 0 ? await countResults(readRest, signal) : known;
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
    total: isPaged ? (isSearch ? matches : known) : undefined,
    next: moreRanked || rest.more ? last : undefined,
  };
};
