/** Races the product's work against a peer's. Both take turns in one run, so the machine's state affects both. */
import { ROUNDS } from './config.ts';
import { pause, quantile } from './figures.ts';
import type { Run } from './load.ts';
import { type Cpu, cpuByProcess, cpuPer, totalOf } from './processes.ts';
import type { Replica } from './replica.ts';

export interface Work {
  name: string;
  run: () => Promise<Run>;
  /** Undefined if there is nothing to compare with. */
  peer?: { name: string; run: () => Promise<Run>; pid?: number | undefined } | undefined;
  /** Additional processes whose CPU time is included. */
  replicas?: readonly Replica[];
  goals?: {
    /** Minimum for our rate as a fraction of the peer's. */
    rate?: number;
    /** Maximum for our time as a multiple of the peer's. */
    time?: number;
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
  /** The product's CPU for one unit of work. */
  cpu: Cpu;
}

/** A pause, so that work left over from the other side, such as pending events, does not affect the next measurement. */
const SETTLE_MS = 500;

export const sample = async (
  run: () => Promise<Run>,
  replicas: readonly { name: string; pid: number }[] = [],
): Promise<Sample> => {
  await pause(SETTLE_MS);
  const before = cpuByProcess(replicas);
  const { count, seconds } = await run();
  return { perSecond: count / seconds, cpu: cpuPer(count, before, cpuByProcess(replicas)) };
};

/** The peer's process, if its CPU time is measured. */
export const PEER = 'peer';

const peerProcess = (pid: number | undefined): { name: string; pid: number }[] =>
  pid === undefined ? [] : [{ name: PEER, pid }];

export const race = async (work: Work): Promise<Raced> => {
  const raced: Raced = { work, ours: [], peer: [] };
  await work.run();
  await work.peer?.run();
  for (let round = 0; round < ROUNDS; round += 1) {
    raced.ours.push(await sample(work.run, work.replicas));
    if (work.peer !== undefined) raced.peer.push(await sample(work.peer.run, peerProcess(work.peer.pid)));
  }
  return raced;
};

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const medianCpu = (samples: readonly Sample[]): Cpu =>
  Object.fromEntries(
    Object.keys(samples[0]?.cpu ?? {}).map((name) => [
      name,
      median(samples.map(({ cpu }) => cpu[name] ?? 0)),
    ]),
  );

export const totalCpu = (samples: readonly Sample[]): number[] => samples.map(({ cpu }) => totalOf(cpu));

export const rates = (samples: readonly Sample[]): number[] => samples.map(({ perSecond }) => perSecond);
