/** Runs `npm start` as a child process on free ports, with the tests' database and broker. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, testServers } from '@fitness/shared/testing/harness.ts';
import { afterEach, expect, test } from '@jest/globals';
import { freePorts } from '../../scripts/lib/ports.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'];
const PROCESSES = ['sandbox', ...SERVICES, 'gateway'];
/** Eight processes start on a machine that may be busy. */
const START = { timeoutMs: 180_000, intervalMs: 100 };
/** The grace periods of all tiers add up to 16 s. */
const STOP_MAX_MS = 30_000;

interface RunningProduct {
  child: ChildProcess;
  output(): string;
  /** The running children by name, from the record of `npm start`. */
  pids(): Map<string, number>;
  ended: Promise<number | null>;
  port(name: string): number;
  inspectorPort: number;
}

const directories: string[] = [];
const started: RunningProduct[] = [];
afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGTERM');
    await ended;
  }
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

const prefixOf = (name: string): string => name.toUpperCase().replaceAll('-', '_');

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Starts the product with a separate Redis, and with the MongoDB and RabbitMQ of the tests. */
const startProduct = async (...args: string[]): Promise<RunningProduct> => {
  const directory = mkdtempSync(join(tmpdir(), 'npm-start-'));
  directories.push(directory);
  const run = randomBytes(4).toString('hex');
  const [redis = 0, operations = 0, smtp = 0, inspectorPort = 0, ...ports] = await freePorts(
    PROCESSES.length * 2 + 4,
  );
  const http = new Map(PROCESSES.map((name, index) => [name, ports[index * 2] ?? 0]));
  const { MONGODB_URI, AMQP_URL } = testServers();
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, ['scripts/start.mjs', ...args], {
    cwd: root,
    env: {
      PATH,
      HOME,
      NODE_COMPILE_CACHE,
      MONGODB_URI,
      AMQP_URL,
      DATA_DIRECTORY: directory,
      REDIS_PORT: String(redis),
      GATEWAY_OPERATIONS_PORT: String(operations),
      SANDBOX_PROVIDER_PORT: '0',
      SANDBOX_SMTP_PORT: String(smtp),
      INSPECTOR_PORT: String(inspectorPort),
      EVENTS_NAMESPACE: `start-${run}`,
      SEED_DEMO: '0',
      ...Object.fromEntries([...http].map(([name, port]) => [`${prefixOf(name)}_HTTP_PORT`, String(port)])),
      ...Object.fromEntries(
        PROCESSES.map((name, index) => [`${prefixOf(name)}_GRPC_PORT`, String(ports[index * 2 + 1])]),
      ),
      ...Object.fromEntries(
        SERVICES.map((name) => [`${prefixOf(name)}_MONGODB_DATABASE`, `start_${run}_${prefixOf(name)}`]),
      ),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  }
  const product: RunningProduct = {
    child,
    output: () => output,
    pids: () => {
      const record = JSON.parse(readFileSync(join(directory, 'processes.json'), 'utf8')) as {
        children: { name: string; pid: number }[];
      };
      return new Map(record.children.map(({ name, pid }) => [name, pid]));
    },
    ended: new Promise((resolve) => child.once('close', resolve)),
    port: (name) => http.get(name) ?? 0,
    inspectorPort,
  };
  started.push(product);
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(output);
    return output.includes('Ready after');
  }, START);
  return product;
};

/** A part's process id; undefined while the record is being written or lacks the part. */
const pidOf = (product: RunningProduct, name: string): number | undefined => {
  try {
    return product.pids().get(name);
  } catch {
    return undefined;
  }
};

/** Kills a part and returns the id of its new process. */
const kill = async (product: RunningProduct, name: string): Promise<number> => {
  const pid = await eventually(() => pidOf(product, name));
  process.kill(pid, 'SIGKILL');
  return eventually(() => {
    if (product.child.exitCode !== null) throw new Error(product.output());
    const other = pidOf(product, name);
    return other !== pid && other;
  }, START);
};

const isReady = async (product: RunningProduct, name: string): Promise<boolean> => {
  try {
    return (await fetch(`http://127.0.0.1:${product.port(name)}/health/ready`)).ok;
  } catch {
    return false;
  }
};

test('npm start names and restarts a killed part, and Ctrl-C still ends everything', async () => {
  const product = await startProduct();
  const pids = new Set(product.pids().values());
  for (const name of ['wallet', 'redis', 'gateway']) {
    pids.add(await kill(product, name));
    await eventually(() => product.output().includes(`${name} is up again`), START);
    expect(product.output()).toContain(
      `${name} has ended by itself (signal SIGKILL): starting it again, 1 of 5`,
    );
  }
  await eventually(() => isReady(product, 'wallet'), START);
  await eventually(() => isReady(product, 'gateway'), START);
  expect([...product.pids().keys()].sort()).toEqual([...PROCESSES, 'redis'].sort());
  expect(product.child.exitCode).toBeNull();

  const signalledAt = performance.now();
  product.child.kill('SIGINT');
  expect(await product.ended).toBe(0);
  expect(performance.now() - signalledAt).toBeLessThan(STOP_MAX_MS);
  expect([...pids].filter(isAlive)).toEqual([]);
});

test('a part that dies six times within a minute ends the product with an explanation', async () => {
  const product = await startProduct();
  const pids = new Set(product.pids().values());
  for (let restart = 1; restart <= 5; restart += 1) pids.add(await kill(product, 'sandbox'));
  process.kill(await eventually(() => pidOf(product, 'sandbox')), 'SIGKILL');
  expect(await product.ended).toBe(1);
  expect(product.output()).toContain('starting it again, 5 of 5 times in a minute');
  expect(product.output()).toContain(
    'sandbox has ended by itself (signal SIGKILL), although it was started again 5 times within a minute',
  );
  expect([...pids].filter(isAlive)).toEqual([]);
});

test('two replicas of each part serve one address even if one is killed, and all of them end', async () => {
  const product = await startProduct('--replicas', '2');
  const further = [...SERVICES, 'gateway'].map((name) => `${name}-2`);
  const pids = product.pids();
  expect([...pids.keys()].sort()).toEqual([...PROCESSES, ...further, 'balancer', 'redis'].sort());
  const statuses = new Map<number, number>();
  for (const name of ['gateway', 'content-2']) {
    process.kill(pids.get(name) ?? 0, 'SIGKILL');
    for (let time = 0; time < 50; time += 1) {
      const { status } = await fetch(`http://127.0.0.1:${product.port('gateway')}/api/v1/posts`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    await eventually(() => product.output().includes(`${name} is up again`), START);
  }
  expect([...statuses]).toEqual([[200, 100]]);
  const running = [...product.pids().values()];
  product.child.kill('SIGINT');
  expect(await product.ended).toBe(0);
  expect(running.filter(isAlive)).toEqual([]);
});

test('npm run dev restarts only its process on a change, with an inspector and its log', async () => {
  const product = await startProduct('--dev', 'wallet');
  expect(product.output()).toContain(`each with an inspector: wallet 127.0.0.1:${product.inspectorPort}`);
  expect(product.output()).toMatch(/^\[[\d:.]+\] INFO: /m);
  /** The inspector's target; undefined while the process restarts. */
  const inspector = async (): Promise<string | undefined> => {
    try {
      const answer = await fetch(`http://127.0.0.1:${product.inspectorPort}/json/list`);
      const [target] = (await answer.json()) as { id: string }[];
      return target?.id;
    } catch {
      return undefined;
    }
  };
  const [first, before] = [await eventually(inspector), product.pids()];
  const now = new Date();
  utimesSync(join(root, 'services/wallet/src/main.ts'), now, now);
  await eventually(async () => {
    const id = await inspector();
    return id !== undefined && id !== first;
  }, START);
  await eventually(() => isReady(product, 'wallet'), START);
  await eventually(() => product.output().includes('wallet is up again after'), START);
  expect(product.output()).toContain('wallet restarts: services/wallet/src/main.ts has changed');
  const restarted = [...product.pids()].filter(([name, pid]) => before.get(name) !== pid);
  expect(restarted.map(([name]) => name)).toEqual(['wallet']);
  expect(product.child.exitCode).toBeNull();
});
