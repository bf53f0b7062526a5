/** Measures work: its rate, and the CPU time of all processes for one unit of it. */
import { setTimeout as pause } from 'node:timers/promises';
import { ROUNDS, skipped } from './config.ts';
import { type Cpu, cpuByProcess, totalOf } from './processes.ts';

/** A number of completed units of work and the time they took. */
export interface Run {
  count: number;
  seconds: number;
}

export interface Work {
  name: string;
  run: () => Promise<Run>;
  /** Undefined if there is nothing to compare with. */
  peer?: { name: string; run: () => Promise<Run> } | undefined;
  goals?: {
    /** Minimum for our rate as a fraction of the peer's. */
    rate?: number;
    /** Maximum CPU milliseconds of all processes for one unit of work. */
    totalCpu?: number;
    /** Maximum CPU milliseconds of single processes for one unit of work. */
    cpu?: Cpu;
  };
}

export interface Sample {
  perSecond: number;
  /** The CPU for one unit of work. */
  cpu: Cpu;
}

export interface Raced {
  work: Work;
  ours: Sample[];
  peer: Sample[];
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

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

/** A pause, so that work left over from the other side, such as pending events, does not affect the next measurement. */
const SETTLE_MS = 500;

export const sample = async (run: () => Promise<Run>): Promise<Sample> => {
  await pause(SETTLE_MS);
  const before = cpuByProcess();
  const { count, seconds } = await run();
  const after = Object.entries(cpuByProcess());
  const cpu = after.map(([name, ms]) => [name, (ms - (before[name] ?? 0)) / count]);
  return { perSecond: count / seconds, cpu: Object.fromEntries(cpu) };
};

/** The product and its peer take turns in one run, so the machine's state affects both. */
export const race = async (work: Work): Promise<Raced> => {
  const raced: Raced = { work, ours: [], peer: [] };
  await work.run();
  await work.peer?.run();
  for (let round = 0; round < ROUNDS; round += 1) {
    raced.ours.push(await sample(work.run));
    if (work.peer !== undefined) raced.peer.push(await sample(work.peer.run));
  }
  return raced;
};

/** Whether the work succeeded. The report has the reasons of failures. */
export const attempt = async (what: string, work: () => Promise<unknown>): Promise<boolean> => {
  try {
    await work();
    return true;
  } catch (error) {
    skipped.push(`${what}: ${(error as Error).message}`);
    return false;
  }
};

export const totalCpu = (samples: readonly Sample[]): number[] => samples.map(({ cpu }) => totalOf(cpu));
