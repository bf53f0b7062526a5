/** Types of lists, their slices, and the queries that the reader and the cache share (docs/adr/0101). */
import type { TextMatch } from '../kernel/text-search.ts';
import type { ListVersions } from './versions.ts';

export type Order = 'ASC' | 'DESC';

/**
 * Selects rows by equalities on the fields of one index, whose last field is the id, such as `{ city_id: 5 }`. An
 * array field matches if it contains the value.
 */
export type ListKey = Readonly<Record<string, string | number | boolean>>;

/** Equalities and ranges of fields, such as `{ price: { $lte: 100 } }`. */
export type RowCondition = Readonly<Record<string, ListKey[string] | { $gte?: number; $lte?: number }>>;

/** The rows that a search finds. `searchIn` creates it from a text. */
export interface RowSearch {
  /** A match has all of these grams. */
  grams: readonly string[];
  match(row: ListRow): TextMatch;
}

/** Up to this number, keys are read in one snapshot. Rows do not move among more, such as the keys of a hundred profiles. */
export const KEYS_MAX = 5;

export interface ListQuery {
  /** A list is the rows of all its keys. */
  keys: readonly ListKey[];
  /**
   * How many rows the list has before the text filter; undefined if unknown. A wrong total costs time but never a row, unless
   * it is 0.
   */
  total?: number | undefined;
  /** The largest id that one of its rows may have. */
  newest: number;
  /** Leaves out rows of the keys. Required if a row may have two of the keys. */
  accept?: ((row: ListRow) => boolean) | undefined;
  /** Leaves out rows that do not meet it. Each of its fields has an index, in which it follows the key; see {@link matchStages}. */
  condition?: RowCondition | undefined;
  /** Rows that are shown elsewhere, such as the ranked ones. */
  without?: readonly number[] | undefined;
  search?: RowSearch | undefined;
  /** The versions that were read with the totals. */
  versions?: ListVersions | undefined;
}

export interface Slice {
  order: Order;
  /** Only ids after this one in `order`. */
  after?: number | undefined;
  skip: number;
  take: number;
  /** Whether to count the rows of a search. */
  counted: boolean;
  /** A search ends when the client disconnects. */
  signal?: AbortSignal | undefined;
}

/** A stored row without its grams. */
export interface ListRow {
  _id: number;
  [field: string]: unknown;
}

export interface Listed {
  rows: ListRow[];
  /** Whether more rows follow, or may follow after `continueAfter`. */
  more: boolean;
  /** Set where a search ended at its limit, before the page was full: the next page continues after this id. */
  continueAfter?: number | undefined;
  /** Number of rows after `after`, if it is known. */
  total: number | undefined;
}

export interface Lists {
  read(query: ListQuery, slice: Slice): Promise<Listed>;
  /**
   * The ranked rows of a list that match its text, in any order: the few rows that meet the condition of another index. Rows
   * that met it some time ago may be among them.
   */
  ranked(condition: Record<string, unknown>, query: ListQuery): Promise<ListRow[]>;
  /** The ids of the rows whose texts may match, in any order. */
  mayMatch(query: { search: RowSearch } & Pick<ListQuery, 'newest' | 'versions'>): Promise<number[]>;
  /** The matches among these rows, in the order of `ids`. */
  among(
    query: { ids: readonly number[]; search: RowSearch } & Pick<ListQuery, 'accept' | 'versions'>,
    slice: Omit<Slice, 'order' | 'after'>,
  ): Promise<Listed>;
  /** Number of rows of a key that has no counter. */
  count(key: ListKey, versions: ListVersions | undefined): Promise<number>;
  /** {@link Lists.count} from memory only; undefined if it is not cached. */
  cachedCount(key: ListKey, versions: ListVersions | undefined): Promise<number | undefined>;
}

/** The ids from `from` on, before `to`. */
interface Ids {
  from: number;
  to: number;
}

/** If a key has more than {@link WINDOW_MAX} rows in the window, only that many may be returned: the first ones in `order`. */
export interface Window extends Ids {
  order: Order;
}

export const WINDOW_MAX = 500;

/**
 * The source of rows: the database, or a cache in front of it. Rows and ids are in any order. Several keys are read at one moment.
 * Rows that were read by a key have it. Rows that were read by a gram or by ids must be checked.
 */
export interface ListSource {
  /** After it resolves, all other methods return data at least as new as these versions. */
  catchUp(versions: ListVersions | undefined): Promise<void>;
  whole(query: ListQuery): Promise<readonly ListRow[]>;
  /** The rows of each key. */
  windows(query: ListQuery, window: Window): Promise<readonly (readonly ListRow[])[]>;
  /** How many rows all keys have together. */
  count(query: ListQuery, ids: Ids): Promise<number>;
  cachedCount(key: ListKey): number | undefined;
  /** The rows whose text has this gram; others may be among them. */
  candidates(gram: string, window: Window): Promise<readonly Pick<ListRow, '_id'>[]>;
  byIds(ids: readonly number[]): Promise<readonly ListRow[]>;
  /** A collection has one such condition; rows that met it some time ago may be among them. */
  ranked(condition: Record<string, unknown>): Promise<readonly ListRow[]>;
}

/** The queries that only the cache needs. */
export interface Database extends ListSource {
  /** All ids of a key. */
  ids(key: ListKey): Promise<number[]>;
  /** At most `limit` of the rows that changes named together, with the fields of keys alone. */
  named(names: readonly string[], limit: number): Promise<ListRow[]>;
}

/** Whether a row has the values of a key now. */
export const hasKey = (row: ListRow, key: ListKey): boolean =>
  Object.entries(key).every(([field, value]) => {
    const stored = row[field];
    return Array.isArray(stored) ? stored.includes(value) : stored === value;
  });

export const meets = (row: ListRow, condition: RowCondition): boolean =>
  Object.entries(condition).every(([field, value]) => {
    if (typeof value !== 'object') return row[field] === value;
    const { $gte = Number.NEGATIVE_INFINITY, $lte = Number.POSITIVE_INFINITY } = value;
    return Number(row[field]) >= $gte && Number(row[field]) <= $lte;
  });

interface Match {
  $match: RowCondition;
}

/**
 * The aggregation stages for the rows of a key that meet a condition. Each field has its own stage: MongoDB treats them as one
 * filter, and simple query planners use the index of the key and the first field.
 */
export const matchStages = (key: ListKey, condition: RowCondition = {}): [Match, ...Match[]] => {
  const [first, ...others] = Object.entries(condition).map(([field, value]) => ({ [field]: value }));
  return [{ $match: { ...key, ...first } }, ...others.map(($match) => ({ $match }))];
};

export const hasAnyKey = (row: ListRow, { keys }: Pick<ListQuery, 'keys'>): boolean =>
  keys.some((key) => hasKey(row, key));
