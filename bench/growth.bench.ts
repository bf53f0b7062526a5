/**
 * What each kind of work costs with 1, 10 and 100 times the data: CPU time of all processes and servers, which depends on
 * the load of the machine less than the time that a client waits. The data grow between the measurements.
 */
import { remaining } from '../packages/shared/src/kernel/progress.mjs';
import { ONLY, SECONDS } from './config.ts';
import { prepareData, type Size } from './data.ts';
import { type Cpu, totalOf } from './processes.ts';
import { sample, type Work } from './race.ts';
import { cpuColumns, machine, printTable } from './report.ts';
import { debits } from './rows/debits.ts';
import { passwords } from './rows/passwords.ts';
import { reads } from './rows/reads.ts';

const TIMES = [1, 10, 100] as const;
const BASE: Size = { posts: 1_000, gyms: 200, trainingServices: 200, users: 300, payments: 1_000 };
const GOAL = 1.5;
/** Of each work at each size: one to warm up, one that counts. */
const RUNS = 2;
/** For the remaining time alone. */
const ROWS_A_SECOND = 500;
const WORKS = 15;

const sizeOf = (times: number): Size =>
  Object.fromEntries(Object.entries(BASE).map(([name, count]) => [name, count * times])) as unknown as Size;

const rowsOf = (size: Size): number => Object.values(size).reduce((sum, count) => sum + count, 0);

/** In expected seconds. */
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

const costOf = async (work: Work): Promise<Cpu> => {
  await work.run();
  return (await sample(work.run)).cpu;
};

/** By the name of the work, in the order of `TIMES`; undefined where it could not be measured. */
const costs = new Map<string, (Cpu | undefined)[]>();
const skipped: string[] = [];

const data = await prepareData(BASE.posts);
const wallets = await debits(false);
const checked = await passwords(RUNS * TIMES.length + 1, { logins: 100, deletions: 12 });
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

/** The same pages at each size. */
const allWorks = async (): Promise<Work[]> => {
  const peers = { fastify: undefined, pocketBase: undefined };
  const works = [...(await reads(data, BASE.posts, peers)), ...wallets.works, ...checked.works];
  return works.filter(({ name }) => name.includes(ONLY));
};

/** The first measurements would otherwise be those of code that is not optimized yet. */
const warmUp = async (): Promise<void> => {
  for (const work of await allWorks()) {
    const failed = await work.run().then(
      () => '',
      (error: Error) => `: ${error.message}`,
    );
    report(`warm-up: ${work.name}${failed}`, SECONDS);
  }
};

const measureAll = async (times: number): Promise<void> => {
  for (const work of await allWorks()) {
    const cpu = await costOf(work).catch((error: Error) => {
      skipped.push(`${work.name}, ${times} ×: ${error.message}`);
      return undefined;
    });
    costs.set(work.name, [...(costs.get(work.name) ?? []), cpu]);
    const result = cpu === undefined ? 'not measured' : `${totalOf(cpu).toFixed(2)} ms`;
    report(`${times} ×: ${work.name}: ${result}`, RUNS * SECONDS);
  }
};

for (const times of TIMES) {
  await grow(times);
  if (times === TIMES[0]) await warmUp();
  await measureAll(times);
}
checked.close();
await wallets.close();

const base = Object.entries(BASE).map(([name, count]) => `${count} ${name}`);
printTable(
  `CPU milliseconds of all processes and servers for one, by the size of the data (goal: at most ${GOAL} × that of 1 ×). ` +
    `1 × is ${base.join(', ')}. ${machine()}; ${SECONDS} s each.`,
  ['work', ...TIMES.map((times) => `${times} ×`), 'to 1 ×', 'result'],
  [...costs].map(([name, values]) => {
    const totals = values.map((cpu) => (cpu === undefined ? undefined : totalOf(cpu)));
    const [first, last] = [totals[0], totals.at(-1)];
    const growth = first === undefined || last === undefined ? undefined : last / first;
    const cells = totals.map((total) => total?.toFixed(2) ?? '–');
    return [
      name,
      ...cells,
      growth?.toFixed(2) ?? '–',
      growth !== undefined && growth <= GOAL ? 'met' : 'missed',
    ];
  }),
);
const [head, cells] = cpuColumns([...costs.values()].flat().filter((cpu) => cpu !== undefined));
printTable(
  'The same by process.',
  ['work', 'data', ...head],
  [...costs].flatMap(([name, values]) =>
    values.flatMap((cpu, index) => (cpu === undefined ? [] : [[name, `${TIMES[index]} ×`, ...cells(cpu)]])),
  ),
);
for (const reason of skipped) console.log(`Skipped: ${reason}`);
