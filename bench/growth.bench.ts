/**
 * What each kind of work costs with 1, 10 and 100 times the data: CPU time of all processes and servers, which depends on
 * the load of the machine less than the time that a client waits. The data grow between the measurements.
 */
import { ONLY } from './config.ts';
import { type Data, prepareData, type Size } from './data.ts';
import { totalOf } from './processes.ts';
import { sample, type Work } from './race.ts';
import { conditions, printTable } from './report.ts';
import { debits } from './rows/debits.ts';
import { passwords } from './rows/passwords.ts';
import { reads } from './rows/reads.ts';

const TIMES = [1, 10, 100] as const;
const BASE: Size = { posts: 1_000, gyms: 200, trainingServices: 200, users: 1_000, payments: 1_000 };
const GOAL = 1.5;

const sizeOf = (times: number): Size =>
  Object.fromEntries(Object.entries(BASE).map(([name, count]) => [name, count * times])) as unknown as Size;

const costOf = async (work: Work): Promise<number> => {
  await work.run();
  return totalOf((await sample(work.run)).cpu);
};

/** By the name of the work, in the order of `TIMES`. */
const costs = new Map<string, number[]>();
const skipped: string[] = [];
const noPeers = { fastify: undefined, pocketBase: undefined };

const measureAll = async (data: Data, others: readonly Work[]): Promise<void> => {
  // The same pages at each size.
  const works = [...(await reads(data, BASE.posts, noPeers)), ...others];
  for (const work of works.filter(({ name }) => name.includes(ONLY))) {
    try {
      costs.set(work.name, [...(costs.get(work.name) ?? []), await costOf(work)]);
    } catch (error) {
      skipped.push(`${work.name}: ${(error as Error).message}`);
    }
  }
};

const data = await prepareData(BASE.posts);
const wallets = await debits(false);
const checked = await passwords(TIMES.length);
for (const times of TIMES) {
  const startedAt = performance.now();
  await data.grow(sizeOf(times));
  const tookS = (performance.now() - startedAt) / 1_000;
  console.log(`${times} ×: ${JSON.stringify(sizeOf(times))}, written in ${tookS.toFixed(0)} s`);
  await measureAll(data, [...wallets.works, ...checked.works]);
}
checked.close();
await wallets.close();

printTable(
  `CPU milliseconds of all processes and servers for one, by the size of the data (goal: at most ${GOAL} × that of 1 ×). ` +
    `1 × is ${Object.entries(BASE)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')}. ${conditions()}`,
  ['work', ...TIMES.map((times) => `${times} ×`), 'growth', 'result'],
  [...costs].map(([name, values]) => {
    const growth = (values.at(-1) ?? Number.NaN) / (values[0] ?? Number.NaN);
    const isComplete = values.length === TIMES.length;
    const cells = TIMES.map((_, index) => values[index]?.toFixed(2) ?? '–');
    return [
      name,
      ...cells,
      isComplete ? growth.toFixed(2) : '–',
      isComplete && growth <= GOAL ? 'met' : 'missed',
    ];
  }),
);
for (const reason of skipped) console.log(`Skipped: ${reason}`);
