/**
 * Caches what lists read from the database: rows, the ids of keys, and the ids that have a gram (docs/adr/0101).
 *
 * The cache is exact. Every transaction that changes rows writes a version and the changed rows into a counter document
 * (versions.ts). A request reads the versions with its totals. `catchUp` reads the changes since the last versions and corrects
 * the cache, which is then at least as new as the request. Reads that were running meanwhile are not cached, or are corrected
 * when they end.
 */
import { createKeyedQueue } from '../kernel/keyed-queue.ts';
import { type CacheOptions, type CacheState, catchUp } from './cache-state.ts';
import { candidatesOf, rankedRows } from './cached-candidates.ts';
import { byIds, inWindow, listsOf } from './cached-lists.ts';
import { type Database, hasAnyKey, type ListSource, WINDOW_MAX } from './list.ts';
import { rankOf } from './memory.ts';

export const createCache = (database: Database, options: CacheOptions): ListSource => {
  const state: CacheState = {
    ...options,
    database,
    readingLists: new Map(),
    changes: 0,
    newest: 0,
    reflected: undefined,
    queue: createKeyedQueue(),
  };
  return {
    catchUp: (versions) => catchUp(state, versions),
    whole: async (query) => {
      const lists = query.condition === undefined ? await listsOf(state, query) : undefined;
      if (lists === undefined) return state.database.whole(query);
      const rows = await byIds(state, [...new Set(lists.flat())]);
      return rows.filter((row) => hasAnyKey(row, query));
    },
    windows: async (query, window) => {
      const lists = await listsOf(state, query);
      if (lists === undefined) return state.database.windows(query, window);
      const windowIds = lists.map((ids) => inWindow(ids, window));
      // A row may have changed since its id was read. It belongs to the list if it has any of the keys.
      const rows = (await Promise.all(windowIds.map((ids) => byIds(state, ids)))).map((some) =>
        some.filter((row) => hasAnyKey(row, query)),
      );
      // If a full window loses a row, it looks like a window that ends with its last row.
      const isCut = rows.some(
        ({ length }, index) => length < WINDOW_MAX && windowIds[index]?.length === WINDOW_MAX,
      );
      return isCut ? state.database.windows(query, window) : rows;
    },
    count: async (query, ids) => {
      const lists = await listsOf(state, query);
      if (lists === undefined) return state.database.count(query, ids);
      return lists.reduce((sum, list) => sum + rankOf(list, ids.to) - rankOf(list, ids.from), 0);
    },
    cachedCount: (key) => state.memory.list(key)?.length,
    candidates: (gram, window) => candidatesOf(state, gram, window),
    byIds: (ids) => byIds(state, ids),
    ranked: (condition) => rankedRows(state, condition),
  };
};
