/** One page of a list: what a store is asked for, and what it returns. */

/** By offset, or after a cursor. */
export type PageRequest = (
  | { mode: 'page'; page: number; perPage: number; skip: number }
  | { mode: 'cursor'; perPage: number; after: CursorKey }
) & {
  /** Aborted when nobody waits for the page any more. */
  signal?: AbortSignal | undefined;
};

/** The sort key of the last row of a page: `[id]`, or `[rank, id]` for a list with a leading sort field. */
export type CursorKey = readonly number[];

/** The length of `[rank, id]`. */
export const RANKED_KEY_LENGTH = 2;

export interface PageOf<Row> {
  rows: Row[];
  /** Number of all rows; undefined for a cursor, or where counting would cost too much. */
  total: number | undefined;
  /**
   * The key of the last row, if more rows follow; of the last row that was read, if a search ended at its limit before the
   * page was full.
   */
  next: CursorKey | undefined;
}

/**
 * Makes a page of `found`: the rows from the start of the page, with at least one row more than the page if more follow.
 * `total`: see {@link PageOf}.
 */
export const toPage = <Row>(
  found: readonly Row[],
  { perPage }: PageRequest,
  keyOf: (row: Row) => number,
  total: number | undefined,
): PageOf<Row> => {
  const rows = found.slice(0, perPage);
  const last = rows.at(-1);
  return { rows, total, next: found.length > perPage && last !== undefined ? [keyOf(last)] : undefined };
};
