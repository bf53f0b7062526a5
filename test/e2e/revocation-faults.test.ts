/**
 * Tests revocations with two gateways while Redis is killed, frozen, cut off from either side, or restored from
 * an old snapshot. No request that begins after the response to a revocation is admitted. REVOCATION_REQUESTS
 * sets the number of requests per fault (default 1,100).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RECORD_LIFETIME_MS } from '@fitness/contracts/credential-epochs.ts';
import { connectRedis, type Redis } from '@fitness/shared/runtime/redis.ts';
import { startTcpProxy, type TcpProxy } from '@fitness/shared/testing/tcp-proxy.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { nodeFlags } from '../../scripts/lib/node-flags.mjs';
import { freePorts } from '../../scripts/lib/ports.mjs';
import { cacheOutcomes, keepReading, REVOCATION_WAYS, readMany, readStatus } from './revocation-ways.ts';
import { api, baseUrl, eventually, expectStatus, register, stack } from './support.ts';

const REQUESTS = Number(process.env.REVOCATION_REQUESTS ?? 1_100);
const AT_ONCE = 4;
/** The regular limit, plus ten times what each request needs on an idle machine. */
const LIMIT_MS = 300_000 + 15 * REQUESTS;
/** Five seconds, plus time for password checks and limits without Redis. */
const LONGEST_ANSWER_MS = 20_000;
/** Maximum number of attempts until both gateways notice a restart of Redis within five seconds. */
const MOST_ATTEMPTS = 5;
const root = fileURLToPath(new URL('../..', import.meta.url));

const directory = mkdtempSync(join(tmpdir(), 'revocation-'));
const snapshot = join(directory, 'old.rdb');
let redisPort = 0;
let server: ChildProcess;
/** A connection to Redis that bypasses both proxies. */
let redis: Redis;
let fromGateways: TcpProxy;
let fromIdentity: TcpProxy;
let secondGateway: ChildProcess;
let origins: string[] = [];
let operations: string[] = [];

const startRedis = async (): Promise<void> => {
  const args = ['--port', String(redisPort), '--bind', '127.0.0.1', '--dir', directory];
  server = spawn('redis-server', [...args, '--save', '', '--appendonly', 'no'], { stdio: 'ignore' });
  // This rejects if redis-server is not on the PATH.
  await once(server, 'spawn');
  redis = await connectRedis({ url: `redis://127.0.0.1:${redisPort}` });
  await eventually(() => redis.ping().catch(() => false) as Promise<string | false>);
};

const killRedis = async (): Promise<void> => {
  redis.disconnect();
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
};

const startSecondGateway = async (): Promise<void> => {
  const [http = 0, grpc = 0, operationsPort = 0] = await freePorts(3);
  const first = stack().part('gateway');
  secondGateway = spawn(process.execPath, [...nodeFlags, 'gateway/src/main.ts'], {
    cwd: root,
    env: {
      ...first.environment,
      HTTP_PORT: String(http),
      GRPC_PORT: String(grpc),
      OPERATIONS_PORT: String(operationsPort),
      SEED_DEMO: 'false',
    },
    stdio: ['ignore', 'ignore', openSync(join(directory, 'gateway.log'), 'a')],
  });
  origins = [baseUrl(), `http://127.0.0.1:${http}`];
  operations = [first.operationsUrl ?? '', `http://127.0.0.1:${operationsPort}`];
  const isReady = async (): Promise<boolean> =>
    (await fetch(`${origins[1]}/health/ready`).catch(() => undefined))?.ok === true;
  await eventually(isReady);
};

beforeAll(async () => {
  [redisPort = 0] = await freePorts(1);
  await startRedis();
  const uri = `redis://127.0.0.1:${redisPort}`;
  [fromGateways, fromIdentity] = await Promise.all([startTcpProxy(uri), startTcpProxy(uri)]);
  await stack().restart('identity', { REDIS_URL: fromIdentity.uri });
  await stack().restart('gateway', { REDIS_URL: fromGateways.uri });
  await startSecondGateway();
});

afterAll(async () => {
  secondGateway.kill('SIGKILL');
  // A failed test may have left a fault in place.
  for (const proxy of [fromGateways, fromIdentity]) proxy.restore();
  await Promise.all([stack().restart('identity'), stack().restart('gateway')]);
  await Promise.all([fromGateways.close(), fromIdentity.close()]);
  await killRedis();
  rmSync(directory, { recursive: true, force: true });
});

const hits = async (): Promise<number[]> =>
  Promise.all(operations.map(async (url) => (await cacheOutcomes(url)).hit ?? 0));

/** Waits until both gateways serve this token without calling identity. */
const untilRemembered = async (token: string): Promise<void> => {
  const before = await hits();
  await eventually(async () => {
    for (const origin of origins) for (let time = 0; time < 4; time += 1) await readStatus(origin, token);
    return (await hits()).every((now, index) => now > (before[index] ?? 0));
  });
};

interface Fault {
  name: string;
  /** Runs before the revocations. */
  begin(): Promise<void>;
  /** Runs after the responses, before the requests. */
  follow?: () => Promise<void>;
  /** Runs after the requests. */
  end?: () => Promise<void>;
  /** Whether Redis can acknowledge a revocation. */
  isAcknowledged: boolean;
}

const keepSnapshot = async (): Promise<void> => {
  await redis.save();
  copyFileSync(join(directory, 'dump.rdb'), snapshot);
};
const restoreSnapshot = async (): Promise<void> => {
  await killRedis();
  copyFileSync(snapshot, join(directory, 'dump.rdb'));
  await startRedis();
};

const none = async (): Promise<void> => undefined;

const FAULTS: readonly Fault[] = [
  { name: 'reachable', begin: none, isAcknowledged: true },
  { name: 'killed', begin: killRedis, end: startRedis, isAcknowledged: false },
  {
    name: 'frozen',
    begin: async () => void server.kill('SIGSTOP'),
    end: async () => void server.kill('SIGCONT'),
    isAcknowledged: false,
  },
  {
    name: 'cut off from the gateways',
    begin: async () => fromGateways.hold(),
    end: async () => fromGateways.restore(),
    isAcknowledged: true,
  },
  {
    name: 'cut off from identity',
    begin: async () => fromIdentity.hold(),
    end: async () => fromIdentity.restore(),
    isAcknowledged: false,
  },
  {
    name: 'restored from an older snapshot',
    begin: keepSnapshot,
    follow: restoreSnapshot,
    isAcknowledged: true,
  },
];

const total = (statuses: readonly Map<number, number>[]): Record<string, number> => {
  const sums: Record<string, number> = {};
  for (const [status, count] of statuses.flatMap((each) => [...each])) {
    sums[status] = (sums[status] ?? 0) + count;
  }
  return sums;
};

describe('requests during a Redis fault', () => {
  const title = 'no request is admitted after a revocation while Redis is $name';
  const nobodyIsLetIn = async (fault: Fault): Promise<void> => {
    const control = await register();
    const revocations = await Promise.all(
      REVOCATION_WAYS.map(async (way) => ({ way, ...(await way.prepare()) })),
    );
    await untilRemembered(control.token);
    const readers = revocations.map(({ tokens }) => keepReading(origins, tokens));
    try {
      await eventually(() => readers.every(({ seen }) => seen.admitted > 10));
      await fault.begin();
      const answers = await Promise.all(
        revocations.map(async ({ way, revoke }, index) => {
          const startedAt = performance.now();
          const status = await revoke();
          readers[index]?.revoked();
          return { name: way.name, status, tookMs: performance.now() - startedAt };
        }),
      );
      expect(answers.map(({ name, status }) => [name, status])).toEqual(
        REVOCATION_WAYS.map(({ name, status }) => [name, status]),
      );
      for (const { name, tookMs } of answers) {
        if (!fault.isAcknowledged) expect([name, tookMs > 5_000]).toEqual([name, true]);
        expect([name, tookMs < LONGEST_ANSWER_MS]).toEqual([name, true]);
      }
      await fault.follow?.();
      const share = Math.ceil(REQUESTS / revocations.length);
      const startedAt = performance.now();
      const statuses = await Promise.all(
        revocations.map(({ tokens }) => readMany(origins, tokens, share, AT_ONCE)),
      );
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
      process.stdout.write(`${fault.name}: ${JSON.stringify(total(statuses))} in ${seconds} s\n`);
      expect(total(statuses)).toEqual({ 401: share * revocations.length });
      // The product must work during the fault.
      expect(await readStatus(origins[1] ?? '', control.token)).toBe(200);
      await fault.end?.();
      await untilRemembered(control.token);
    } finally {
      await Promise.all(readers.map(({ stop }) => stop()));
    }
    expect(readers.flatMap(({ seen }) => seen.late)).toEqual([]);
  };
  test.each(FAULTS)(title, nobodyIsLetIn, LIMIT_MS);
});

/**
 * In the test above, the gateways ask identity about each token before Redis is back, and drop their records. Here nobody
 * reads in the meantime, so both still have the record whose epoch the snapshot restores.
 */
test(
  "no revoked token is admitted if Redis is restored with an old epoch during a record's lifetime",
  async () => {
    const control = await register();
    const isWithinLife = async (): Promise<boolean> => {
      const { token } = await register();
      const knownSince = performance.now();
      await untilRemembered(token);
      await keepSnapshot();
      expectStatus(await api('POST', '/auth/logout', { token }), 204);
      await restoreSnapshot();
      // Both gateways are connected again and cache on the new connection.
      await untilRemembered(control.token);
      const life = performance.now() - knownSince;
      const statuses = await Promise.all(origins.map((origin) => readStatus(origin, token)));
      expect(statuses).toEqual([401, 401]);
      return life < RECORD_LIFETIME_MS;
    };
    let attempts = 0;
    while (!(await isWithinLife())) {
      attempts += 1;
      expect(attempts).toBeLessThan(MOST_ATTEMPTS);
    }
  },
  LIMIT_MS,
);
