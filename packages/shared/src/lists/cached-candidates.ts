/** The ids that have a gram, and the ranked rows, from memory where they are known. */

import type { CacheState } from './cache-state.ts';
import { byIds } from './cached-lists.ts';
import type { ListRow, Window } from './list.ts';
import { LONG_LIST } from './memory.ts';

/** The name of the ranked rows among the candidates. No gram is that long. */
const RANKED = 'the ranked rows';
/** Candidates that end at most this many windows before the requested one are extended to it. */
const NEAR = 4;
/** Longer candidates are not cached, because every search for their gram would copy and scan them. */
const CANDIDATES_MAX = LONG_LIST;

const readCandidates = async (
  state: CacheState,
  gram: string,
  window: Window,
): Promise<readonly { _id: number }[]> => {
  const candidates = state.memory.candidates(gram);
  state.newest = Math.max(state.newest, window.to);
  const to = candidates?.from ?? Number.MAX_SAFE_INTEGER;
  const width = window.to - window.from;
  // Candidates are cached from an id on. The gap before it is read too, unless it is large.
  const isNear = Math.min(to, state.newest) - window.from <= NEAR * width;
  if (!isNear) return state.database.candidates(gram, window);
  const before = state.changes;
  const rows = await state.database.candidates(gram, { ...window, to });
  const ids = new Set([...(candidates?.ids ?? []), ...rows.map(({ _id }) => _id)]);
  if (ids.size <= CANDIDATES_MAX && state.changes === before && state.memory.candidates(gram) === candidates)
    state.memory.keepCandidates(gram, { from: window.from, ids });
  return [...ids].map((_id) => ({ _id }));
};

/** The ids in the window that may have the gram. */
export const candidatesOf = async (
  state: CacheState,
  gram: string,
  window: Window,
): Promise<readonly { _id: number }[]> => {
  const candidates = state.memory.candidates(gram);
  const matches =
    candidates !== undefined && candidates.from <= window.from
      ? [...candidates.ids].map((_id) => ({ _id }))
      : await readCandidates(state, gram, window);
  return matches.filter(({ _id }) => _id >= window.from && _id < window.to);
};

export const rankedRows = async (
  state: CacheState,
  condition: Parameters<CacheState['database']['ranked']>[0],
): Promise<readonly ListRow[]> => {
  const candidates = state.memory.candidates(RANKED);
  if (candidates !== undefined) return byIds(state, [...candidates.ids]);
  const before = state.changes;
  const rows = await state.database.ranked(condition);
  if (state.changes === before) {
    state.memory.keepCandidates(RANKED, { from: 0, ids: new Set(rows.map(({ _id }) => _id)) });
    rows.forEach(state.memory.keepRow);
  }
  return rows;
};
