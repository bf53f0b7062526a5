/** Wakes the relays of this process as soon as events are committed, instead of at their next poll. */
import type { Connection } from '../mongo/connect.ts';

const listeners = new WeakMap<Connection, Set<() => void>>();

/** Calls `wake` whenever events were committed on `connection`. Returns a function that stops this. */
export const onCommittedEvents = (connection: Connection, wake: () => void): (() => void) => {
  const wakers = listeners.get(connection) ?? new Set();
  listeners.set(connection, wakers);
  wakers.add(wake);
  return () => wakers.delete(wake);
};

export const signalCommittedEvents = (connection: Connection): void => {
  for (const wake of listeners.get(connection) ?? []) wake();
};

/** A sleep that `wake` ends early. A call of `wake` between two sleeps ends the next one. */
export const createWakeableSleep = () => {
  let woken = false;
  let ended = false;
  let wakeable = true;
  let endSleep: (() => void) | undefined;
  return {
    /** Whether `wake` was called since the last call. */
    takeWakeUp: (): boolean => {
      const was = woken;
      woken = false;
      return was;
    },
    wake: (): void => {
      woken = true;
      if (wakeable) endSleep?.();
    },
    /** Ends this sleep and makes every later one return at once. */
    end: (): void => {
      ended = true;
      endSleep?.();
    },
    sleep: async (durationMs: number, mode: { wakeable: boolean }): Promise<void> => {
      if (ended || (woken && mode.wakeable)) return;
      wakeable = mode.wakeable;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, durationMs);
        endSleep = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      endSleep = undefined;
    },
  };
};
