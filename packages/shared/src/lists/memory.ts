/** The memory of all caches of a process: rows, sorted ids of keys, and candidates. It has one limit in bytes, and drops the least recently used entries first. */
import { LRUCache } from 'lru-cache';
import { hasKey, type ListKey, type ListRow } from './list.ts';
import { FOLDED_PER_CHARACTER, textLength } from './match.ts';

/** The ids of all rows with a gram from `from` on, and of some rows without it. */
interface Candidates {
  from: number;
  ids: Set<number>;
  /** How many changed rows were added since it was read. */
  changed?: number;
}

/** A changed row in its current state; undefined if it was deleted. */
export interface Changed {
  id: number;
  row: ListRow | undefined;
}

/** Memory of a row without its text. Each character takes two bytes, and two more in each folded spelling. */
const ROW_BYTES = 2_000;
const CHARACTER_BYTES = 2 * (1 + FOLDED_PER_CHARACTER);
const ID_BYTES = 8;
const LIST_BYTES = 200;
const CANDIDATE_BYTES = 40;
/** Limits the effect of changes without a version: a manual correction, or a commit that a database failover has lost. */
const LIFETIME_MS = 60_000;
/** For long lists, which take long to read. */
const LONG_LIFETIME_MS = 600_000;
export const LONG_LIST = 20_000;
/** Limit for a collection: every change looks into every list, and into the candidates of every gram. */
const NAMES_MAX = 5_000;
/** After more changes, reading the candidates again costs less than checking all changed rows. */
const CANDIDATE_CHANGES_MAX = 100;

/** How many ids are smaller than `id`. */
export const rankOf = (ids: readonly number[], id: number): number => {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
};

export const place = (ids: number[], { id, row }: Changed, key: ListKey): void => {
  const belongs = row !== undefined && hasKey(row, key);
  const rank = rankOf(ids, id);
  const isThere = ids[rank] === id;
  if (belongs && !isThere) ids.splice(rank, 0, id);
  if (!belongs && isThere) ids.splice(rank, 1);
};

export const nameOf = (key: ListKey): string => JSON.stringify(key);

/** The cached data of one collection. */
export interface Memory {
  row(id: number): ListRow | undefined;
  keepRow(row: ListRow): void;
  /** Whether a list of this many rows can be cached. */
  fits(rows: number): boolean;
  /** In ascending order. */
  list(key: ListKey): readonly number[] | undefined;
  keepList(key: ListKey, ids: number[]): void;
  listCount(): number;
  candidates(gram: string): Candidates | undefined;
  keepCandidates(gram: string, candidates: Candidates): void;
  correct(changed: readonly Changed[]): void;
  clear(): void;
}

/** The memory of a process: one part for each collection. `texts`: the long fields of its rows. */
export type ListMemory = (collection: string, texts: readonly string[]) => Memory;

const MIB = 2 ** 20;

/** Returns undefined for 0: there is no cache. */
export const createListMemory = (
  mib: number,
  perf: { now(): number } = performance,
): ListMemory | undefined => {
  if (mib === 0) return undefined;
  const bytes = mib * MIB;
  const maxEntrySize = Math.ceil(bytes / 2);
  const cached = new LRUCache<string, ListRow | number[] | Candidates>({
    maxSize: bytes,
    maxEntrySize,
    ttl: LIFETIME_MS,
    perf,
  });

  return (collection, texts) => {
    // Names of entries that may be cached; some may have been dropped already.
    const forget = (_value: unknown, name: string): unknown => cached.delete(name);
    const lists = new LRUCache<string, ListKey>({ max: NAMES_MAX, dispose: forget });
    const grams = new LRUCache<string, true>({ max: NAMES_MAX, dispose: forget });
    const rowName = (id: number): string => `${collection} row ${id}`;
    const listName = (key: ListKey): string => `${collection} list ${nameOf(key)}`;
    const gramName = (gram: string): string => `${collection} gram ${gram}`;

    return {
      row: (id) => cached.get(rowName(id)) as ListRow | undefined,
      keepRow: (row) => {
        cached.set(rowName(row._id), row, { size: ROW_BYTES + CHARACTER_BYTES * textLength(row, texts) });
      },
      fits: (rows) => LIST_BYTES + ID_BYTES * rows <= maxEntrySize,
      list: (key) => {
        lists.get(listName(key));
        return cached.get(listName(key)) as number[] | undefined;
      },
      keepList: (key, ids) => {
        const ttl = ids.length > LONG_LIST ? LONG_LIFETIME_MS : LIFETIME_MS;
        lists.set(listName(key), key);
        cached.set(listName(key), ids, { size: LIST_BYTES + ID_BYTES * ids.length, ttl });
      },
      listCount: () => lists.size,
      candidates: (gram) => {
        grams.get(gramName(gram));
        return cached.get(gramName(gram)) as Candidates | undefined;
      },
      keepCandidates: (gram, candidates) => {
        const size = LIST_BYTES + CANDIDATE_BYTES * (candidates.ids.size + CANDIDATE_CHANGES_MAX);
        grams.set(gramName(gram), true);
        cached.set(gramName(gram), candidates, { size });
      },
      correct: (changed) => {
        for (const { id } of changed) cached.delete(rowName(id));
        for (const [name, key] of lists) {
          const ids = cached.peek(name) as number[] | undefined;
          if (ids !== undefined) for (const one of changed) place(ids, one, key);
        }
        for (const name of grams.keys()) {
          const candidates = cached.peek(name) as Candidates | undefined;
          if (candidates === undefined) continue;
          candidates.changed = (candidates.changed ?? 0) + changed.length;
          if (candidates.changed > CANDIDATE_CHANGES_MAX) cached.delete(name);
          // It may lack the gram: a search compares its text.
          else for (const { id } of changed) if (id >= candidates.from) candidates.ids.add(id);
        }
      },
      clear: () => {
        for (const name of [...cached.keys()]) if (name.startsWith(`${collection} `)) cached.delete(name);
      },
    };
  };
};
