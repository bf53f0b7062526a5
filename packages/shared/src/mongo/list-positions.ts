/**
 * The ids of the lists of a collection, in memory and in order, so that a page costs the same at any depth on any server
 * (docs/adr/0101). Each list is read once. After that the counters name the rows that changed (`list-versions.ts`).
 * A request passes the versions that it has read with its total, and gets positions that are at least as new.
 */
import { createKeyedQueue } from '../kernel/keyed-queue.ts';
import type { Slice } from './list-reader.ts';
import { isAsNewAs, type ListVersions } from './list-versions.ts';

interface ChangedRows {
  /** Now, of the documents that were asked for. */
  versions: ListVersions;
  /** Undefined: not all changes are known any more. */
  rows: readonly FacetedRow[] | undefined;
}

export interface FacetedRow {
  id: number;
  /** The lists that it is in. Empty: it was deleted. */
  facets: readonly string[];
}

interface Source {
  /** The ids of a list, in any order. */
  ids(facet: string): Promise<number[]>;
  /** What changed in the counter documents `since` these versions. */
  changes(since: ListVersions): Promise<ChangedRows>;
  /** What else is kept of these rows is no longer true; undefined: of all rows. */
  forget(ids: readonly number[] | undefined): void;
}

export interface Lists {
  /** No row is in two of them. */
  facets: readonly string[];
  /** How many rows they have together. */
  total: number;
  versions: ListVersions;
}

interface PositionSlice extends Pick<Slice, 'order' | 'after' | 'skip' | 'take'> {
  /** Rows that the slice leaves out: few. */
  without?: readonly number[] | undefined;
}

export interface ListPositions {
  /** Applies what changed, until everything that is kept is at least as new as these versions. */
  catchUp(versions: ListVersions): Promise<void>;
  /**
   * The ids of `slice`, and one more if more follow. Undefined where the lists must be read another way: they are too
   * many, or too long for the memory, or their first page does not justify reading them, or they contradict their total.
   */
  find(lists: Lists, slice: PositionSlice): Promise<number[] | undefined>;
  /** All ids of a short list, in any order; not of one that was read longer ago than `lifetimeMs`. */
  all(facet: string, versions: ListVersions, lifetimeMs?: number): Promise<readonly number[]>;
}

/** Ids of all lists together; an id takes eight bytes. The lists that were not used for longest are forgotten first. */
const IDS_MAX = 4_000_000;
/** Every change looks into every list. */
const LISTS_MAX = 5_000;
/** Of one request: anybody may name a hundred profiles, and other requests wait while lists are read. */
const FACETS_MAX = 20;
/** More of them at once would stop the process for longer than reading the lists again takes. */
const PLACEMENTS_MAX = 1_000_000;
/** The first page of lists that are longer together does not read them into memory. */
const FIRST_PAGE_IDS_MAX = 20_000;
/** A list that contradicts its total is read again after this time at the earliest. */
const RELOAD_AFTER_MS = 60_000;

interface List {
  ids: number[];
  loadedAt: number;
}

export const createListPositions = (source: Source, idsMax: number = IDS_MAX): ListPositions => {
  /** The least recently used first. */
  const lists = new Map<string, List>();
  /** Undefined before the first request: nothing is kept until then. */
  let known: ListVersions | undefined;
  // One change of the lists at a time: a list that is being read would miss the changes that arrive meanwhile.
  const queue = createKeyedQueue();

  const isCurrent = (versions: ListVersions): boolean => known !== undefined && isAsNewAs(known, versions);

  const catchUp = async (versions: ListVersions): Promise<void> => {
    if (isCurrent(versions)) return;
    if (known === undefined) {
      known = versions;
      return;
    }
    const before = known;
    const behind = [...versions].filter(([name, version]) => version > (before.get(name) ?? 0));
    const changed = await source.changes(new Map(behind.map(([name]) => [name, before.get(name) ?? 0])));
    const { rows } = changed;
    if (rows === undefined || rows.length * lists.size > PLACEMENTS_MAX) lists.clear();
    for (const row of rows ?? []) for (const [facet, { ids }] of lists) place(ids, row, facet);
    source.forget(rows?.map(({ id }) => id));
    known = new Map([...before, ...changed.versions]);
  };

  const forgetLeastUsed = (): void => {
    let kept = 0;
    for (const { ids } of lists.values()) kept += ids.length;
    for (const [name, { ids }] of lists) {
      if (kept <= idsMax && lists.size <= LISTS_MAX) return;
      kept -= ids.length;
      lists.delete(name);
    }
  };

  /** Reads a list as it is now, or newer: changes that are applied again have no effect. */
  const load = async (facet: string): Promise<void> => {
    if (lists.has(facet)) return;
    const ids = new Float64Array(await source.ids(facet)).sort();
    lists.set(facet, { ids: [...ids], loadedAt: performance.now() });
    forgetLeastUsed();
  };

  const use = (facet: string): List | undefined => {
    const list = lists.get(facet);
    if (list === undefined) return undefined;
    lists.delete(facet);
    lists.set(facet, list);
    return list;
  };

  /** Undefined: one of them is too long to stay in memory. */
  const ofFacets = async (
    facets: readonly string[],
    versions: ListVersions,
  ): Promise<(readonly number[])[] | undefined> => {
    if (!isCurrent(versions) || !facets.every((facet) => lists.has(facet)))
      await queue.run('lists', async () => {
        await catchUp(versions);
        for (const facet of facets) await load(facet);
      });
    const found = facets.map(use).filter((list) => list !== undefined);
    return found.length < facets.length ? undefined : found.map(({ ids }) => ids);
  };

  /** Forgets those of these lists that were read longer ago than `ageMs`. */
  const forgetOlder = (facets: readonly string[], ageMs: number): void => {
    const now = performance.now();
    for (const facet of facets) if (now - (lists.get(facet)?.loadedAt ?? now) > ageMs) lists.delete(facet);
  };

  return {
    catchUp: async (versions) => {
      if (!isCurrent(versions)) await queue.run('lists', () => catchUp(versions));
    },
    find: async ({ facets, total, versions }, slice) => {
      if (total > idsMax || facets.length > FACETS_MAX) return undefined;
      const isLoaded = facets.every((facet) => lists.has(facet));
      if (!isLoaded && slice.skip === 0 && total > FIRST_PAGE_IDS_MAX) return undefined;
      const found = await ofFacets(facets, versions);
      if (found === undefined) return undefined;
      const isSameMoment = known !== undefined && isAsNewAs(versions, known);
      if (isSameMoment && found.reduce((sum, ids) => sum + ids.length, 0) !== total) {
        // A process of an older release writes no versions.
        forgetOlder(facets, RELOAD_AFTER_MS);
        return undefined;
      }
      return idsOf(found, slice);
    },
    all: async (facet, versions, lifetimeMs = Number.POSITIVE_INFINITY) => {
      forgetOlder([facet], lifetimeMs);
      const [ids] = (await ofFacets([facet], versions)) ?? [await source.ids(facet)];
      return [...(ids ?? [])];
    },
  };
};

/** How many ids are smaller than `id`. */
const rankOf = (ids: readonly number[], id: number): number => {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
};

const place = (ids: number[], { id, facets }: FacetedRow, facet: string): void => {
  const rank = rankOf(ids, id);
  const isThere = ids[rank] === id;
  const belongs = facets.includes(facet);
  if (belongs && !isThere) ids.splice(rank, 0, id);
  if (!belongs && isThere) ids.splice(rank, 1);
};

/** The ids with the ranks from `start` on, at most `count`, of all lists together. */
const union = (lists: readonly (readonly number[])[], start: number, count: number): number[] => {
  const filled = lists.filter((ids) => ids.length > 0);
  const [only] = filled;
  if (filled.length === 1 && only !== undefined) return only.slice(start, start + count);
  // The smallest id with at least `start` smaller ones.
  let [low, high] = [0, 1 + Math.max(0, ...filled.map((ids) => ids.at(-1) ?? 0))];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (filled.reduce((sum, ids) => sum + rankOf(ids, middle), 0) < start) low = middle + 1;
    else high = middle;
  }
  const following = filled.flatMap((ids) => {
    const rank = rankOf(ids, low);
    return ids.slice(rank, rank + count);
  });
  return following.sort((a, b) => a - b).slice(0, count);
};

const idsOf = (
  lists: readonly (readonly number[])[],
  { order, after, skip, take, without = [] }: PositionSlice,
): number[] => {
  const total = lists.reduce((sum, ids) => sum + ids.length, 0);
  const smaller = (id: number): number => lists.reduce((sum, ids) => sum + rankOf(ids, id), 0);
  const isListed = (id: number): boolean => lists.some((ids) => ids[rankOf(ids, id)] === id);
  const isAscending = order === 'ASC';
  /** The position of a rank in `order`. */
  const positionOf = (rank: number): number => (isAscending ? rank : total - 1 - rank);
  const first = isAscending ? Math.floor(after ?? 0) + 1 : Math.ceil(after ?? Number.POSITIVE_INFINITY);
  const begin = isAscending ? smaller(first) : total - smaller(first);
  let start = begin + skip;
  let count = take + 1;
  const omitted = without.filter(isListed).map((id) => positionOf(smaller(id)));
  for (const position of omitted.sort((a, b) => a - b)) {
    if (position < begin) continue;
    if (position <= start) start += 1;
    else count += 1;
  }
  const end = Math.min(start + count, total);
  if (start >= end) return [];
  const ids = isAscending
    ? union(lists, start, end - start)
    : union(lists, total - end, end - start).reverse();
  const hidden = new Set(without);
  return ids.filter((id) => !hidden.has(id)).slice(0, take + 1);
};
