/**
 * One, two and three replicas of the gateway and of content, each gateway in front of its own content. Replicas are linear
 * until the cores are saturated when the cost of a request stays the same, which is shown also where there are too few
 * cores for a higher rate. A rate limit of the processes, the number of cores in use, tells which of both is the case.
 */
import { availableParallelism } from 'node:os';
import { connectStack } from '../scripts/lib/stack-client.mjs';
import { ROUNDS } from './config.ts';
import { prepareData, REQUESTS_SIZE } from './data.ts';
import { CONNECTIONS, load } from './load.ts';
import { type Cpu, cpuByProcess, cpuPer, totalOf } from './processes.ts';
import { median } from './race.ts';
import { type Replica, startReplica } from './replica.ts';
import { conditions, printTable } from './report.ts';

const REPLICAS = 3;
/** CPU for a request with replicas, as a multiple of that with one. */
const GOAL = 1.2;

const product = connectStack();

const data = await prepareData(REQUESTS_SIZE.posts);
await data.grow(REQUESTS_SIZE);
const gateways: string[] = [product.part('gateway').url];
const replicas: Replica[] = [];
for (let index = 1; index < REPLICAS; index += 1) {
  const content = await startReplica('content');
  const variables = { CONTENT_HTTP_URL: content.origin };
  const gateway = await startReplica('gateway', variables);
  replicas.push(content, gateway);
  gateways.push(gateway.origin);
}

const paths = Array.from({ length: 200 }, (_, page) => `/api/v1/posts?per_page=30&page=${page + 1}`);

interface Measured {
  perSecond: number;
  cpu: Cpu;
  cores: number;
}

const measureWith = async (count: number): Promise<Measured> => {
  const before = cpuByProcess(replicas);
  const startedAt = performance.now();
  const runs = await Promise.all(
    gateways
      .slice(0, count)
      .map((origin) => load({ origin, paths, connections: Math.floor(CONNECTIONS / count) })),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  const answered = runs.reduce((sum, run) => sum + run.count, 0);
  const cpu = cpuPer(answered, before, cpuByProcess(replicas));
  return { perSecond: answered / seconds, cpu, cores: (totalOf(cpu) * answered) / 1_000 / seconds };
};

const measured = new Map<number, Measured[]>();
for (let count = 1; count <= REPLICAS; count += 1) await measureWith(count);
for (let round = 0; round < ROUNDS; round += 1)
  for (let count = 1; count <= REPLICAS; count += 1)
    measured.set(count, [...(measured.get(count) ?? []), await measureWith(count)]);

const medianOf = (count: number, value: (one: Measured) => number): number =>
  median((measured.get(count) ?? []).map(value));
const costOf = (count: number): number => medianOf(count, ({ cpu }) => totalOf(cpu));
printTable(
  `Replicas of the gateway and content, 30 posts with files and total for a guest (goal: CPU for a request at most ${GOAL} × ` +
    `that with one; ${availableParallelism()} cores are shared with the load). ${conditions()}`,
  ['replicas', 'per second', 'cores in use', 'CPU for one', 'to one replica', 'result'],
  [...measured.keys()].map((count) => {
    const growth = costOf(count) / costOf(1);
    return [
      String(count),
      medianOf(count, ({ perSecond }) => perSecond).toFixed(0),
      medianOf(count, ({ cores }) => cores).toFixed(2),
      `${costOf(count).toFixed(2)} ms`,
      growth.toFixed(2),
      growth <= GOAL ? 'met' : 'missed',
    ];
  }),
);
for (const { stop } of replicas) stop();
