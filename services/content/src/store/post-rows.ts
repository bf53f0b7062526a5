/**
 * Posts in memory, as they are stored without their grams, so that pages and searches that are read often need no query for
 * them (docs/adr/0074). Whoever reads them first passes the versions of the counters to `PostPositions.catchUp`, which
 * forgets what changed: a post is then at least as new as these versions.
 */
import type { ListRow } from '@fitness/shared/mongo/list-reader.ts';
import { LRUCache } from 'lru-cache';

export interface PostRows {
  /** Those that exist, in any order. */
  find(ids: readonly number[]): Promise<ListRow[]>;
  /** Undefined: all of them. */
  forget(ids: readonly number[] | undefined): void;
}

/** Of all posts together; each counts twice, because a search keeps the folded text. */
const CHARACTERS_MAX = 24_000_000;
/** What a post takes besides its text. */
const ROW_SIZE = 1_000;
/** For what no version tells: a document that was corrected by hand, or a commit that a failover of the database has lost. */
const LIFETIME_MS = 60_000;

const sizeOf = ({ title, content }: ListRow): number =>
  ROW_SIZE + 2 * (String(title).length + String(content).length);

export const createPostRows = (read: (ids: readonly number[]) => Promise<ListRow[]>): PostRows => {
  const rows = new LRUCache<number, ListRow>({
    maxSize: CHARACTERS_MAX,
    sizeCalculation: sizeOf,
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
      // A post that changed while it was read may be the one from before.
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
