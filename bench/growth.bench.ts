/**
 * Measures each kind of work with 1, 10 and 100 times the data. It measures the CPU time of all processes and servers, which depends on
 * the machine's load less than a client's waiting time does. The data grows between the measurements. At each size the
 * works take turns, so their samples are spread over time. The memory of each process is measured at rest and under load.
 */
import { remaining } from '../packages/shared/src/kernel/progress.mjs';
import { connectStack } from '../scripts/lib/stack-client.mjs';
import { ONLY, ROUNDS, SECONDS } from './config.ts';
import { prepareData, type Size } from './data.ts';
import { pause, residentMiB } from './figures.ts';
import { totalOf } from './processes.ts';
import { median, medianCpu, type Sample, sample, totalCpu, type Work } from './race.ts';
import { conditions, cpuColumns, printTable, spread } from './report.ts';
import { debits } from './rows/debits.ts';
import { passwords } from './rows/passwords.ts';
import { anywhere, otherReads, startWithoutListCache } from './rows/reads.ts';

const TIMES = [1, 10, 100] as const;
const BASE: Size = { posts: 1_000, gyms: 200, trainingServices: 200, users: 300, payments: 1_000 };
/** Goal for the ratio of the medians at the largest and smallest data, unless a work sets its own. */
const GROWTH = 1.5;
/** Runs of each work at each size: one warm-up and the measured rounds. */
const RUNS = 1 + ROUNDS;
/** Used only to estimate the remaining time. */
const ROWS_A_SECOND = 500;
const WORKS = 21;
/** Goals for resident memory: all processes together at rest, and peaks of content under load with the most data. */
const REST_GOAL_MIB = 1_228;
const MEMORY_GOALS_MIB: Readonly<Record<string, number>> = {
  content: 280,
  'content without the list cache': 200,
};
const MEMORY_EVERY_MS = 250;
const SETTLED_MS = 12_000;

const sizeOf = (times: number): Size =>
  Object.fromEntries(Object.entries(BASE).map(([name, count]) => [name, count * times])) as unknown as Size;

const rowsOf = (size: Size): number => Object.values(size).reduce((sum, count) => sum + count, 0);

/** Progress in expected seconds. */
const progress = {
  done: 0,
  total: rowsOf(sizeOf(TIMES.at(-1) ?? 1)) / ROWS_A_SECOND + WORKS * (TIMES.length * RUNS + 1) * SECONDS,
  startedAt: performance.now(),
};

const report = (line: string, expectedSeconds: number): void => {
  progress.done += expectedSeconds;
  const elapsedMs = performance.now() - progress.startedAt;
  const left = remaining({ ...progress, elapsedMs });
  console.log(`${line}; ${(elapsedMs / 1_000).toFixed(0)} s${left && `, ${left}`}`);
};

/** Samples by name of work, in the order of `TIMES`; empty if a size could not be measured. */
const measured = new Map<string, { goals: NonNullable<Work['goals']>; sizes: Sample[][] }>();
const skipped: string[] = [];

const memoryOf = (name: string, pid: number, rest = Number.NaN) => ({
  name,
  pid,
  rest,
  /** Peaks in the order of `TIMES`. */
  peaks: [] as number[],
});

await pause(SETTLED_MS);
const memory = Object.entries(connectStack().describe().parts)
  .filter(([name]) => name !== 'sandbox')
  .map(([name, { pid }]) => memoryOf(name, pid, residentMiB(pid)));
const restMiB = memory.reduce((sum, { rest }) => sum + rest, 0);
const data = await prepareData();
const wallets = await debits(false);
const withoutCache = await startWithoutListCache();
memory.push(memoryOf('content without the list cache', withoutCache.pid));
const checked = await passwords(RUNS * TIMES.length + 1, 20);
progress.startedAt = performance.now();

const grow = async (times: number): Promise<void> => {
  const size = sizeOf(times);
  const [startedAt, missing] = [
    performance.now(),
    rowsOf(size) - (times === 1 ? 0 : rowsOf(sizeOf(times / 10))),
  ];
  let written = 0;
  await data.grow(size, (count) => {
    written += count;
    if (written % 20_000 < count) report(`${times} ×: ${written} of ${missing} rows`, count / ROWS_A_SECOND);
    else progress.done += count / ROWS_A_SECOND;
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  report(`${times} ×: ${JSON.stringify(size)}, written in ${seconds.toFixed(0)} s`, 0);
};

const allWorks = async (times: number): Promise<Work[]> => {
  const works = [
    ...(await anywhere(data.reader.token, BASE.posts * times, [withoutCache.lists])),
    ...otherReads(data, { fastify: undefined, pocketBase: undefined }),
    ...wallets.works,
    ...checked.works,
  ];
  return works.filter(({ name }) => name.includes(ONLY));
};

/** Runs each work once and returns those that succeed. */
const warmUp = async (works: readonly Work[], times: number): Promise<Work[]> => {
  const done: Work[] = [];
  for (const work of works) {
    try {
      await work.run();
      done.push(work);
    } catch (error) {
      skipped.push(`${work.name}, ${times} ×: ${(error as Error).message}`);
    }
    report(`${times} ×: warm-up: ${work.name}`, SECONDS);
  }
  return done;
};

const measureAll = async (times: number): Promise<void> => {
  const works = await allWorks(times);
  // Without this, the first measurements would be of code that is not optimized yet.
  if (times === TIMES[0]) await warmUp(works, times);
  const bySize = new Map((await warmUp(works, times)).map((work) => [work, [] as Sample[]]));
  for (let round = 1; round <= ROUNDS; round += 1)
    for (const [work, samples] of bySize) {
      let result = 'not measured';
      try {
        const one = await sample(work.run, work.replicas);
        samples.push(one);
        result = `${totalOf(one.cpu).toFixed(2)} ms`;
      } catch (error) {
        skipped.push(`${work.name}, ${times} ×, round ${round}: ${(error as Error).message}`);
      }
      report(`${times} ×, round ${round}: ${work.name}: ${result}`, SECONDS);
    }
  for (const work of works) {
    const { sizes = [] } = measured.get(work.name) ?? {};
    measured.set(work.name, { goals: work.goals ?? {}, sizes: [...sizes, bySize.get(work) ?? []] });
  }
};

/** Records the peak resident memory of each process during `work`. */
const watchMemory = async (work: () => Promise<void>): Promise<void> => {
  for (const { peaks } of memory) peaks.push(0);
  const timer = setInterval(() => {
    for (const { pid, peaks } of memory) peaks.push(Math.max(peaks.pop() ?? 0, residentMiB(pid)));
  }, MEMORY_EVERY_MS);
  await work();
  clearInterval(timer);
};

for (const times of TIMES) {
  await grow(times);
  await watchMemory(() => measureAll(times));
}
await checked.close();
await wallets.close();
withoutCache.stop();

const base = Object.entries(BASE).map(([name, count]) => `${count} ${name}`);
const rowOf = (name: string, { goals, sizes }: { goals: NonNullable<Work['goals']>; sizes: Sample[][] }) => {
  const totals = sizes.map(totalCpu);
  const largest = median(totals.at(-1) ?? []);
  const growth = largest / median(totals[0] ?? []);
  const { growth: limit = GROWTH, totalCpu: costs = Number.POSITIVE_INFINITY } = goals;
  const limits = [
    limit < Number.POSITIVE_INFINITY && `${limit} ×`,
    costs < Number.POSITIVE_INFINITY && `${costs} ms`,
  ];
  return [
    name,
    ...totals.map((total) => (total.length === 0 ? '–' : spread(total))),
    Number.isNaN(growth) ? '–' : growth.toFixed(2),
    `≤ ${limits.filter(Boolean).join(', ')}`,
    growth <= limit && largest <= costs ? 'met' : 'missed',
  ];
};

printTable(
  `CPU milliseconds of all processes and servers for one, by the size of the data; the goals are of the median of the largest. ` +
    `1 × is ${base.join(', ')}. ${conditions()}`,
  ['work', ...TIMES.map((times) => `${times} ×`), 'to 1 ×', 'goal', 'result'],
  [...measured].map(([name, measurement]) => rowOf(name, measurement)),
);
const mebibytes = (value: number): string => (Number.isNaN(value) ? '–' : value.toFixed(0));
const goalCells = (value: number, goal: number | undefined): [string, string] =>
  goal === undefined ? ['–', '–'] : [`≤ ${goal}`, value <= goal ? 'met' : 'missed'];
printTable(
  'Resident memory in MiB: at rest before any request, and at most under this load.',
  ['process', 'at rest', ...TIMES.map((times) => `${times} ×`), 'goal', 'result'],
  [
    ...memory.map(({ name, rest, peaks }) => [
      name,
      ...[rest, ...peaks].map(mebibytes),
      ...goalCells(peaks.at(-1) ?? 0, MEMORY_GOALS_MIB[name]),
    ]),
    ['together', mebibytes(restMiB), ...TIMES.map(() => '–'), ...goalCells(restMiB, REST_GOAL_MIB)],
  ],
);
const costs = [...measured].flatMap(([name, { sizes }]) =>
  sizes.flatMap((samples, index) =>
    samples.length === 0 ? [] : [{ name, size: `${TIMES[index]} ×`, cpu: medianCpu(samples) }],
  ),
);
const [head, cells] = cpuColumns(costs.map(({ cpu }) => cpu));
printTable(
  'The same by process.',
  ['work', 'data', ...head],
  costs.map(({ name, size, cpu }) => [name, size, ...cells(cpu)]),
);
for (const reason of skipped) console.log(`Skipped: ${reason}`);
