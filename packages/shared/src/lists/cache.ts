/**
 * Caches what lists read from the database: rows, the ids of keys, and the ids that have a gram (docs/adr/0101).
 *
 * The cache is exact. Every transaction that changes rows writes a version and the changed rows into a counter document
 * (versions.ts). A request reads the versions with its totals. `catchUp` reads the changes since the last versions and corrects
 * the cache, which is then at least as new as the request. Reads that were running meanwhile are not cached, or are corrected
 * when they end.
 */
import { createKeyedQueue } from '../kernel/keyed-queue.ts';
import { outsideRequest } from '../kernel/request-scope.ts';
import {
  type Database,
  hasAnyKey,
  KEYS_MAX,
  type ListKey,
  type ListQuery,
  type ListRow,
  type ListSource,
  WINDOW_MAX,
  type Window,
} from './list.ts';
import { type Changed, LONG_LIST, type Memory, nameOf, place, rankOf } from './memory.ts';
import { isAsNewAs, type ListChanges, type ListVersions } from './versions.ts';

export interface CacheOptions {
  memory: Memory;
  /** The changes in the counter documents `since` these versions. */
  changesSince(since: ListVersions): Promise<ListChanges>;
}

/** The name of the ranked rows among the candidates. No gram is that long. */
const RANKED = 'the ranked rows';
/** Candidates that end at most this many windows before the requested one are extended to it. */
const NEAR = 4;
/** Beyond these limits, placing changed rows into lists blocks the process for longer than reading everything again takes. */
const CHANGES_MAX = 1_000;
const PLACEMENTS_MAX = 1_000_000;
/** Longer candidates are not cached, because every search for their gram would copy and scan them. */
const CANDIDATES_MAX = LONG_LIST;

export const createCache = (database: Database, { memory, changesSince }: CacheOptions): ListSource => {
  /** Lists that are being read, with the rows that changed since. */
  const readingLists = new Map<string, { done: Promise<void>; changed: Changed[] }>();
  /** Increases with each change. A read during which it increased is not cached. */
  let changes = 0;
  /** The largest end of a window so far. */
  let newest = 0;
  /** The versions that the cache reflects; undefined before the first request, when it is empty. */
  let reflected: ListVersions | undefined;
  const queue = createKeyedQueue();

  const forgetAll = (): void => {
    changes += 1;
    memory.clear();
    readingLists.clear();
  };

  const correct = (rows: readonly ListRow[], changed: readonly Changed[]): void => {
    changes += 1;
    for (const list of readingLists.values()) list.changed.push(...changed);
    memory.correct(changed);
    rows.forEach(memory.keepRow);
  };

  /** Reads and applies what changed since these versions. */
  const follow = async (since: ListVersions): Promise<void> => {
    const { versions: now, changed: all } = await changesSince(since);
    const ids = [...new Set(all?.filter((one) => typeof one === 'number'))];
    const names = [...new Set(all?.filter((one) => typeof one === 'string'))];
    const changesMax = Math.min(CHANGES_MAX, PLACEMENTS_MAX / Math.max(memory.listCount(), 1));
    // If rows cannot be read, the whole cache is cleared. Otherwise every later request would fail because of them.
    const reading = Promise.all([database.byIds(ids), database.named(names, changesMax + 1)]);
    const [rows, named] = (all && (await reading.catch(() => undefined))) ?? [];
    if (rows === undefined || named === undefined || ids.length + named.length > changesMax) forgetAll();
    else {
      const changed = new Map(ids.map((id): [number, Changed] => [id, { id, row: undefined }]));
      for (const row of [...rows, ...named]) changed.set(row._id, { id: row._id, row });
      correct(rows, [...changed.values()]);
    }
    reflected = new Map([...(reflected ?? []), ...now]);
  };

  const catchUp = async (versions: ListVersions): Promise<void> => {
    reflected ??= versions;
    const before = reflected;
    if (isAsNewAs(before, versions)) return;
    const behind = [...versions].filter(([name, version]) => version > (before.get(name) ?? 0));
    await follow(new Map(behind.map(([name]) => [name, before.get(name) ?? 0])));
  };

  const readList = (key: ListKey): Promise<void> => {
    const name = nameOf(key);
    const running = readingLists.get(name);
    if (running !== undefined) return running.done;
    const changed: Changed[] = [];
    const isRunning = (): boolean => readingLists.get(name)?.changed === changed;
    const readAndKeep = async (): Promise<void> => {
      try {
        const ids = (await database.ids(key)).sort((a, b) => a - b);
        // This list is newer than the others, and a request must see all of them at one moment.
        await queue.run('versions', () => follow(reflected ?? new Map()));
        if (!isRunning()) return;
        for (const change of changed) place(ids, change, key);
        memory.keepList(key, ids);
      } finally {
        if (isRunning()) readingLists.delete(name);
      }
    };
    // All waiting requests share the read, which must not end at the deadline of the first one.
    const done = outsideRequest(readAndKeep);
    readingLists.set(name, { done, changed });
    return done;
  };

  /** The ids of each key at one moment, in ascending order; undefined if the database must be read. */
  const listsOf = async ({ keys, total = 0 }: ListQuery): Promise<(readonly number[])[] | undefined> => {
    if (keys.length > KEYS_MAX || !memory.fits(total)) return undefined;
    const missing = keys.filter((key) => memory.list(key) === undefined);
    if (missing.length > 0) {
      const reading = Promise.all(missing.map(readList));
      // No request waits until a long list is read. If it is cached already, the others may be short, such as the viewer's posts.
      const cachedTotal = keys.reduce((sum, key) => sum + (memory.list(key)?.length ?? 0), 0);
      if (total - cachedTotal > LONG_LIST) {
        reading.catch(() => undefined);
        return undefined;
      }
      await reading;
    }
    const lists = keys.map(memory.list);
    return lists.every((ids) => ids !== undefined) ? lists : undefined;
  };

  const byIds = async (ids: readonly number[]): Promise<readonly ListRow[]> => {
    const cachedRows: ListRow[] = [];
    const missing: number[] = [];
    for (const id of ids) {
      const row = memory.row(id);
      if (row === undefined) missing.push(id);
      else cachedRows.push(row);
    }
    if (missing.length === 0) return cachedRows;
    const before = changes;
    const rows = await database.byIds(missing);
    if (changes === before) rows.forEach(memory.keepRow);
    return [...cachedRows, ...rows];
  };

  const inWindow = (ids: readonly number[], { from, to, order }: Window): readonly number[] => {
    const selected = ids.slice(rankOf(ids, from), rankOf(ids, to));
    return order === 'ASC' ? selected.slice(0, WINDOW_MAX) : selected.slice(-WINDOW_MAX);
  };

  const readCandidates = async (gram: string, window: Window): Promise<readonly { _id: number }[]> => {
    const candidates = memory.candidates(gram);
    newest = Math.max(newest, window.to);
    const to = candidates?.from ?? Number.MAX_SAFE_INTEGER;
    const width = window.to - window.from;
    // Candidates are cached from an id on. The gap before it is read too, unless it is large.
    const isNear = Math.min(to, newest) - window.from <= NEAR * width;
    if (!isNear) return database.candidates(gram, window);
    const before = changes;
    const rows = await database.candidates(gram, { ...window, to });
    const ids = new Set([...(candidates?.ids ?? []), ...rows.map(({ _id }) => _id)]);
    if (ids.size <= CANDIDATES_MAX && changes === before && memory.candidates(gram) === candidates)
      memory.keepCandidates(gram, { from: window.from, ids });
    return [...ids].map((_id) => ({ _id }));
  };

  return {
    catchUp: async (versions) => {
      if (versions === undefined || (reflected !== undefined && isAsNewAs(reflected, versions))) return;
      await queue.run('versions', () => catchUp(versions));
    },
    whole: async (query) => {
      const lists = query.condition === undefined ? await listsOf(query) : undefined;
      if (lists === undefined) return database.whole(query);
      const rows = await byIds([...new Set(lists.flat())]);
      return rows.filter((row) => hasAnyKey(row, query));
    },
    windows: async (query, window) => {
      const lists = await listsOf(query);
      if (lists === undefined) return database.windows(query, window);
      const windowIds = lists.map((ids) => inWindow(ids, window));
      // A row may have changed since its id was read. It belongs to the list if it has any of the keys.
      const rows = (await Promise.all(windowIds.map(byIds))).map((some) =>
        some.filter((row) => hasAnyKey(row, query)),
      );
      // If a full window loses a row, it looks like a window that ends with its last row.
      const isCut = rows.some(
        ({ length }, index) => length < WINDOW_MAX && windowIds[index]?.length === WINDOW_MAX,
      );
      return isCut ? database.windows(query, window) : rows;
    },
    count: async (query, ids) => {
      const lists = await listsOf(query);
      if (lists === undefined) return database.count(query, ids);
      return lists.reduce((sum, list) => sum + rankOf(list, ids.to) - rankOf(list, ids.from), 0);
    },
    cachedCount: (key) => memory.list(key)?.length,
    candidates: async (gram, window) => {
      const candidates = memory.candidates(gram);
      const matches =
        candidates !== undefined && candidates.from <= window.from
          ? [...candidates.ids].map((_id) => ({ _id }))
          : await readCandidates(gram, window);
      return matches.filter(({ _id }) => _id >= window.from && _id < window.to);
    },
    byIds,
    ranked: async (condition) => {
      const candidates = memory.candidates(RANKED);
      if (candidates !== undefined) return byIds([...candidates.ids]);
      const before = changes;
      const rows = await database.ranked(condition);
      if (changes === before) {
        memory.keepCandidates(RANKED, { from: 0, ids: new Set(rows.map(({ _id }) => _id)) });
        rows.forEach(memory.keepRow);
      }
      return rows;
    },
  };
};
