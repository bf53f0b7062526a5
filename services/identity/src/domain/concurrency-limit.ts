import { unavailable } from '@fitness/shared/kernel/error.ts';

export type ConcurrencyLimit = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Runs at most `maxRunning` tasks at a time, in the order of the calls. Throws `unavailable` when `maxWaiting` calls are
 * waiting.
 */
export const createConcurrencyLimit = (
  maxRunning: number,
  maxWaiting = Number.POSITIVE_INFINITY,
): ConcurrencyLimit => {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= maxRunning) {
      if (waiting.length >= maxWaiting) throw unavailable('too many calls are waiting');
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      // A finished task passes its place on without decrementing `running`, so that a new caller cannot take it.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
};
