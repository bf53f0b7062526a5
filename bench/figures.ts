/** Small benchmark tools: quantiles, concurrent callers, memory and CPU time of a process. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

export const quantile = (values: readonly number[], q: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
};

export const ms = (value: number): string => `${value.toFixed(1)} ms`;

/** Duration of `work` in milliseconds. */
export const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

/** Durations of `count` calls, with `atOnce` of them running concurrently. */
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

/** CPU time of a process since its start. The kernel counts in hundredths of a second. */
export const cpuMs = (pid: number): number => {
  // Skips the program name, which may contain spaces. proc(5) numbers the fields after it from 3.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

export { pause };
