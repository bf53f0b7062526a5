/**
 * Measures one, two and three replicas of the gateway and of content, where each gateway has its own content. The load is
 * raised step by step until the cores are saturated. While cores are free, the rate must grow with the replicas, and a request
 * must cost about the same. Afterwards the same is measured with connections that never pause.
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
/** Each replica is a content process and a gateway process. */
const PROCESSES = 2;
/** Maximum CPU per request with replicas, as a multiple of that with one. */
const GOAL = 1.2;
/** Minimum rate as a fraction of perfectly linear growth. */
const RATE_GOAL = 0.95;
/** Requests per second sent to each gateway. */
const STEPS = [60, 120, 180, 240, 320, 400, 500];
const PAUSE_MS = 1_000;

const product = connectStack();

const data = await prepareData();
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
  /** CPU per request of the gateways and contents in use and their servers. */
  cpu: number;
  /** Cores used by all processes of the product and its servers, without the load generator. */
  cores: number;
}

/** Processes that do the measured work. All others only wait, and cost the same with one replica or three. */
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
    perSecond: runs.reduce((sum, run) => sum + run.count / run.seconds, 0),
    cpu: counted(cpu),
    cores: (totalOf(cpu) * answered) / 1_000 / seconds,
  };
};

const counts = Array.from({ length: REPLICAS }, (_, index) => index + 1);
/** Medians of the rounds by the number of replicas. The numbers take turns within a round. */
const measureAll = async (
  eachOf: (count: number) => { connections: number; pauseMs?: number },
): Promise<Measured[]> => {
  const rounds: Measured[][] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const one: Measured[] = [];
    for (const count of counts) one.push(await measureWith(count, eachOf(count)));
    rounds.push(one);
  }
  return counts.map((_, index) => {
    const medianOf = (value: (one: Measured) => number): number =>
      median(rounds.flatMap((one) => (one[index] === undefined ? [] : [value(one[index])])));
    return {
      perSecond: medianOf(({ perSecond }) => perSecond),
      cpu: medianOf(({ cpu }) => cpu),
      cores: medianOf(({ cores }) => cores),
    };
  });
};

const withoutPause = (count: number) => ({ connections: Math.floor(CONNECTIONS / count) });
for (const count of counts) await measureWith(count, withoutPause(count));

const steps: string[][] = [];
for (const perGateway of STEPS) {
  // Each connection sends one request per pause.
  const measured = await measureAll(() => ({
    connections: (perGateway * PAUSE_MS) / 1_000,
    pauseMs: PAUSE_MS,
  }));
  const [one] = measured;
  for (const [index, { perSecond, cpu, cores }] of measured.entries()) {
    const rate = perSecond / (one?.perSecond ?? Number.NaN);
    const cost = cpu / (one?.cpu ?? Number.NaN);
    const isLinear = rate >= counts[index]! * RATE_GOAL && cost <= GOAL;
    steps.push([
      String(perGateway),
      String(counts[index]),
      perSecond.toFixed(0),
      rate.toFixed(2),
      cores.toFixed(2),
      `${cpu.toFixed(2)} ms`,
      cost.toFixed(2),
      isLinear ? 'linear' : 'not linear',
    ]);
  }
  console.log(`measured: ${perGateway} a second for each gateway`);
}
const full = await measureAll(withoutPause);

printTable(
  `Replicas of the gateway and content, 30 posts with files and total for a guest, at a rate for each gateway that does not wait ` +
    `for the answers (linear: the rate grows by as much as the replicas, and CPU for a request is at most ${GOAL} × that with ` +
    `one). ${conditions()}`,
  [
    'sent to each a second',
    'replicas',
    'served a second',
    'to one replica',
    'cores in use',
    'CPU for one',
    'to one replica',
    'result',
  ],
  steps,
);
printTable(
  `The same without pauses, ${CONNECTIONS} connections together: ${availableParallelism()} cores are shared with the load. ${conditions()}`,
  ['replicas', 'per second', 'cores in use', 'CPU for one'],
  full.map(({ perSecond, cpu, cores }, index) => [
    String(counts[index]),
    perSecond.toFixed(0),
    cores.toFixed(2),
    `${cpu.toFixed(2)} ms`,
  ]),
);
for (const { stop } of replicas) stop();
