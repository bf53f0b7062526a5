/** What the cache of a collection knows, and how it follows the changes of the database. */
import type { KeyedQueue } from '../kernel/keyed-queue.ts';
import type { Database, ListRow } from './list.ts';
import type { Changed, Memory } from './memory.ts';
import { isAsNewAs, type ListChanges, type ListVersions } from './versions.ts';

export interface CacheOptions {
  memory: Memory;
  /** The changes in the counter documents `since` these versions. */
  changesSince(since: ListVersions): Promise<ListChanges>;
}

export interface CacheState {
  database: Database;
  memory: Memory;
  changesSince: CacheOptions['changesSince'];
  /** Lists that are being read, with the rows that changed since. */
  readingLists: Map<string, { done: Promise<void>; changed: Changed[] }>;
  /** Increases with each change. A read during which it increased is not cached. */
  changes: number;
  /** The largest end of a window so far. */
  newest: number;
  /** The versions that the cache reflects; undefined before the first request, when it is empty. */
  reflected: ListVersions | undefined;
  /** One correction at a time. */
  queue: KeyedQueue;
}

/** Beyond these limits, placing changed rows into lists blocks the process for longer than reading everything again takes. */
const CHANGES_MAX = 1_000;
const PLACEMENTS_MAX = 1_000_000;

const forgetAll = (state: CacheState): void => {
  state.changes += 1;
  state.memory.clear();
  state.readingLists.clear();
};

const correct = (state: CacheState, rows: readonly ListRow[], changed: readonly Changed[]): void => {
  state.changes += 1;
  for (const list of state.readingLists.values()) list.changed.push(...changed);
  state.memory.correct(changed);
  rows.forEach(state.memory.keepRow);
};

/** Reads and applies what changed since these versions. */
export const follow = async (state: CacheState, since: ListVersions): Promise<void> => {
  const { versions: now, changed: all } = await state.changesSince(since);
  const ids = [...new Set(all?.filter((one) => typeof one === 'number'))];
  const names = [...new Set(all?.filter((one) => typeof one === 'string'))];
  const changesMax = Math.min(CHANGES_MAX, PLACEMENTS_MAX / Math.max(state.memory.listCount(), 1));
  // If rows cannot be read, the whole cache is cleared. Otherwise every later request would fail because of them.
  const reading = Promise.all([state.database.byIds(ids), state.database.named(names, changesMax + 1)]);
  const [rows, named] = (all && (await reading.catch(() => undefined))) ?? [];
  if (rows === undefined || named === undefined || ids.length + named.length > changesMax) forgetAll(state);
  else {
    const changed = new Map(ids.map((id): [number, Changed] => [id, { id, row: undefined }]));
    for (const row of [...rows, ...named]) changed.set(row._id, { id: row._id, row });
    correct(state, rows, [...changed.values()]);
  }
  state.reflected = new Map([...(state.reflected ?? []), ...now]);
};

const correctTo = async (state: CacheState, versions: ListVersions): Promise<void> => {
  state.reflected ??= versions;
  const before = state.reflected;
  if (isAsNewAs(before, versions)) return;
  const behind = [...versions].filter(([name, version]) => version > (before.get(name) ?? 0));
  await follow(state, new Map(behind.map(([name]) => [name, before.get(name) ?? 0])));
};

/** Corrects the cache until it reflects at least these versions. */
export const catchUp = async (state: CacheState, versions: ListVersions | undefined): Promise<void> => {
  if (versions === undefined || (state.reflected !== undefined && isAsNewAs(state.reflected, versions)))
    return;
  await state.queue.run('versions', () => correctTo(state, versions));
};
