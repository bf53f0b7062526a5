/** Two replicas of each process under a steady load of reads, while one of them is frozen: it accepts connections and does not respond. */
import { sleep } from '@fitness/shared/kernel/timing.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type OwnProduct, startOwnProduct } from './own-product.ts';

const EVERY_MS = 20;
/** A patient client. A request at a frozen replica would take longer. */
const CLIENT_TIMEOUT_MS = 15_000;
const FOUND_MS = 5_000;
const FAILED_PART_MAX = 0.02;
const FROZEN_MS = 15_000;

let product: OwnProduct;
const frozen = new Set<number>();
beforeAll(async () => {
  product = await startOwnProduct(2);
}, 15 * 60_000);
afterAll(async () => {
  for (const pid of frozen) process.kill(pid, 'SIGCONT');
  await product.close();
}, 60_000);

interface Read {
  sentAt: number;
  tookMs: number;
  status: number;
}

/** Sends a read at each interval, whether or not the earlier ones have been answered. */
const startReads = (path: string) => {
  const reads: Promise<Read>[] = [];
  let isOver = false;
  const read = async (): Promise<Read> => {
    const sentAt = performance.now();
    const headers = { authorization: `Bearer ${product.administrator}` };
    const signal = AbortSignal.timeout(CLIENT_TIMEOUT_MS);
    const status = await fetch(`${product.stack.url}/api/v1${path}`, { headers, signal }).then(
      async (answer) => (await answer.text()) && answer.status,
      () => 0,
    );
    return { sentAt, tookMs: performance.now() - sentAt, status: Number(status) };
  };
  const sending = (async () => {
    while (!isOver) {
      reads.push(read());
      await sleep(EVERY_MS);
    }
  })();
  return async (): Promise<Read[]> => {
    isOver = true;
    await sending;
    return Promise.all(reads);
  };
};

/** The number of requests for the path that this replica has served. */
const servedBy = async (name: string, path: string): Promise<number> => {
  const { url, operationsUrl } = product.client.part(name);
  const text = await (await fetch(`${operationsUrl ?? url}/metrics`)).text();
  const counts = text
    .split('\n')
    .filter(
      (line) => line.startsWith('http_request_duration_seconds_count') && line.includes(`"/api/v1${path}"`),
    );
  return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

test.each([
  ['wallet-2', '/payments/balance'],
  ['identity-2', '/auth/me'],
  ['gateway-2', '/payments/balance'],
])(
  'while %s is frozen, at most 2 % of the reads fail in the first 5 s and none later, and then it is used again',
  async (name, path) => {
    const finish = startReads(path);
    await eventually(async () => (await servedBy(name, path)) > 10);
    const { pid } = product.client.part(name);
    process.kill(pid, 'SIGSTOP');
    frozen.add(pid);
    const frozenAt = performance.now();
    await sleep(FROZEN_MS);
    const reads = (await finish()).filter(({ sentAt }) => sentAt >= frozenAt);
    const isEarly = ({ sentAt }: Read) => sentAt < frozenAt + FOUND_MS;
    const failed = reads.filter(({ status }) => status !== 200);
    const slow = (all: Read[]) => Math.round(Math.max(...all.map(({ tookMs }) => tookMs)));
    const early = reads.filter(isEarly);
    const late = reads.filter((read) => !isEarly(read));
    console.log(
      JSON.stringify({
        name,
        early: early.length,
        late: late.length,
        failed,
        slow: [slow(early), slow(late)],
      }),
    );
    expect(failed.filter((read) => !isEarly(read))).toEqual([]);
    expect(failed.length).toBeLessThanOrEqual(early.length * FAILED_PART_MAX);

    const served = startReads(path);
    process.kill(pid, 'SIGCONT');
    frozen.delete(pid);
    const before = await servedBy(name, path);
    await eventually(async () => (await servedBy(name, path)) > before + 10);
    expect((await served()).filter(({ status }) => status !== 200)).toEqual([]);
  },
  15 * 60_000,
);
