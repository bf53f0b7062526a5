/**
 * The ids of the rows that contain a rare gram, in memory (docs/adr/0074). They select what a search compares with its text,
 * so that a row which no longer contains the gram does no harm, and every row that changes is added to all of them.
 */
import { LRUCache } from 'lru-cache';
import { LIFETIME_MS } from './kept-rows.ts';

export interface KeptCandidates {
  /** In any order; undefined for a gram that more than 1,000 rows contain. */
  find(gram: string): Promise<readonly number[] | undefined>;
  /** These rows changed; undefined: any of them. */
  changed(ids: readonly number[] | undefined): void;
}

const CANDIDATES_MAX = 1_000;
const GRAMS_MAX = 1_000;
/** More changes at once cost more than reading the ids again. */
const CHANGES_MAX = 100;

/** `read`: at most `limit` ids. */
export const createKeptCandidates = (
  read: (gram: string, limit: number) => Promise<number[]>,
): KeptCandidates => {
  const candidates = new LRUCache<string, Set<number>>({ max: GRAMS_MAX, ttl: LIFETIME_MS });
  /** Those of which nothing has changed since they began: concurrent searches share them. */
  const reading = new Map<string, Promise<readonly number[]>>();

  const readAndKeep = async (gram: string): Promise<readonly number[]> => {
    const running = read(gram, CANDIDATES_MAX + 1);
    reading.set(gram, running);
    try {
      const ids = await running;
      // What changed while it was read may be missing.
      if (reading.get(gram) === running) candidates.set(gram, new Set(ids));
      return ids;
    } finally {
      if (reading.get(gram) === running) reading.delete(gram);
    }
  };

  return {
    find: async (gram) => {
      const known = candidates.get(gram);
      if (known !== undefined) return known.size > CANDIDATES_MAX ? undefined : [...known];
      const ids = await (reading.get(gram) ?? readAndKeep(gram));
      return ids.length > CANDIDATES_MAX ? undefined : ids;
    },
    changed: (ids) => {
      reading.clear();
      if (ids === undefined || ids.length > CHANGES_MAX) return candidates.clear();
      for (const known of candidates.values()) for (const id of ids) known.add(id);
    },
  };
};
