/**
 * The rows of a list in the order of their ids, at the same cost at any depth of a cursor (docs/adr/0013). There are
 * three ways to read one: windows of ids where most rows are in the list, the list's own condition where few are, and
 * for a text the index of its rarest gram (`grams` of each row, see text-search.ts). What is known beforehand tells
 * which is the cheapest. Each asks for what one index answers whole, and everything else is looked at here.
 */
import type { Collection } from 'mongoose';
import type { PageOf, PageRequest } from '../http/pagination.ts';
import { asksForText } from '../text-search.ts';
import { type Gram, holdsText, rarestGram } from './gram-shares.ts';

export type Order = 'ASC' | 'DESC';

export interface ListQuery {
  /**
   * What every row of the list meets: one field that is equal to a value, or to one of several, which an index answers
   * in the order of the ids; or that and a range of another field behind it in an index, which is read whole.
   */
  condition: Record<string, unknown>;
  /** Whether a row is in the list, its text left aside. */
  accept: (row: ListRow) => boolean;
  /** How many rows the list has, its text left aside; a guess does. */
  total: number;
  /** No id is larger. */
  newest: number;
  /** As it was written; one that folds to nothing asks for nothing. */
  search?: string | undefined;
}

export interface Slice {
  order: Order;
  /** Ids beyond this one; from the beginning without it. */
  after?: number | undefined;
  skip: number;
  take: number;
  /** Whether a search shall tell how many rows it finds. */
  counted: boolean;
}

/** A row as stored, without its grams. */
export interface ListRow {
  _id: number;
  [field: string]: unknown;
}

export interface Listed {
  rows: ListRow[];
  /** Whether rows follow. */
  more: boolean;
  /** How many there are from `after` on; undefined where that was not learnt on the way. */
  total: number | undefined;
}

export interface ListReader {
  read(query: ListQuery, slice: Slice): Promise<Listed>;
}

/** What is in more rows than this is not counted. */
export const COUNTED_MAX = 1_000;
const SEARCH_CHUNK = COUNTED_MAX + 1;
/** Rows that are looked at to guess how common a text is: some, and more where the guess was wrong. */
const SAMPLES = [128, 1_024] as const;
/** With so many times the rows that were expected, the guess was wrong. */
const BUDGET = 4;
const FIRST_SLACK = 1.3;
const WINDOW_GROWTH = 4;
/** A database may compare each row with each id that is named. */
const WINDOW_MAX = 500;

type Projection = Readonly<Record<string, 0 | 1>>;
const WHOLE: Projection = { grams: 0 };

interface Way {
  /** What an index is asked for; undefined for windows of ids. */
  condition: Record<string, unknown> | undefined;
  /** Rows that will be read, about. */
  cost: number;
}

/** Some rows in order. */
interface Batch {
  rows: ListRow[];
  /** Where the next one begins. */
  edge: number | undefined;
  isLast: boolean;
}

const direction = (order: Order): 1 | -1 => (order === 'ASC' ? 1 : -1);

/** A text is sought chunk after chunk, and a database may read all rows for each. */
const searchCost = (rows: number): number => rows * Math.max(1, rows / SEARCH_CHUNK);

/** `densityMax`: of the rows that were looked at, how many were wanted; 1 where none were. */
const cheapestWay = (query: ListQuery, slice: Slice, gram: Gram | undefined, densityMax: number): Way => {
  const { condition, total, newest } = query;
  const byList: Way = { condition, cost: gram === undefined ? total : searchCost(total) };
  const byGram = gram && { condition: { grams: gram.text }, cost: searchCost(gram.share * newest) };
  const byIndex = byGram === undefined || byList.cost < byGram.cost ? byList : byGram;
  const density = Math.min((total / newest) * (gram?.share ?? 1), densityMax);
  const byWindows: Way = { condition: undefined, cost: (slice.skip + slice.take + 1) / density };
  const isCountable = slice.counted && gram !== undefined && byIndex.cost <= COUNTED_MAX;
  return isCountable || byIndex.cost <= byWindows.cost ? byIndex : byWindows;
};

/** The ids of a window of `width` beyond `edge`, in order. */
const idsBeyond = (edge: number, width: number, newest: number, order: Order): number[] =>
  order === 'ASC'
    ? Array.from({ length: Math.max(Math.min(width, newest - edge), 0) }, (_, index) => edge + 1 + index)
    : Array.from({ length: Math.max(Math.min(width, edge - 1), 0) }, (_, index) => edge - 1 - index);

/** A cursor may say anything; ids lie between 0 and the one after the newest. */
const firstEdge = ({ order, after }: Slice, newest: number): number =>
  order === 'ASC'
    ? Math.max(Math.floor(after ?? 0), 0)
    : Math.min(Math.ceil(after ?? newest + 1), newest + 1);

const inOrder = (rows: ListRow[], order: Order): ListRow[] =>
  rows.sort((a, b) => direction(order) * (a._id - b._id));

const isBeyond = (id: number, after: number | undefined, order: Order): boolean =>
  after === undefined || (order === 'ASC' ? id > after : id < after);

/** An index with a range in it is not in the order of the ids behind that. */
const hasRange = (condition: Record<string, unknown>): boolean =>
  Object.values(condition).some(
    (wanted) => typeof wanted === 'object' && wanted !== null && !Object.hasOwn(wanted, '$in'),
  );

/** `texts`: the fields that a search looks at. `accepted`: those that the lists' `accept` looks at. */
export const createListReader = (
  collection: Collection,
  { texts, accepted }: { texts: readonly string[]; accepted: readonly string[] },
): ListReader => {
  const standing: Projection = Object.fromEntries(accepted.map((field) => [field, 1]));

  const find = async (filter: Record<string, unknown>, projection: Projection): Promise<ListRow[]> =>
    (await collection.find(filter as never, { projection }).toArray()) as unknown as ListRow[];

  const findFirst = async (
    filter: Record<string, unknown>,
    projection: Projection,
    order: Order,
    limit: number,
  ): Promise<ListRow[]> => {
    const cursor = collection.find(filter as never, { projection }).sort({ _id: direction(order) });
    return (await cursor.limit(limit).toArray()) as unknown as ListRow[];
  };

  async function* fromIndex(
    condition: Record<string, unknown>,
    { order, after }: Slice,
    projection: Projection,
    chunk: number,
  ): AsyncGenerator<Batch> {
    if (hasRange(condition)) {
      const rows = (await find(condition, projection)).filter(({ _id }) => isBeyond(_id, after, order));
      yield { rows: inOrder(rows, order), edge: after, isLast: true };
      return;
    }
    for (let edge = after; ; ) {
      const bound = order === 'ASC' ? { $gt: edge } : { $lt: edge };
      const filter = edge === undefined ? condition : { ...condition, _id: bound };
      const rows = await findFirst(filter, projection, order, chunk);
      edge = rows.at(-1)?._id ?? edge;
      const isLast = rows.length < chunk;
      yield { rows, edge, isLast };
      if (isLast) return;
    }
  }

  async function* fromWindows(
    newest: number,
    slice: Slice,
    projection: Projection,
    width: number,
  ): AsyncGenerator<Batch> {
    let edge = firstEdge(slice, newest);
    let size = Math.ceil(width * FIRST_SLACK) + 8;
    for (let isLast = false; !isLast; size *= WINDOW_GROWTH) {
      const ids = idsBeyond(edge, Math.min(size, WINDOW_MAX), newest, slice.order);
      const rows = ids.length === 0 ? [] : await find({ _id: { $in: ids } }, projection);
      edge = ids.at(-1) ?? edge;
      isLast = slice.order === 'ASC' ? edge >= newest : edge <= 1;
      yield { rows: inOrder(rows, slice.order), edge, isLast };
    }
  }

  const batches = (
    way: Way,
    query: ListQuery,
    slice: Slice,
    projection: Projection,
  ): AsyncGenerator<Batch> => {
    if (way.condition === undefined) return fromWindows(query.newest, slice, projection, way.cost);
    const chunk = asksForText(query.search) ? SEARCH_CHUNK : slice.skip + slice.take + 1;
    return fromIndex(way.condition, slice, projection, chunk);
  };

  const filterOf = ({ accept, search }: ListQuery): ((row: ListRow) => boolean) => {
    const isSearch = asksForText(search);
    return (row) => accept(row) && (!isSearch || holdsText(row, texts, search));
  };

  /** The wanted rows in order, the cheapest way, and another way from where the first turned out to be dear. */
  async function* wantedRows(query: ListQuery, slice: Slice, projection: Projection): AsyncGenerator<Batch> {
    const isWanted = filterOf(query);
    let rest = slice;
    let seen = 0;
    let kept = 0;
    for (const size of SAMPLES) {
      const gram = asksForText(query.search)
        ? await rarestGram(collection, query.search, texts, { newest: query.newest, size })
        : undefined;
      const way = cheapestWay(query, rest, gram, seen === 0 ? 1 : (kept + 1) / seen);
      const budget = size === SAMPLES.at(-1) ? Number.POSITIVE_INFINITY : way.cost * BUDGET;
      for await (const batch of batches(way, query, rest, projection)) {
        const rows = batch.rows.filter(isWanted);
        yield { ...batch, rows };
        if (batch.isLast) return;
        seen += batch.rows.length;
        kept += rows.length;
        rest = { ...rest, after: batch.edge };
        if (seen > budget) break;
      }
    }
  }

  /** Past `slice.skip` rows of a list without a text, read without their contents; undefined past the end. */
  const idAfterSkipped = async (query: ListQuery, slice: Slice): Promise<number | undefined> => {
    let left = slice.skip;
    for await (const { rows } of wantedRows(query, slice, standing)) {
      if (rows.length >= left) return rows[left - 1]?._id;
      left -= rows.length;
    }
    return undefined;
  };

  const readRows = async (query: ListQuery, slice: Slice): Promise<Listed> => {
    const found: ListRow[] = [];
    let count = 0;
    for await (const { rows, isLast } of wantedRows(query, slice, WHOLE)) {
      for (const row of rows) {
        count += 1;
        if (count > slice.skip && found.length <= slice.take) found.push(row);
      }
      const more = found.length > slice.take;
      if (more || isLast)
        return { rows: found.slice(0, slice.take), more, total: isLast ? count : undefined };
    }
    return { rows: found, more: false, total: undefined };
  };

  return {
    read: async (query, slice) => {
      if (query.total <= 0) return { rows: [], more: false, total: 0 };
      if (slice.skip === 0 || asksForText(query.search)) return readRows(query, slice);
      const after = await idAfterSkipped(query, slice);
      if (after === undefined) return { rows: [], more: false, total: undefined };
      return readRows(query, { ...slice, after, skip: 0 });
    },
  };
};

/**
 * A page of a list of which the total is known (`query.total` is exact, its text left aside), read by `read`; the cursor
 * is the last id. `total` of a search is what was learnt by reading it, undefined where too many rows hold the text.
 */
export const readListPage = async <Row extends { id: number }>(
  read: (slice: Slice) => Promise<Omit<Listed, 'rows'> & { rows: Row[] }>,
  { total: known, search }: Pick<ListQuery, 'total' | 'search'>,
  order: Order,
  request: PageRequest,
): Promise<PageOf<Row>> => {
  const isPaged = request.mode === 'page';
  const skip = isPaged ? request.skip : 0;
  const isSearch = asksForText(search);
  if (skip >= known) return { rows: [], total: isPaged && !isSearch ? known : undefined, next: undefined };
  const after = isPaged ? undefined : request.after[0];
  const found = await read({ order, after, skip, take: request.perPage, counted: isPaged });
  const last = found.rows.at(-1);
  const total = isSearch ? found.total : known;
  return {
    rows: found.rows,
    total: isPaged ? total : undefined,
    next: found.more && last ? [last.id] : undefined,
  };
};
