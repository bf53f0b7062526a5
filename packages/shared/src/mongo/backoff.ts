/** Waits between tries. Jitter needs no injection: no outcome depends on it, only when the next try comes. */

export const sleep = (durationMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, durationMs));

/** Full jitter: anything between `minMs` and `minMs * 2^attempt`, capped at `maxMs`. `attempt` counts from 1. */
export const jitteredDelayMs = (attempt: number, minMs: number, maxMs: number): number => {
  const ceiling = Math.min(maxMs, minMs * 2 ** Math.min(attempt, 20));
  return minMs + Math.random() * Math.max(0, ceiling - minMs);
};

/** Whether `work` settled well within `timeoutMs`; a timer of its own does not keep the process alive. */
export const finishesWithin = async (work: Promise<unknown>, timeoutMs: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs).unref();
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
};
