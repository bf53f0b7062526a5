/** One page of a list: the request to a store, and its result. */

/** A page by number, or the rows after a cursor. */
export type PageRequest = (
  | { mode: 'page'; page: number; perPage: number; skip: number }
  | { mode: 'cursor'; perPage: number; after: CursorKey }
) & {
  /** Aborted when the client stops waiting for the page. */
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
 * Makes a page of `candidates`: the rows from the start of the page, and at least one more row if more follow.
 * `total`: see {@link PageOf}.
 */
export const toPage = <Row>(
  candidates: readonly Row[],
  { perPage }: PageRequest,
  keyOf: (row: Row) => number,
  total: number | undefined,
): PageOf<Row> => {
  const rows = candidates.slice(0, perPage);
  const last = rows.at(-1);
  return { rows, total, next: candidates.length > perPage && last !== undefined ? [keyOf(last)] : undefined };
};

/** A page of a list that has at most one row, whose cursor leads nowhere. */
export const pageOfOne = <Row>(row: Row | undefined, request: PageRequest): PageOf<Row> => {
  const rows = row === undefined ? [] : [row];
  if (request.mode === 'cursor') return { rows, total: undefined, next: undefined };
  return { rows: rows.slice(request.skip), total: rows.length, next: undefined };
};

/** One of the lists that {@link readParts} shows one after the other. */
export interface ListPart<Row> {
  /** Rows with a key above `after`, in the order of their keys. */
  read(window: { skip: number; limit: number; after: number }): Promise<Row[]>;
  count(): Promise<number>;
  keyOf(row: Row): number;
}

/** The length of `[part, key]`, the cursor of {@link readParts}. */
export const PARTS_KEY_LENGTH = 2;

/** A page of several lists, one after the other. */
export const readParts = async <Row>(
  parts: readonly ListPart<Row>[],
  request: PageRequest,
): Promise<PageOf<Row>> => {
  const isPage = request.mode === 'page';
  const counts = isPage ? await Promise.all(parts.map((part) => part.count())) : undefined;
  const [start = 0, after = 0] = isPage ? [] : request.after;
  const entries: { row: Row; key: CursorKey }[] = [];
  let skip = isPage ? request.skip : 0;
  for (const [index, part] of parts.entries()) {
    const limit = request.perPage + 1 - entries.length;
    const count = counts?.[index];
    if (index < start || limit <= 0) continue;
    if (count !== undefined && skip >= count) {
      skip -= count;
      continue;
    }
    const rows = await part.read({ skip, limit, after: index === start ? after : 0 });
    entries.push(...rows.map((row) => ({ row, key: [index, part.keyOf(row)] })));
    skip = 0;
  }
  const shown = entries.slice(0, request.perPage);
  return {
    rows: shown.map(({ row }) => row),
    total: counts?.reduce((sum, count) => sum + count, 0),
    next: entries.length > shown.length ? shown.at(-1)?.key : undefined,
  };
};
