/** Small tools of the benchmarks: quantiles, and many callers at once. */
import { setTimeout as pause } from 'node:timers/promises';

export const quantile = (values: readonly number[], q: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
};

export const ms = (value: number): string => `${value.toFixed(1)} ms`;

/** Milliseconds that `work` took. */
export const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

/** The times of `count` calls, `atOnce` of them together. */
export const measure = async (
  count: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<number[]> => {
  const times: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) times.push(await timed(() => work(index)));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return times;
};

export { pause };
