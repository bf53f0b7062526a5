import { SECOND_MS } from './clock.ts';
import { AppError, message } from './error.ts';

/** Runs `work` when it is the turn of `owner`. */
export type FairQueue = <T>(owner: string, work: () => Promise<T>) => Promise<T>;

interface FairQueueOptions {
  maxRunning: number;
  /** Of one owner. Default: as many as run at all. */
  maxPerOwner?: number;
  /** A call that waits longer is refused. Default: it waits as long as it takes. */
  maxWaitMs?: number;
  /** How many calls may wait; asked at each call. Default: any number. */
  places?: () => number;
  /** For the `Retry-After` of a refused call. */
  retryAfterMs?: number;
}

interface Waiting {
  start(): void;
  refuse(): void;
}

/**
 * Runs at most `maxRunning` calls at a time. Owners with waiting calls take turns; the calls of one owner run in their
 * order. When all places are taken, the latest call of the owner with the most waiting calls is refused (503), so that one
 * owner cannot take the places of the others. Of owners with equally many it is the one who has called most since the queue
 * was last empty, then the one that has waited longest: whoever calls again at each refusal, from as many addresses as there
 * are places, would otherwise keep out everybody else.
 */
export const createFairQueue = (options: FairQueueOptions): FairQueue => {
  const { maxRunning, maxPerOwner = maxRunning, maxWaitMs } = options;
  const { places = () => Number.POSITIVE_INFINITY, retryAfterMs = SECOND_MS } = options;
  const turns = createTurns();
  /** By owner. No owner without running calls. */
  const running = new Map<string, number>();
  let total = 0;

  const mayStart = (owner: string): boolean => total < maxRunning && (running.get(owner) ?? 0) < maxPerOwner;

  const count = (owner: string, change: 1 | -1): void => {
    const calls = (running.get(owner) ?? 0) + change;
    if (calls === 0) running.delete(owner);
    else running.set(owner, calls);
    total += change;
  };

  /** Counts a waiting call as running before it continues, so that a new one cannot take its place. */
  const startNext = (): void => {
    const owner = turns.next(mayStart);
    if (owner === undefined) return;
    count(owner, 1);
    turns.take(owner)?.start();
  };

  const wait = (owner: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const call: Waiting = {
        start: () => {
          clearTimeout(late);
          resolve();
        },
        refuse: () => {
          clearTimeout(late);
          reject(noPlace(retryAfterMs));
        },
      };
      const expire = (): void => {
        turns.remove(owner, call);
        call.refuse();
      };
      const late = maxWaitMs === undefined ? undefined : setTimeout(expire, maxWaitMs);
      turns.add(owner, call);
      if (turns.waiting() > places()) turns.removeOne()?.refuse();
    });

  return async (owner, work) => {
    if (mayStart(owner)) count(owner, 1);
    else await wait(owner);
    try {
      return await work();
    } finally {
      count(owner, -1);
      startNext();
    }
  };
};

/** More owners than this are forgotten. */
const COUNTED_OWNERS_MAX = 10_000;

const createTurns = () => {
  /** In the order of their turns. No owner without waiting calls. */
  const owners = new Map<string, Waiting[]>();
  /** How often each owner has waited since the queue was last empty. */
  const waits = new Map<string, number>();
  let waiting = 0;

  const remove = (owner: string, index: number): Waiting | undefined => {
    const calls = owners.get(owner) ?? [];
    const [removed] = calls.splice(index, 1);
    if (calls.length === 0) owners.delete(owner);
    if (removed !== undefined) waiting -= 1;
    if (waiting === 0 || waits.size > COUNTED_OWNERS_MAX) waits.clear();
    return removed;
  };

  const isBusier = (one: [string, Waiting[]], other: [string, Waiting[]]): boolean => {
    if (one[1].length !== other[1].length) return one[1].length > other[1].length;
    return (waits.get(one[0]) ?? 0) > (waits.get(other[0]) ?? 0);
  };

  return {
    waiting: () => waiting,
    add: (owner: string, call: Waiting): void => {
      const calls = owners.get(owner);
      if (calls === undefined) owners.set(owner, [call]);
      else calls.push(call);
      waits.set(owner, (waits.get(owner) ?? 0) + 1);
      waiting += 1;
    },
    remove: (owner: string, call: Waiting): void => {
      const index = owners.get(owner)?.indexOf(call) ?? -1;
      if (index >= 0) remove(owner, index);
    },
    /** The first owner in turn that may start a call. */
    next: (mayStart: (owner: string) => boolean): string | undefined => [...owners.keys()].find(mayStart),
    /** The first call of an owner, whose next turn is the last. */
    take: (owner: string): Waiting | undefined => {
      const call = remove(owner, 0);
      const rest = owners.get(owner);
      if (rest !== undefined) {
        owners.delete(owner);
        owners.set(owner, rest);
      }
      return call;
    },
    removeOne: (): Waiting | undefined => {
      const [busiest] = [...owners].reduce((most, each) => (isBusier(each, most) ? each : most));
      return remove(busiest, -1);
    },
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
