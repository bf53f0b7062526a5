/** Ids of keys and rows, from memory where they are known. */
import { outsideRequest } from '../kernel/request-scope.ts';
import { type CacheState, follow } from './cache-state.ts';
import { KEYS_MAX, type ListKey, type ListQuery, type ListRow, WINDOW_MAX, type Window } from './list.ts';
import { type Changed, LONG_LIST, nameOf, place, rankOf } from './memory.ts';

const readList = (state: CacheState, key: ListKey): Promise<void> => {
  const name = nameOf(key);
  const running = state.readingLists.get(name);
  if (running !== undefined) return running.done;
  const changed: Changed[] = [];
  const isRunning = (): boolean => state.readingLists.get(name)?.changed === changed;
  const readAndKeep = async (): Promise<void> => {
    try {
      const ids = (await state.database.ids(key)).sort((a, b) => a - b);
      // This list is newer than the others, and a request must see all of them at one moment.
      await state.queue.run('versions', () => follow(state, state.reflected ?? new Map()));
      if (!isRunning()) return;
      for (const change of changed) place(ids, change, key);
      state.memory.keepList(key, ids);
    } finally {
      if (isRunning()) state.readingLists.delete(name);
    }
  };
  // All waiting requests share the read, which must not end at the deadline of the first one.
  const done = outsideRequest(readAndKeep);
  state.readingLists.set(name, { done, changed });
  return done;
};

/** The ids of each key at one moment, in ascending order; undefined if the database must be read. */
export const listsOf = async (
  state: CacheState,
  { keys, total = 0 }: ListQuery,
): Promise<(readonly number[])[] | undefined> => {
  if (keys.length > KEYS_MAX || !state.memory.fits(total)) return undefined;
  const missing = keys.filter((key) => state.memory.list(key) === undefined);
  if (missing.length > 0) {
    const reading = Promise.all(missing.map((key) => readList(state, key)));
    // No request waits until a long list is read. If it is cached already, the others may be short, such as the viewer's posts.
    const cachedTotal = keys.reduce((sum, key) => sum + (state.memory.list(key)?.length ?? 0), 0);
    if (total - cachedTotal > LONG_LIST) {
      reading.catch(() => undefined);
      return undefined;
    }
    await reading;
  }
  const lists = keys.map(state.memory.list);
  return lists.every((ids) => ids !== undefined) ? lists : undefined;
};

/** Rows by their ids, in no particular order. */
export const byIds = async (state: CacheState, ids: readonly number[]): Promise<readonly ListRow[]> => {
  const cachedRows: ListRow[] = [];
  const missing: number[] = [];
  for (const id of ids) {
    const row = state.memory.row(id);
    if (row === undefined) missing.push(id);
    else cachedRows.push(row);
  }
  if (missing.length === 0) return cachedRows;
  const before = state.changes;
  const rows = await state.database.byIds(missing);
  if (state.changes === before) rows.forEach(state.memory.keepRow);
  return [...cachedRows, ...rows];
};

export const inWindow = (ids: readonly number[], { from, to, order }: Window): readonly number[] => {
  const selected = ids.slice(rankOf(ids, from), rankOf(ids, to));
  return order === 'ASC' ? selected.slice(0, WINDOW_MAX) : selected.slice(-WINDOW_MAX);
};
