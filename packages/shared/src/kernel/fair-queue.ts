import { SECOND_MS } from './clock.ts';
import { AppError, message } from './error.ts';

/** Runs `work` when it is the turn of `owner`. */
export type FairQueue = <T>(owner: string, work: () => Promise<T>) => Promise<T>;

interface FairQueueOptions {
  maxRunning: number;
  /** How many calls may wait; asked at each call. Default: any number. */
  places?: () => number;
  /** For the `Retry-After` of a call without a place. */
  retryAfterMs?: number;
}

interface Waiting {
  start(): void;
  refuse(): void;
}

/**
 * Runs at most `maxRunning` calls at a time. Owners with waiting calls take turns; the calls of one owner run in their
 * order. When all places are taken, the latest call of the owner with the most waiting calls is refused (503), so that one
 * owner cannot take the places of the others.
 */
export const createFairQueue = (options: FairQueueOptions): FairQueue => {
  const { maxRunning, places = () => Number.POSITIVE_INFINITY, retryAfterMs = SECOND_MS } = options;
  /** In the order of their turns. No owner without waiting calls. */
  const owners = new Map<string, Waiting[]>();
  let running = 0;
  let waiting = 0;

  const add = (owner: string, call: Waiting): void => {
    const calls = owners.get(owner);
    if (calls === undefined) owners.set(owner, [call]);
    else calls.push(call);
    waiting += 1;
  };

  const removeFrom = (owner: string, end: 'first' | 'last'): Waiting | undefined => {
    const calls = owners.get(owner) ?? [];
    const removed = end === 'first' ? calls.shift() : calls.pop();
    if (calls.length === 0) owners.delete(owner);
    waiting -= 1;
    return removed;
  };

  const next = (): Waiting | undefined => {
    const [owner] = owners.keys();
    if (owner === undefined) return undefined;
    const call = removeFrom(owner, 'first');
    const rest = owners.get(owner);
    if (rest !== undefined) {
      owners.delete(owner);
      owners.set(owner, rest);
    }
    return call;
  };

  const refuseOne = (): void => {
    // Of owners with equally many, the one whose turn is last.
    const [busiest] = [...owners].reduce((most, each) => (each[1].length >= most[1].length ? each : most));
    removeFrom(busiest, 'last')?.refuse();
  };

  const wait = (owner: string): Promise<void> =>
    new Promise((resolve, reject) => {
      add(owner, { start: resolve, refuse: () => reject(noPlace(retryAfterMs)) });
      if (waiting > places()) refuseOne();
    });

  return async (owner, work) => {
    if (running >= maxRunning) await wait(owner);
    else running += 1;
    try {
      return await work();
    } finally {
      // A finished call passes its place on without decrementing `running`, so that a new caller cannot take it.
      const call = next();
      if (call === undefined) running -= 1;
      else call.start();
    }
  };
};

const noPlace = (retryAfterMs: number): AppError =>
  new AppError({
    kind: 'unavailable',
    code: 'unavailable',
    message: message('error.unavailable'),
    internal: 'too many calls are waiting',
    retryAfterS: Math.ceil(retryAfterMs / SECOND_MS),
  });
