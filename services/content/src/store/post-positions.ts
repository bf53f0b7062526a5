/**
 * The ids of the lists of posts, in memory and in order, so that a page costs the same at any depth on any server
 * (docs/adr/0074). Each list is read once. After that the counters name the posts that changed: every transaction that
 * changes posts also increments the version of a counter document and writes there what it changed.
 * A request passes the versions that it has read with its total, and gets positions that are at least as new.
 */
import { createKeyedQueue } from '@fitness/shared/kernel/keyed-queue.ts';
import type { Slice } from '@fitness/shared/mongo/list-reader.ts';

/** Of each counter document by its id. */
export type ListVersions = ReadonlyMap<string, number>;

interface ChangedPosts {
  /** Now, of the documents that were asked for. */
  versions: ListVersions;
  /** Undefined: not all changes are known any more. */
  posts: readonly FacetedPost[] | undefined;
}

export interface FacetedPost {
  id: number;
  /** Empty: it was deleted. */
  facets: readonly string[];
}

interface Source {
  /** The ids of a list, in any order. */
  ids(facet: string): Promise<number[]>;
  /** What changed in the counter documents `since` these versions. */
  changes(since: ListVersions): Promise<ChangedPosts>;
  /** What else is kept of these posts is no longer true; undefined: of all posts. */
  forget(ids: readonly number[] | undefined): void;
}

interface Lists {
  /** No post is in two of them. */
  facets: readonly string[];
  /** How many posts they have together. */
  total: number;
  versions: ListVersions;
}

export interface PostPositions {
  /** Applies what changed, until everything that is kept is at least as new as these versions. */
  catchUp(versions: ListVersions): Promise<void>;
  /**
   * The ids of `slice`, and one more if more follow. Undefined where the lists must be read another way: they are too
   * long for the memory, or their first page does not justify reading them, or they contradict their total.
   */
  find(lists: Lists, slice: Pick<Slice, 'order' | 'after' | 'skip' | 'take'>): Promise<number[] | undefined>;
}

/** Ids of all lists together; an id takes eight bytes. The lists that were not used for longest are forgotten first. */
const IDS_MAX = 4_000_000;
/** A list that contradicts its total is read again after this time at the earliest. */
const RELOAD_AFTER_MS = 60_000;

interface List {
  ids: number[];
  loadedAt: number;
}

export const createPostPositions = (source: Source, idsMax: number = IDS_MAX): PostPositions => {
  /** The least recently used first. */
  const lists = new Map<string, List>();
  let known: ListVersions = new Map();
  // One change of the lists at a time: a list that is being read would miss the changes that arrive meanwhile.
  const queue = createKeyedQueue();

  const isCurrent = (versions: ListVersions): boolean => isAsNewAs(known, versions);

  const catchUp = async (versions: ListVersions): Promise<void> => {
    if (isCurrent(versions)) return;
    // Nothing is kept before the first versions are known.
    if (known.size === 0) {
      known = versions;
      return;
    }
    const behind = [...versions].filter(([name, version]) => version > (known.get(name) ?? 0));
    const changed = await source.changes(new Map(behind.map(([name]) => [name, known.get(name) ?? 0])));
    if (changed.posts === undefined) lists.clear();
    for (const post of changed.posts ?? []) for (const [facet, { ids }] of lists) place(ids, post, facet);
    source.forget(changed.posts?.map(({ id }) => id));
    known = new Map([...known, ...changed.versions]);
  };

  /** Reads a list as it is now, or newer: changes that are applied again have no effect. */
  const load = async (facet: string): Promise<void> => {
    if (lists.has(facet)) return;
    const ids = new Float64Array(await source.ids(facet)).sort();
    lists.set(facet, { ids: [...ids], loadedAt: performance.now() });
    let kept = 0;
    for (const [name, list] of [...lists].reverse()) {
      kept += list.ids.length;
      if (kept > idsMax) lists.delete(name);
    }
  };

  const use = (facet: string): List | undefined => {
    const list = lists.get(facet);
    if (list === undefined) return undefined;
    lists.delete(facet);
    lists.set(facet, list);
    return list;
  };

  return {
    catchUp: async (versions) => {
      if (!isCurrent(versions)) await queue.run('lists', () => catchUp(versions));
    },
    find: async ({ facets, total, versions }, slice) => {
      if (total > idsMax) return undefined;
      const isLoaded = facets.every((facet) => lists.has(facet));
      if (!isLoaded && slice.skip === 0) return undefined;
      if (!isLoaded || !isCurrent(versions))
        await queue.run('lists', async () => {
          await catchUp(versions);
          for (const facet of facets) await load(facet);
        });
      const found = facets.map(use).filter((list) => list !== undefined);
      if (found.length < facets.length) return undefined;
      const isSameMoment = isAsNewAs(versions, known);
      if (isSameMoment && found.reduce((sum, { ids }) => sum + ids.length, 0) !== total) {
        // A process of an older release writes no versions.
        const now = performance.now();
        for (const facet of facets)
          if (now - (lists.get(facet)?.loadedAt ?? now) > RELOAD_AFTER_MS) lists.delete(facet);
        return undefined;
      }
      return idsOf(
        found.map(({ ids }) => ids),
        slice,
      );
    },
  };
};

const isAsNewAs = (one: ListVersions, other: ListVersions): boolean => {
  for (const [name, version] of other) if ((one.get(name) ?? 0) < version) return false;
  return true;
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

const place = (ids: number[], { id, facets }: FacetedPost, facet: string): void => {
  const rank = rankOf(ids, id);
  const isThere = ids[rank] === id;
  const belongs = facets.includes(facet);
  if (belongs && !isThere) ids.splice(rank, 0, id);
  if (!belongs && isThere) ids.splice(rank, 1);
};

/** The ids with the ranks from `start` on, at most `count`, of all lists together. */
const union = (lists: readonly (readonly number[])[], start: number, count: number): number[] => {
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) return only.slice(start, start + count);
  // The smallest id with at least `start` smaller ones.
  let [low, high] = [0, 1 + Math.max(0, ...lists.map((ids) => ids.at(-1) ?? 0))];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (lists.reduce((sum, ids) => sum + rankOf(ids, middle), 0) < start) low = middle + 1;
    else high = middle;
  }
  const following = lists.flatMap((ids) => {
    const rank = rankOf(ids, low);
    return ids.slice(rank, rank + count);
  });
  return following.sort((a, b) => a - b).slice(0, count);
};

const idsOf = (
  lists: readonly (readonly number[])[],
  { order, after, skip, take }: Pick<Slice, 'order' | 'after' | 'skip' | 'take'>,
): number[] => {
  const total = lists.reduce((sum, ids) => sum + ids.length, 0);
  const smaller = (id: number): number => lists.reduce((sum, ids) => sum + rankOf(ids, id), 0);
  if (order === 'ASC')
    return union(lists, (after === undefined ? 0 : smaller(Math.floor(after) + 1)) + skip, take + 1);
  const end = (after === undefined ? total : smaller(Math.ceil(after))) - skip;
  const start = Math.max(end - take - 1, 0);
  return end <= 0 ? [] : union(lists, start, end - start).reverse();
};
