/** Small tools of the benchmarks: quantiles, many callers at once, memory and time of a process. */
import { readFileSync } from 'node:fs';
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

/** Resident memory of a process. */
export const residentMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** What a process has computed since it began; the kernel counts in hundredths of a second. */
export const cpuMs = (pid: number): number => {
  // After the name of the program, which may hold spaces; the fields that follow are numbered from 3 in proc(5).
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

export { pause };
