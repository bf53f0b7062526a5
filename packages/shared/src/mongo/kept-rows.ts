/**
 * Rows in memory, as they are stored without their grams, so that pages and searches that are read often need no query for
 * them (docs/adr/0101). Whoever reads them first passes the versions of the counters to `ListPositions.catchUp`, which
 * forgets what changed: a row is then at least as new as these versions.
 */
import { LRUCache } from 'lru-cache';
import type { ListRow } from './list-reader.ts';
import { textLength } from './search-rows.ts';

export interface KeptRows {
  /** Those that exist, in any order. */
  find(ids: readonly number[]): Promise<ListRow[]>;
  /** Rows that were read another way, of which nothing has changed since. */
  keep(rows: readonly ListRow[]): void;
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
  /** Reads under way, by the ids that have not changed since they began: concurrent calls share them. */
  const reading = new Map<number, Promise<readonly ListRow[]>>();

  const readAndKeep = async (
    ids: readonly number[],
    running: Promise<readonly ListRow[]>,
  ): Promise<readonly ListRow[]> => {
    try {
      const fresh = await running;
      // A row that changed while it was read may be the one from before.
      for (const row of fresh) if (reading.get(row._id) === running) rows.set(row._id, row);
      return fresh;
    } finally {
      for (const id of ids) if (reading.get(id) === running) reading.delete(id);
    }
  };

  return {
    find: async (ids) => {
      const found: ListRow[] = [];
      const missing: number[] = [];
      const shared = new Map<number, Promise<readonly ListRow[]>>();
      for (const id of ids) {
        const row = rows.get(id);
        const running = reading.get(id);
        if (row !== undefined) found.push(row);
        else if (running !== undefined) shared.set(id, running);
        else missing.push(id);
      }
      const reads: Promise<readonly ListRow[]>[] = [...new Set(shared.values())].map(async (running) =>
        (await running).filter(({ _id }) => shared.get(_id) === running),
      );
      if (missing.length > 0) {
        const running = read(missing);
        for (const id of missing) reading.set(id, running);
        reads.push(readAndKeep(missing, running));
      }
      return [...found, ...(await Promise.all(reads)).flat()];
    },
    keep: (found) => {
      // A row that is there is as true, and may be folded or converted already.
      for (const row of found) if (!rows.has(row._id)) rows.set(row._id, row);
    },
    forget: (ids) => {
      if (ids === undefined) {
        rows.clear();
        reading.clear();
      } else
        for (const id of ids) {
          rows.delete(id);
          reading.delete(id);
        }
    },
  };
};
