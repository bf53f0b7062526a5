/** Work with the same key runs one after the other, in the order it came; the rest runs side by side. */
export interface Lanes {
  /** Never rejects for the failure of what ran before. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Resolves once nothing is running. */
  idle(): Promise<void>;
}

export const createLanes = (): Lanes => {
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
