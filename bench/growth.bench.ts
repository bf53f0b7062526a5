/**
 * Measures each kind of work with 1, 10 and 100 times the data. It measures the CPU time of all processes and servers, which depends on
 * the machine's load less than a client's waiting time does. The data grows between the measurements. At each size the
 * works take turns, so their samples are spread over time. The memory of each process is measured at rest and under load.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ONLY, ROUNDS, SKIPPED_PEERS } from './config.ts';
import { prepareData, type Size } from './data.ts';
import { median, residentMiB } from './figures.ts';
import { PRODUCT, totalOf } from './processes.ts';
import { type Sample, sample, totalCpu, type Work } from './race.ts';
import { conditions, printTable, spread } from './report.ts';
import { debits } from './rows/debits.ts';
import { passwords } from './rows/passwords.ts';
import { anywhere, otherReads } from './rows/reads.ts';

const TIMES = [1, 10, 100] as const;
const BASE: Size = { posts: 1_000, gyms: 200, trainingServices: 200, users: 300, payments: 1_000 };
/** Goal for the ratio of the medians at the largest and smallest data, unless a work sets its own. */
const GROWTH = 1.5;
/** Runs of each work: two warm-ups at the first size, one at the others, and the measured rounds. */
const RUNS = 1 + (1 + ROUNDS) * TIMES.length;
const DELETIONS = 20;
/** Goals for resident memory: all processes together at rest, and the peak of content with the most data. */
const REST_GOAL_MIB = 1_228;
const CONTENT_GOAL_MIB = 280;
const MEMORY_EVERY_MS = 250;
const SETTLED_MS = 12_000;

const sizeOf = (times: number): Size => ({
  posts: BASE.posts * times,
  gyms: BASE.gyms * times,
  trainingServices: BASE.trainingServices * times,
  users: BASE.users * times,
  payments: BASE.payments * times,
});

/** Samples by name of work, in the order of `TIMES`; empty if a size could not be measured. */
const measured = new Map<string, { goals: NonNullable<Work['goals']>; sizes: Sample[][] }>();
const skipped = [...SKIPPED_PEERS];

await pause(SETTLED_MS);
/** Resident memory: at rest, then the peak at each of `TIMES`. */
const memory = PRODUCT.map(([name, pid]) => ({ name, pid, mib: [residentMiB(pid)] }));
const data = await prepareData();
const others = [...otherReads(data), await debits(), ...(await passwords(RUNS, DELETIONS))];

/** Whether the work succeeded. */
const attempt = async (what: string, run: () => Promise<unknown>): Promise<boolean> => {
  try {
    await run();
    return true;
  } catch (error) {
    skipped.push(`${what}: ${(error as Error).message}`);
    return false;
  }
};

const measureAll = async (times: number): Promise<void> => {
  const all = [...(await anywhere(data.reader.token, BASE.posts * times)), ...others];
  const works = all.filter(({ name }) => name.includes(ONLY));
  // Without this, the first measurements would be of code that is not optimized yet.
  if (times === TIMES[0]) for (const { name, run } of works) await attempt(`${name}, warm-up`, run);
  const samples = new Map<Work, Sample[]>();
  for (const work of works) if (await attempt(`${work.name}, ${times} ×`, work.run)) samples.set(work, []);
  for (let round = 1; round <= ROUNDS; round += 1)
    for (const [{ name, run }, own] of samples)
      await attempt(`${name}, ${times} ×, round ${round}`, async () => {
        const one = await sample(run);
        own.push(one);
        console.log(`${times} ×, round ${round}: ${name}: ${totalOf(one.cpu).toFixed(2)} ms`);
      });
  for (const work of works) {
    const { sizes = [] } = measured.get(work.name) ?? {};
    measured.set(work.name, { goals: work.goals ?? {}, sizes: [...sizes, samples.get(work) ?? []] });
  }
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

const rowOf = (name: string, { goals, sizes }: { goals: NonNullable<Work['goals']>; sizes: Sample[][] }) => {
  const totals = sizes.map(totalCpu);
  const largest = median(totals.at(-1) ?? []);
  const growth = largest / median(totals[0] ?? []);
  const { growth: limit = GROWTH, totalCpu: costs = Number.POSITIVE_INFINITY } = goals;
  const limits = [Number.isFinite(limit) && `${limit} ×`, Number.isFinite(costs) && `${costs} ms`];
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
    `1 × is ${JSON.stringify(BASE)}. ${conditions()}`,
  ['work', ...TIMES.map((times) => `${times} ×`), 'to 1 ×', 'goal', 'result'],
  [...measured].map(([name, measurement]) => rowOf(name, measurement)),
);
const restMiB = memory.reduce((sum, { mib: [rest = 0] }) => sum + rest, 0);
printTable(
  `Resident memory in MiB: at rest before any request, and at most under this load. Goals: all processes at rest ` +
    `≤ ${REST_GOAL_MIB} (${restMiB.toFixed(0)}), content with the largest data ≤ ${CONTENT_GOAL_MIB}.`,
  ['process', 'at rest', ...TIMES.map((times) => `${times} ×`)],
  memory.map(({ name, mib }) => [name, ...mib.map((value) => value.toFixed(0))]),
);
for (const reason of skipped) console.log(`Skipped: ${reason}`);
process.exit();
