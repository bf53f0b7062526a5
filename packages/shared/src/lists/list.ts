/** A list, a part of it, and what both the reader and the cache ask the database (docs/adr/0101). */
import type { ListVersions } from '../mongo/list-versions.ts';

export type Order = 'ASC' | 'DESC';

/** The rows with one value of the indexed field of the lists, such as a facet. */
export interface ListKey {
  key: string;
  /** How many rows it has, from a counter; an estimate costs time, never a row. */
  total: number;
  /** The largest id that one of its rows may have. */
  newest: number;
}

export interface ListQuery {
  /** No row has two of them. */
  keys: readonly ListKey[];
  /** Leaves out rows of the keys. The totals of the keys do not include those either. */
  accept?: ((row: ListRow) => boolean) | undefined;
  /** What `accept` demands of the next field of the index, for lists that are read as a whole. */
  range?: Readonly<Record<string, unknown>> | undefined;
  /** Rows of the keys that are shown elsewhere: few. */
  without?: readonly number[] | undefined;
  /** Not folded; ignored if it folds to ''. */
  search?: string | undefined;
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
  /** Of a search that ended at its limit, before the page was full: the next page continues after this id. */
  continueAfter?: number | undefined;
  /** Number of rows after `after`, if it is known. */
  total: number | undefined;
}

export interface Lists {
  read(query: ListQuery, slice: Slice): Promise<Listed>;
  /** The rows of a list that meet the condition of another index, which few do, or did, and the text, in any order. */
  few(condition: Record<string, unknown>, query: ListQuery): Promise<ListRow[]>;
  /** How many rows a key has that no counter counts. */
  count(key: string, versions: ListVersions | undefined): Promise<number>;
}

/** The ids from `from` on, before `to`. */
export interface Ids {
  from: number;
  to: number;
}

/** Of more than {@link WINDOW_MAX} rows of a key only the first ones in `order` may be there, and so many of them. */
export interface Window extends Ids {
  order: Order;
}

export const WINDOW_MAX = 500;

/** Where rows are: the database, or a cache in front of it. Rows and ids are in any order. */
export interface ListSource {
  /** Everything below is at least as new as these versions afterwards. */
  catchUp(versions: ListVersions | undefined): Promise<void>;
  /** All rows of these keys, with a condition on the next field of their index. */
  whole(keys: readonly ListKey[], range: ListQuery['range']): Promise<readonly ListRow[]>;
  window(key: ListKey, window: Window): Promise<readonly ListRow[]>;
  count(key: ListKey, ids: Ids): Promise<number>;
  /** The rows whose text has this gram; others may be among them. */
  candidates(gram: string, window: Window): Promise<readonly Pick<ListRow, '_id'>[]>;
  byIds(ids: readonly number[]): Promise<readonly ListRow[]>;
  /** A list has one such condition; rows that met it some time ago may be among them. */
  few(condition: Record<string, unknown>): Promise<readonly ListRow[]>;
}

/** What only the cache asks the database. */
export interface Database extends ListSource {
  /** All ids of a key. */
  ids(key: string): Promise<number[]>;
  /** The rows that changes named together, with the field of their keys alone. */
  named(names: readonly string[]): Promise<ListRow[]>;
}
