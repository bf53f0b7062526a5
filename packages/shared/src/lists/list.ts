/** A list, a part of it, and what both the reader and the cache ask the database (docs/adr/0101). */
import type { TextMatch } from '../kernel/text-search.ts';
import type { ListVersions } from './versions.ts';

export type Order = 'ASC' | 'DESC';

/**
 * The rows with these values: equalities of the fields of one index, whose last field is the id, such as `{ city_id: 5 }`. An
 * array contains the value.
 */
export type ListKey = Readonly<Record<string, string | number | boolean>>;

/** Which rows a search finds; `searchIn` makes one of a text. */
export interface RowSearch {
  /** A match has all of them. */
  grams: readonly string[];
  match(row: ListRow): TextMatch;
}

/** More keys, such as those of a hundred profiles, are not read at one moment: no row goes from one to another. */
export const KEYS_MAX = 5;

export interface ListQuery {
  /** A list is the rows of all its keys. */
  keys: readonly ListKey[];
  /**
   * How many rows the list has, the text not considered; undefined if it is not known. A wrong one costs time, never a row, unless
   * it is 0.
   */
  total?: number | undefined;
  /** The largest id that one of its rows may have. */
  newest: number;
  /** Leaves out rows of the keys. It is needed where a row may have two of the keys. */
  accept?: ((row: ListRow) => boolean) | undefined;
  /** What `accept` demands of one field, such as a range of prices; an index has it after the fields of the keys. For short lists. */
  range?: Readonly<Record<string, unknown>> | undefined;
  /** Rows that are shown elsewhere, such as the ranked ones. */
  without?: readonly number[] | undefined;
  search?: RowSearch | undefined;
  /** Those that were read with the totals. */
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
  /** A search ends when the client has gone. */
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
   * The ranked rows of a list and its text, in any order: those that meet the condition of another index, which few rows do. Rows
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
  /** How many rows a key has that no counter counts. */
  count(key: ListKey, versions: ListVersions | undefined): Promise<number>;
  /** The same where memory tells it, without reading anything. */
  keptCount(key: ListKey, versions: ListVersions | undefined): Promise<number | undefined>;
}

/** The ids from `from` on, before `to`. */
interface Ids {
  from: number;
  to: number;
}

/** Where a key has more than {@link WINDOW_MAX} rows, only so many of the first ones in `order` may be there. */
export interface Window extends Ids {
  order: Order;
}

export const WINDOW_MAX = 500;

/**
 * Where rows are: the database, or a cache in front of it. Rows and ids are in any order; several keys are read at one moment.
 * Rows by a key have it; those by a gram or by ids are to be checked.
 */
export interface ListSource {
  /** Everything below is at least as new as these versions afterwards. */
  catchUp(versions: ListVersions | undefined): Promise<void>;
  whole(query: ListQuery): Promise<readonly ListRow[]>;
  /** The rows of each key. */
  windows(query: ListQuery, window: Window): Promise<readonly (readonly ListRow[])[]>;
  /** How many rows all keys have together. */
  count(query: ListQuery, ids: Ids): Promise<number>;
  keptCount(key: ListKey): number | undefined;
  /** The rows whose text has this gram; others may be among them. */
  candidates(gram: string, window: Window): Promise<readonly Pick<ListRow, '_id'>[]>;
  byIds(ids: readonly number[]): Promise<readonly ListRow[]>;
  /** A collection has one such condition; rows that met it some time ago may be among them. */
  ranked(condition: Record<string, unknown>): Promise<readonly ListRow[]>;
}

/** What only the cache asks the database. */
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

export const hasAnyKey = (row: ListRow, { keys }: Pick<ListQuery, 'keys'>): boolean =>
  keys.some((key) => hasKey(row, key));
