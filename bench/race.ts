/** Races the product's work against a peer's. Both take turns in one run, so the machine's state affects both. */
import { setTimeout as pause } from 'node:timers/promises';
import { ROUNDS } from './config.ts';
import { median, type Run } from './figures.ts';
import { type Cpu, cpuByProcess, cpuPer, totalOf } from './processes.ts';

export interface Work {
  name: string;
  run: () => Promise<Run>;
  /** Undefined if there is nothing to compare with. With `pid` the CPU time of this process is measured too. */
  peer?: { name: string; run: () => Promise<Run>; pid?: number | undefined } | undefined;
  goals?: {
    /** Minimum for our rate as a fraction of the peer's. */
    rate?: number;
    /** Maximum CPU milliseconds of all processes for one unit of work. */
    totalCpu?: number;
    /** Maximum CPU milliseconds of one process for one unit of work. */
    cpu?: readonly [process: string, ms: number];
    /** Maximum CPU of all processes with the largest data, as a multiple of that with the smallest. */
    growth?: number;
  };
}

export interface Raced {
  work: Work;
  ours: Sample[];
  peer: Sample[];
}

export interface Sample {
  perSecond: number;
  /** The CPU for one unit of work. */
  cpu: Cpu;
}

/** A pause, so that work left over from the other side, such as pending events, does not affect the next measurement. */
const SETTLE_MS = 500;

export const sample = async (run: () => Promise<Run>, peer?: number): Promise<Sample> => {
  await pause(SETTLE_MS);
  const before = cpuByProcess(peer);
  const { count, seconds } = await run();
  return { perSecond: count / seconds, cpu: cpuPer(count, before, cpuByProcess(peer)) };
};

export const race = async (work: Work): Promise<Raced> => {
  const raced: Raced = { work, ours: [], peer: [] };
  await work.run();
  await work.peer?.run();
  for (let round = 0; round < ROUNDS; round += 1) {
    raced.ours.push(await sample(work.run));
    if (work.peer !== undefined) raced.peer.push(await sample(work.peer.run, work.peer.pid));
  }
  return raced;
};

export const medianCpu = (samples: readonly Sample[]): Cpu =>
  Object.fromEntries(
    Object.keys(samples[0]?.cpu ?? {}).map((name) => [
      name,
      median(samples.map(({ cpu }) => cpu[name] ?? 0)),
    ]),
  );

export const totalCpu = (samples: readonly Sample[]): number[] => samples.map(({ cpu }) => totalOf(cpu));

export const rates = (samples: readonly Sample[]): number[] => samples.map(({ perSecond }) => perSecond);
