/** Small benchmark tools: quantiles, concurrent callers, memory and CPU time of a process. */
import { readFileSync } from 'node:fs';

/** A number of completed units of work and the time they took. */
export interface Run {
  count: number;
  seconds: number;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

/** Durations of `count` calls in milliseconds, with `atOnce` of them running concurrently. */
export const measure = async (
  count: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<number[]> => {
  const times: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const startedAt = performance.now();
      await work(index);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return times;
};

/** The same calls as one run. */
export const runCalls = async (...calls: Parameters<typeof measure>): Promise<Run> => {
  const startedAt = performance.now();
  await measure(...calls);
  return { count: calls[0], seconds: (performance.now() - startedAt) / 1_000 };
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
