/**
 * Keeps in memory what lists read from the database: rows, the ids of keys, and the ids that have a gram (docs/adr/0101). One
 * limit in bytes bounds all of it; what was not used for longest goes first.
 *
 * It is exact: every transaction that changes rows writes a version and the changed rows into a counter document
 * (list-versions.ts). A request reads the versions with its totals. `catchUp` reads what changed since the last ones, and corrects
 * what is kept, so that everything is at least as new as the request. What was being read meanwhile is not kept, or is
 * corrected when it arrives.
 */
import { createKeyedQueue } from '../kernel/keyed-queue.ts';
import { isAsNewAs, type ListChanges, type ListVersions } from '../mongo/list-versions.ts';
import type { Database, Ids, ListKey, ListRow, ListSource, Window } from './list.ts';
import { WINDOW_MAX } from './list.ts';
import { createMemory, LONG_LIST, type Placed, place, rankOf } from './memory.ts';
import type { ListRows } from './reader.ts';

export interface CacheOptions extends Pick<ListRows, 'keysOf' | 'texts'> {
  bytes: number;
  /** What changed in the counter documents `since` these versions. */
  changesSince(since: ListVersions): Promise<ListChanges>;
}

/** The rows of `few`: no gram is so long. */
const FEW = 'the few rows';
/** Anybody may name a hundred profiles, whose lists one query reads and nobody reads again. */
const KEYS_MAX = 5;
/** Of the width of a window. */
const NEAR = 4;
/** More of them at once stop the process for longer than reading all again takes. */
const PLACEMENTS_MAX = 1_000_000;

export const createCache = (
  database: Database,
  { bytes, keysOf, texts, changesSince }: CacheOptions,
): ListSource => {
  const memory = createMemory(bytes, texts);
  /** Rows that are being read, by the ids that have not changed since: concurrent requests share them. */
  const readingRows = new Map<number, Promise<readonly ListRow[]>>();
  /** Lists that are being read, with what changed since. */
  const readingLists = new Map<string, { ids: Promise<number[]>; changed: Placed[] }>();
  /** Increases with each change: candidates that were read before it may lack the changed rows. */
  let changes = 0;
  /** The largest end of a window until now. */
  let newest = 0;
  /** Undefined before the first request: nothing is kept until then. */
  let known: ListVersions | undefined;
  const queue = createKeyedQueue();

  const forgetAll = (): void => {
    changes += 1;
    memory.clear();
    readingRows.clear();
    readingLists.clear();
  };

  const correct = (rows: readonly ListRow[], placed: readonly Placed[]): void => {
    changes += 1;
    for (const { id } of placed) readingRows.delete(id);
    for (const { changed } of readingLists.values()) changed.push(...placed);
    memory.correct(placed);
    rows.forEach(memory.keepRow);
  };

  const catchUp = async (versions: ListVersions): Promise<void> => {
    if (known === undefined) known = versions;
    const before = known;
    if (isAsNewAs(before, versions)) return;
    const behind = [...versions].filter(([name, version]) => version > (before.get(name) ?? 0));
    const { versions: now, changed } = await changesSince(
      new Map(behind.map(([name]) => [name, before.get(name) ?? 0])),
    );
    const ids = [...new Set(changed?.filter((one) => typeof one === 'number'))];
    const names = [...new Set(changed?.filter((one) => typeof one === 'string'))];
    const [rows, named] = await Promise.all([database.byIds(ids), database.named(names)]);
    if (changed === undefined || (ids.length + named.length) * memory.listCount() > PLACEMENTS_MAX)
      forgetAll();
    else {
      const placed = new Map(ids.map((id): [number, Placed] => [id, { id, keys: [] }]));
      for (const row of [...rows, ...named]) placed.set(row._id, { id: row._id, keys: keysOf(row) });
      correct(rows, [...placed.values()]);
    }
    known = new Map([...before, ...now]);
  };

  const readList = async (key: string): Promise<number[]> => {
    const running = readingLists.get(key) ?? { ids: database.ids(key), changed: [] };
    readingLists.set(key, running);
    try {
      const ids = await running.ids;
      ids.sort((a, b) => a - b);
      if (readingLists.get(key) !== running) return ids;
      for (const { id, keys } of running.changed) place(ids, id, keys.includes(key));
      memory.keepList(key, ids);
      return ids;
    } finally {
      if (readingLists.get(key) === running) readingLists.delete(key);
    }
  };

  /** In ascending order; undefined for a long list that is not there yet: nobody waits until it is read. */
  const idsOf = async ({ key, total }: ListKey): Promise<readonly number[] | undefined> => {
    const ids = memory.list(key);
    if (ids !== undefined) return ids;
    const reading = readList(key);
    if (total <= LONG_LIST) return reading;
    reading.catch(() => undefined);
    return undefined;
  };

  const readRows = async (ids: readonly number[]): Promise<readonly ListRow[]> => {
    const running = database.byIds(ids);
    for (const id of ids) readingRows.set(id, running);
    try {
      const rows = await running;
      // A row that changed while it was read may be the one from before.
      for (const row of rows) if (readingRows.get(row._id) === running) memory.keepRow(row);
      return rows;
    } finally {
      for (const id of ids) if (readingRows.get(id) === running) readingRows.delete(id);
    }
  };

  const byIds = async (ids: readonly number[]): Promise<readonly ListRow[]> => {
    const found: ListRow[] = [];
    const missing: number[] = [];
    const shared = new Map<number, Promise<readonly ListRow[]>>();
    for (const id of ids) {
      const row = memory.row(id);
      const running = readingRows.get(id);
      if (row !== undefined) found.push(row);
      else if (running !== undefined) shared.set(id, running);
      else missing.push(id);
    }
    const reads = [...new Set(shared.values())].map(async (running) =>
      (await running).filter(({ _id }) => shared.get(_id) === running),
    );
    if (missing.length > 0) reads.push(readRows(missing).then((rows) => [...rows]));
    return [...found, ...(await Promise.all(reads)).flat()];
  };

  const inWindow = (ids: readonly number[], { from, to, order }: Window): readonly number[] => {
    const found = ids.slice(rankOf(ids, from), rankOf(ids, to));
    return order === 'ASC' ? found.slice(0, WINDOW_MAX) : found.slice(-WINDOW_MAX);
  };

  const readCandidates = async (gram: string, window: Window): Promise<readonly { _id: number }[]> => {
    const candidates = memory.candidates(gram);
    newest = Math.max(newest, window.to);
    const to = candidates?.from ?? Number.MAX_SAFE_INTEGER;
    const width = window.to - window.from;
    // Candidates are kept from an id on: those between are read too, unless they are many.
    const isNear = Math.min(to, newest) - window.from <= NEAR * width;
    if (!isNear) return database.candidates(gram, window);
    const before = changes;
    const found = await database.candidates(gram, { ...window, to });
    const ids = new Set([...(candidates?.ids ?? []), ...found.map(({ _id }) => _id)]);
    if (changes === before && memory.candidates(gram) === candidates)
      memory.keepCandidates(gram, { from: window.from, ids });
    return [...ids].map((_id) => ({ _id }));
  };

  return {
    catchUp: async (versions) => {
      if (versions === undefined || (known !== undefined && isAsNewAs(known, versions))) return;
      await queue.run('versions', () => catchUp(versions));
    },
    whole: async (keys, range) => {
      if (range !== undefined || keys.length > KEYS_MAX) return database.whole(keys, range);
      const lists = await Promise.all(keys.map(({ key }) => memory.list(key) ?? readList(key)));
      return byIds(lists.flat());
    },
    window: async (key, window) => {
      // Without a pause: the lists of a request are of one moment.
      const ids = memory.list(key.key) ?? (await idsOf(key));
      return ids === undefined ? database.window(key, window) : byIds(inWindow(ids, window));
    },
    count: async (key, ids: Ids) => {
      const list = await idsOf(key);
      return list === undefined ? database.count(key, ids) : rankOf(list, ids.to) - rankOf(list, ids.from);
    },
    candidates: async (gram, window) => {
      const candidates = memory.candidates(gram);
      const found =
        candidates !== undefined && candidates.from <= window.from
          ? [...candidates.ids].map((_id) => ({ _id }))
          : await readCandidates(gram, window);
      return found.filter(({ _id }) => _id >= window.from && _id < window.to);
    },
    byIds,
    few: async (condition) => {
      const candidates = memory.candidates(FEW);
      if (candidates !== undefined) return byIds([...candidates.ids]);
      const before = changes;
      const rows = await database.few(condition);
      if (changes === before) {
        memory.keepCandidates(FEW, { from: 0, ids: new Set(rows.map(({ _id }) => _id)) });
        rows.forEach(memory.keepRow);
      }
      return rows;
    },
  };
};
