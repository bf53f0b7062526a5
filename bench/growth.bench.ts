/**
 * Measures each kind of work with 1, 10 and 100 times the data. It measures the CPU time of all processes and servers, which depends on
 * the machine's load less than a client's waiting time does. The data grows between the measurements. At each size the
 * works take turns, so their samples are spread over time. The memory of each process is measured at rest and under load.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ONLY, ROUNDS } from './config.ts';
import { prepareData, type Size } from './data.ts';
import { attempt, median, type Sample, sample, totalCpu, type Work } from './measure.ts';
import { PRODUCT, residentMiB, totalOf } from './processes.ts';
import { conditions, printSkipped, printTable, spread } from './report.ts';
import { debits } from './rows/debits.ts';
import { passwords } from './rows/passwords.ts';
import { otherReads, posts } from './rows/reads.ts';

const TIMES = [1, 10, 100] as const;
const BASE: Size = { posts: 1_000, gyms: 200, trainingServices: 200, users: 300, payments: 1_000 };
/** Runs of each work: two warm-ups at the first size, one at the others, and the measured rounds. */
const RUNS = 1 + (1 + ROUNDS) * TIMES.length;
const DELETIONS = 20;
const MEMORY_EVERY_MS = 250;
const SETTLED_MS = 12_000;

const sizeOf = (times: number): Size =>
  Object.fromEntries(Object.entries(BASE).map(([kind, count]) => [kind, count * times])) as never;

/** Samples of each work, in the order of `TIMES`; they are empty if a size could not be measured. */
const measured = new Map<string, Sample[][]>();

await pause(SETTLED_MS);
/** Resident memory: at rest, then the peak at each of `TIMES`. */
const memory = PRODUCT.map(([name, pid]) => ({ name, pid, mib: [residentMiB(pid)] }));
const data = await prepareData();
const others = [...otherReads(data), await debits(), ...(await passwords(RUNS, DELETIONS))];

const measureAll = async (times: number): Promise<void> => {
  const works = [...(await posts(data.reader.token, BASE.posts * times)), ...others];
  const chosen = works.filter(({ name }) => name.includes(ONLY));
  // Without this, the first measurements would be of code that is not optimized yet.
  if (times === TIMES[0]) for (const { name, run } of chosen) await attempt(`${name}, warm-up`, run);
  const working = new Map<Work, Sample[]>();
  for (const work of chosen) {
    const own: Sample[] = [];
    if (await attempt(`${work.name}, ${times} ×`, work.run)) working.set(work, own);
    measured.set(work.name, [...(measured.get(work.name) ?? []), own]);
  }
  for (let round = 1; round <= ROUNDS; round += 1)
    for (const [{ name, run }, own] of working)
      await attempt(`${name}, ${times} ×, round ${round}`, async () => {
        const one = await sample(run);
        own.push(one);
        console.log(`${times} ×, round ${round}: ${name}: ${totalOf(one.cpu).toFixed(2)} ms`);
      });
};

for (const times of TIMES) {
  await data.grow(sizeOf(times));
  for (const { mib } of memory) mib.push(0);
  const timer = setInterval(() => {
    for (const { pid, mib } of memory) mib.push(Math.max(mib.pop() ?? 0, residentMiB(pid)));
  }, MEMORY_EVERY_MS);
  await measureAll(times);
  clearInterval(timer);
}

const totals = [...measured].map(([name, sizes]) => ({ name, cpu: sizes.map(totalCpu) }));
printTable(
  `CPU milliseconds of all processes and servers for one, by the size of the data, and how much the median grew. ` +
    `1 × is ${JSON.stringify(BASE)}. ${conditions()}`,
  ['work', ...TIMES.map((times) => `${times} ×`), 'growth'],
  totals.map(({ name, cpu }) => [
    name,
    ...cpu.map(spread),
    (median(cpu.at(-1) ?? []) / median(cpu[0] ?? [])).toFixed(2),
  ]),
);
printTable(
  `Resident memory in MiB: at rest before any request, and at most under this load. Goal: content with the largest data ≤ 280.`,
  ['process', 'at rest', ...TIMES.map((times) => `${times} ×`)],
  memory.map(({ name, mib }) => [name, ...mib.map((value) => value.toFixed(0))]),
);
printSkipped();
process.exit();
