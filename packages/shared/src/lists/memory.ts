/** What the cache keeps: rows, sorted ids of keys, and candidates, in one memory of limited bytes. What was not used for longest goes first. */
import { LRUCache } from 'lru-cache';
import type { ListRow } from './list.ts';
import { textLength } from './match.ts';

/** The ids of all rows with a gram from `from` on, and of some without. */
interface Candidates {
  from: number;
  ids: Set<number>;
}

/** A row and its keys now; without keys it was deleted. */
export interface Placed {
  id: number;
  keys: readonly string[];
}

/** What a row takes besides its text, which counts four times: two bytes a character, and once more folded. */
const ROW_BYTES = 1_000;
const CHARACTER_BYTES = 4;
const ID_BYTES = 8;
const LIST_BYTES = 200;
const CANDIDATE_BYTES = 40;
/** For what no version tells: a document that was corrected by hand, or a commit that a failover of the database has lost. */
const LIFETIME_MS = 60_000;
/** Of long lists, which take long to read. */
const LONG_LIFETIME_MS = 600_000;
export const LONG_LIST = 20_000;
/** Every change looks into every list. */
const LISTS_MAX = 5_000;
/** More changes at once cost more than reading candidates again. */
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

export const place = (ids: number[], id: number, belongs: boolean): void => {
  const rank = rankOf(ids, id);
  const isThere = ids[rank] === id;
  if (belongs && !isThere) ids.splice(rank, 0, id);
  if (!belongs && isThere) ids.splice(rank, 1);
};

export interface Memory {
  row(id: number): ListRow | undefined;
  keepRow(row: ListRow): void;
  /** In ascending order. */
  list(key: string): readonly number[] | undefined;
  keepList(key: string, ids: number[]): void;
  listCount(): number;
  candidates(gram: string): Candidates | undefined;
  keepCandidates(gram: string, candidates: Candidates): void;
  /** These rows changed. */
  correct(placed: readonly Placed[]): void;
  clear(): void;
}

/** `texts`: the long fields of a row. */
export const createMemory = (bytes: number, texts: readonly string[]): Memory => {
  const lists = new Map<string, string>();
  const grams = new Set<string>();
  const kept = new LRUCache<string, ListRow | number[] | Candidates>({
    maxSize: bytes,
    maxEntrySize: bytes / 2,
    ttl: LIFETIME_MS,
    dispose: (_value, name, reason) => {
      if (reason === 'set') return;
      lists.delete(name);
      grams.delete(name);
    },
  });
  const rowName = (id: number): string => `row ${id}`;
  const listName = (key: string): string => `list ${key}`;
  const gramName = (gram: string): string => `gram ${gram}`;

  return {
    row: (id) => kept.get(rowName(id)) as ListRow | undefined,
    keepRow: (row) => {
      kept.set(rowName(row._id), row, { size: ROW_BYTES + CHARACTER_BYTES * textLength(row, texts) });
    },
    list: (key) => kept.get(listName(key)) as number[] | undefined,
    keepList: (key, ids) => {
      if (lists.size >= LISTS_MAX) for (const name of [...lists.keys()]) kept.delete(name);
      const ttl = ids.length > LONG_LIST ? LONG_LIFETIME_MS : LIFETIME_MS;
      lists.set(listName(key), key);
      kept.set(listName(key), ids, { size: LIST_BYTES + ID_BYTES * ids.length, ttl });
    },
    listCount: () => lists.size,
    candidates: (gram) => kept.get(gramName(gram)) as Candidates | undefined,
    keepCandidates: (gram, candidates) => {
      grams.add(gramName(gram));
      kept.set(gramName(gram), candidates, { size: LIST_BYTES + CANDIDATE_BYTES * candidates.ids.size });
    },
    correct: (placed) => {
      for (const { id } of placed) kept.delete(rowName(id));
      for (const [name, key] of lists) {
        const ids = kept.peek(name) as number[] | undefined;
        if (ids !== undefined) for (const { id, keys } of placed) place(ids, id, keys.includes(key));
      }
      for (const name of [...grams]) {
        const candidates = kept.peek(name) as Candidates | undefined;
        if (placed.length > CANDIDATE_CHANGES_MAX) kept.delete(name);
        // Whether it has the gram is told by its text, which a search compares.
        else for (const { id } of placed) if (candidates && id >= candidates.from) candidates.ids.add(id);
      }
    },
    clear: () => kept.clear(),
  };
};
