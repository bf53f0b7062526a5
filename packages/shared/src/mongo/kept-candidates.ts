/**
 * The ids of the rows that contain a rare gram, in memory (docs/adr/0101). They select what a search compares with its text,
 * so that a row which no longer contains the gram does no harm, and every row that changes is added to all of them.
 */
import { LRUCache } from 'lru-cache';
import { LIFETIME_MS } from './kept-rows.ts';
import type { ListRow } from './list-reader.ts';

export interface KeptCandidates {
  /**
   * In any order; undefined for a gram that has more than 1,000. `estimate`: of their number; it decides how they are read,
   * not which.
   */
  find(gram: string, estimate: number): Promise<readonly number[] | undefined>;
  /** These rows changed; undefined: any of them. */
  changed(ids: readonly number[] | undefined): void;
}

interface CandidateSource {
  /** At most `limit` ids of the candidates of a gram. */
  ids(gram: string, limit: number): Promise<number[]>;
  /** At most `limit` of these rows. */
  rows(gram: string, limit: number): Promise<ListRow[]>;
  /** Gets rows of which nothing has changed since they were read. */
  keep(rows: readonly ListRow[]): void;
}

const CANDIDATES_MAX = 1_000;
const GRAMS_MAX = 1_000;
/** More changes at once cost more than reading the ids again. */
const CHANGES_MAX = 100;
/**
 * Up to so many candidates are read with their contents, by one query: a search compares them next, and a database that has
 * found a row by the index has read it.
 */
const WHOLE_MAX = 250;

interface Read {
  ids: readonly number[];
  rows: readonly ListRow[];
}

export const createKeptCandidates = (source: CandidateSource): KeptCandidates => {
  const candidates = new LRUCache<string, Set<number>>({ max: GRAMS_MAX, ttl: LIFETIME_MS });
  /** Those of which nothing has changed since they began: concurrent searches share them. */
  const reading = new Map<string, Promise<Read>>();

  const read = async (gram: string, estimate: number): Promise<Read> => {
    const rows = estimate > WHOLE_MAX ? undefined : await source.rows(gram, WHOLE_MAX + 1);
    return rows !== undefined && rows.length <= WHOLE_MAX
      ? { ids: rows.map(({ _id }) => _id), rows }
      : { ids: await source.ids(gram, CANDIDATES_MAX + 1), rows: [] };
  };

  const readAndKeep = async (gram: string, estimate: number): Promise<Read> => {
    const running = read(gram, estimate);
    reading.set(gram, running);
    try {
      const found = await running;
      // What changed while it was read may be missing, or be as it was before.
      if (reading.get(gram) === running) {
        candidates.set(gram, new Set(found.ids));
        source.keep(found.rows);
      }
      return found;
    } finally {
      if (reading.get(gram) === running) reading.delete(gram);
    }
  };

  return {
    find: async (gram, estimate) => {
      const known = candidates.get(gram);
      if (known !== undefined) return known.size > CANDIDATES_MAX ? undefined : [...known];
      const { ids } = await (reading.get(gram) ?? readAndKeep(gram, estimate));
      return ids.length > CANDIDATES_MAX ? undefined : ids;
    },
    changed: (ids) => {
      reading.clear();
      if (ids === undefined || ids.length > CHANGES_MAX) return candidates.clear();
      for (const known of candidates.values()) for (const id of ids) known.add(id);
    },
  };
};
