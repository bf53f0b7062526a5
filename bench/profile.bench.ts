/**
 * Where the time of a process goes: CPU profiles of warm processes during work that has a goal. The time of the main thread is
 * from the profiler; that of the whole process, with the threads for argon2, garbage collection and compilation, from the kernel.
 */
import { connectStack } from '../scripts/lib/stack-client.mjs';
import { ONLY, ROUNDS } from './config.ts';
import { prepareData, REQUESTS_SIZE } from './data.ts';
import { cpuMs } from './figures.ts';
import { profiled } from './profile.ts';
import type { Work } from './race.ts';
import { conditions, printTable } from './report.ts';
import { debits } from './rows/debits.ts';
import { passwords } from './rows/passwords.ts';
import { otherReads, posts } from './rows/reads.ts';

/** By the name of the work. */
const PROCESSES: Record<string, readonly string[]> = {
  'trivial read, guest': ['gateway', 'gyms'],
  'trivial read, signed in': ['gateway'],
  'GET /training-services, signed in': ['content', 'identity'],
  'wallet debit': ['wallet'],
  'log-in': ['identity', 'store-billing'],
  'phase 1 of delete-account, five blockers': ['identity', 'gateway'],
};
/** Of each table. */
const ROWS = 14;

const product = connectStack();
const data = await prepareData();
const runs = Math.max(...Object.values(PROCESSES).map(({ length }) => length)) + ROUNDS;
const checked = await passwords(runs);
await data.grow(REQUESTS_SIZE);
const peers = { fastify: undefined, pocketBase: undefined };
const wallets = await debits(false);
const works = [
  ...(await posts(data.reader.token, REQUESTS_SIZE.posts, peers)),
  ...otherReads(data, peers),
  ...wallets.works,
  ...checked.works,
];

const largest = (times: Map<string, number>, busyMs: number, count: number): string[][] =>
  [...times]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, ROWS)
    .map(([name, ms]) => [name, (ms / count).toFixed(3), `${((100 * ms) / busyMs).toFixed(1)} %`]);

const show = async ({ name, run }: Work, process: string): Promise<void> => {
  const { pid } = product.part(process);
  let count = 0;
  const before = cpuMs(pid);
  const { busyMs, byPart, byFunction } = await profiled(pid, async () => {
    ({ count } = await run());
  });
  const total = (cpuMs(pid) - before) / count;
  const title =
    `${name}: ${process}, ${total.toFixed(2)} ms of CPU for one with the profiler, ${(busyMs / count).toFixed(2)} ms of them in ` +
    `the main thread. ${conditions()}`;
  printTable(title, ['part', 'ms for one', 'share'], largest(byPart, busyMs, count));
  printTable(
    'The same by function.',
    ['function', 'ms for one', 'share'],
    largest(byFunction, busyMs, count),
  );
};

for (const work of works) {
  const processes = PROCESSES[work.name];
  if (processes === undefined || !work.name.includes(ONLY)) continue;
  for (let round = 0; round < ROUNDS; round += 1) await work.run();
  for (const process of processes) await show(work, process);
}
await wallets.close();
await checked.close();
