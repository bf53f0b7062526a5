/**
 * Rows in memory, as they are stored without their grams, so that pages and searches that are read often need no query for
 * them (docs/adr/0074). Whoever reads them first passes the versions of the counters to `ListPositions.catchUp`, which
 * forgets what changed: a row is then at least as new as these versions.
 */
import { LRUCache } from 'lru-cache';
import type { ListRow } from './list-reader.ts';
import { textLength } from './search-rows.ts';

export interface KeptRows {
  /** Those that exist, in any order. */
  find(ids: readonly number[]): Promise<ListRow[]>;
  /** Undefined: all of them. */
  forget(ids: readonly number[] | undefined): void;
}

/** Of all rows together; each counts twice, because a search keeps the folded text. */
const CHARACTERS_MAX = 24_000_000;
/** What a row takes besides its text. */
const ROW_SIZE = 1_000;
/** For what no version tells: a document that was corrected by hand, or a commit that a failover of the database has lost. */
export const LIFETIME_MS = 60_000;

/** `texts`: the long fields of a row. */
export const createKeptRows = (
  read: (ids: readonly number[]) => Promise<ListRow[]>,
  texts: readonly string[],
): KeptRows => {
  const rows = new LRUCache<number, ListRow>({
    maxSize: CHARACTERS_MAX,
    sizeCalculation: (row) => ROW_SIZE + 2 * textLength(row, texts),
    ttl: LIFETIME_MS,
  });
  let forgotten = 0;
  return {
    find: async (ids) => {
      const found: ListRow[] = [];
      const missing: number[] = [];
      for (const id of ids) {
        const row = rows.get(id);
        if (row === undefined) missing.push(id);
        else found.push(row);
      }
      if (missing.length === 0) return found;
      const before = forgotten;
      const fresh = await read(missing);
      // A row that changed while it was read may be the one from before.
      if (forgotten === before) for (const row of fresh) rows.set(row._id, row);
      return [...found, ...fresh];
    },
    forget: (ids) => {
      forgotten += 1;
      if (ids === undefined) rows.clear();
      else for (const id of ids) rows.delete(id);
    },
  };
};
