/** A queue that limits concurrent work and serves its callers round robin. */
import { SECOND_MS } from './clock.ts';
import { AppError, message } from './error.ts';

/** Runs `work` when it is the turn of `owner`, e.g. a client's network. Rejects with 503 when the queue is full. */
export type FairQueue = <T>(owner: string, work: () => Promise<T>) => Promise<T>;

interface FairQueueOptions {
  maxRunning: number;
  /** Running calls of one owner. Default: `maxRunning`. */
  maxPerOwner?: number;
  /** A call that waits longer is refused. Default: no limit. */
  maxWaitMs?: number;
  /** How many calls may wait; read at each call. Default: no limit. */
  maxWaiting?: () => number;
  /** For the `Retry-After` of a refused call. */
  retryAfterMs?: number;
}

interface Waiting {
  start(): void;
  refuse(): void;
}

/**
 * Runs at most `maxRunning` calls at a time. Owners with waiting calls take turns; the calls of one owner run in their
 * order. When more than `maxWaiting` calls wait, one is refused (503): the latest call of the owner with the most waiting
 * calls. One owner cannot fill the queue. Ties go against the owner who has waited most often
 * since the queue was last empty, then against the one who has waited longest. Otherwise a client with `maxWaiting` addresses that
 * calls again after each refusal would exclude everybody else.
 */
export const createFairQueue = (options: FairQueueOptions): FairQueue => {
  const { maxRunning, maxPerOwner = maxRunning, maxWaitMs } = options;
  const { maxWaiting = () => Number.POSITIVE_INFINITY, retryAfterMs = SECOND_MS } = options;
  const turns = createRoundRobin();
  /** Number of running calls by owner, only for owners that have any. */
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
          reject(queueFull(retryAfterMs));
        },
      };
      const expire = (): void => {
        turns.remove(owner, call);
        call.refuse();
      };
      const late = maxWaitMs === undefined ? undefined : setTimeout(expire, maxWaitMs);
      turns.add(owner, call);
      if (turns.waiting() > maxWaiting()) turns.removeFromBusiest()?.refuse();
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

/** Above this number of owners, all counts restart to limit memory. */
const COUNTED_OWNERS_MAX = 10_000;

const createRoundRobin = () => {
  /** Owners that have waiting calls, in the order of their turns. */
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
    /** Removes the first call of an owner and moves the owner to the end of the order. */
    take: (owner: string): Waiting | undefined => {
      const call = remove(owner, 0);
      const rest = owners.get(owner);
      if (rest !== undefined) {
        owners.delete(owner);
        owners.set(owner, rest);
      }
      return call;
    },
    /** Removes the call that is refused; see `createFairQueue`. */
    removeFromBusiest: (): Waiting | undefined => {
      const [busiest] = [...owners].reduce((most, each) => (isBusier(each, most) ? each : most));
      return remove(busiest, -1);
    },
  };
};

const queueFull = (retryAfterMs: number): AppError =>
  new AppError({
    kind: 'unavailable',
    code: 'unavailable',
    message: message('error.unavailable'),
    internal: 'too many calls are waiting',
    retryAfterS: Math.ceil(retryAfterMs / SECOND_MS),
  });
