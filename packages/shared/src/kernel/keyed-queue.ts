/** Runs tasks with the same key one after the other, in the order of the calls, and others concurrently. */
export interface KeyedQueue {
  /** Settles as `work` does; the failure of an earlier task has no effect. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Resolves when no task is running or queued. */
  idle(): Promise<void>;
}

export const createKeyedQueue = (): KeyedQueue => {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run: (key, work) => {
      const before = tails.get(key) ?? Promise.resolve();
      const result = before.then(work);
      const tail = result
        .catch(() => undefined)
        .then(() => {
          if (tails.get(key) === tail) tails.delete(key);
        });
      tails.set(key, tail);
      return result;
    },
    idle: async () => {
      while (tails.size > 0) await Promise.all(tails.values());
    },
  };
};
