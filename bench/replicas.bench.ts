/**
 * One, two and three replicas of the gateway and of content, each gateway in front of its own content. Linear until the cores
 * are saturated: with a load for each gateway that leaves cores free, the rate grows with the replicas, and a request costs
 * what it costs with one. Then the same with a load that uses all cores.
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
/** A content and a gateway are started for each replica. */
const PROCESSES = 2;
/** CPU for a request with replicas, as a multiple of that with one. */
const GOAL = 1.2;
/** Of a rate that is the multiple of that with one. */
const RATE_GOAL = 0.95;
/** For each gateway; three of them use less than half of two cores. */
const PACED = { connections: 8, pauseMs: 120 };

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
  /** Of the gateways and contents in use and of the servers that they use, for one request. */
  cpu: number;
  cores: number;
}

/** Other processes only wait, and cost the same with one replica or three. */
const COUNTED = ['gateway', 'content', 'database', 'Redis'];
const counted = (cpu: Cpu): number =>
  totalOf(Object.fromEntries(COUNTED.map((name) => [name, cpu[name] ?? 0])));

const measureWith = async (
  count: number,
  each: { connections: number; pauseMs?: number },
): Promise<Measured> => {
  const inUse = replicas.slice(0, PROCESSES * (count - 1));
  const before = cpuByProcess(inUse);
  const startedAt = performance.now();
  const runs = await Promise.all(gateways.slice(0, count).map((origin) => load({ origin, paths, ...each })));
  const seconds = (performance.now() - startedAt) / 1_000;
  const answered = runs.reduce((sum, run) => sum + run.count, 0);
  const cpu = cpuPer(answered, before, cpuByProcess(inUse));
  return {
    perSecond: answered / seconds,
    cpu: counted(cpu),
    cores: (totalOf(cpu) * answered) / 1_000 / seconds,
  };
};

const counts = Array.from({ length: REPLICAS }, (_, index) => index + 1);
const MEASUREMENTS = {
  paced: (count: number) => measureWith(count, PACED),
  full: (count: number) => measureWith(count, { connections: Math.floor(CONNECTIONS / count) }),
};
type Kind = keyof typeof MEASUREMENTS;
const measured: Record<Kind, Map<number, Measured[]>> = { paced: new Map(), full: new Map() };
for (const kind of Object.keys(MEASUREMENTS) as Kind[]) {
  for (const count of counts) await MEASUREMENTS[kind](count);
  for (let round = 0; round < ROUNDS; round += 1)
    for (const count of counts)
      measured[kind].set(count, [...(measured[kind].get(count) ?? []), await MEASUREMENTS[kind](count)]);
}

const medianOf = (kind: Kind, count: number, value: (one: Measured) => number): number =>
  median((measured[kind].get(count) ?? []).map(value));
const rateOf = (kind: Kind, count: number): number => medianOf(kind, count, ({ perSecond }) => perSecond);
const costOf = (kind: Kind, count: number): number => medianOf(kind, count, ({ cpu }) => cpu);
const coresOf = (kind: Kind, count: number): number => medianOf(kind, count, ({ cores }) => cores);

printTable(
  `Replicas of the gateway and content, 30 posts with files and total for a guest: ${PACED.connections} connections for each ` +
    `gateway that pause ${PACED.pauseMs} ms between two requests (goal: the rate grows by as much as the replicas, and CPU for a ` +
    `request is at most ${GOAL} × that with one). ${conditions()}`,
  ['replicas', 'per second', 'to one replica', 'cores in use', 'CPU for one', 'to one replica', 'result'],
  counts.map((count) => {
    const [rate, cost] = [
      rateOf('paced', count) / rateOf('paced', 1),
      costOf('paced', count) / costOf('paced', 1),
    ];
    return [
      String(count),
      rateOf('paced', count).toFixed(0),
      rate.toFixed(2),
      coresOf('paced', count).toFixed(2),
      `${costOf('paced', count).toFixed(2)} ms`,
      cost.toFixed(2),
      rate >= count * RATE_GOAL && cost <= GOAL ? 'met' : 'missed',
    ];
  }),
);
printTable(
  `The same without pauses, ${CONNECTIONS} connections together: ${availableParallelism()} cores are shared with the load. ${conditions()}`,
  ['replicas', 'per second', 'cores in use', 'CPU for one'],
  counts.map((count) => [
    String(count),
    rateOf('full', count).toFixed(0),
    coresOf('full', count).toFixed(2),
    `${costOf('full', count).toFixed(2)} ms`,
  ]),
);
for (const { stop } of replicas) stop();
