/** Servers of Redis for tests that demote, cluster or kill one. They need `redis-server` on the PATH. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from './harness.ts';

export interface RedisServer {
  /** `redis://127.0.0.1:port` */
  url: string;
  port: number;
  /** A client with every permission. */
  operator: Redis;
  /** Makes it a replica of an address where nothing listens. Its connections stay open, and it keeps its data. */
  demote(): Promise<void>;
  promote(): Promise<void>;
  close(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
/** Nothing listens there. */
const NOBODY = ['127.0.0.1', '1'] as const;

const start = async (port: number, args: (directory: string) => string[]): Promise<RedisServer> => {
  const directory = mkdtempSync(join(tmpdir(), 'redis-'));
  const server = spawn('redis-server', args(directory), { stdio: 'ignore' });
  // Rejects where it is not on the PATH.
  await once(server, 'spawn');
  const url = `redis://${LOOPBACK}:${port}`;
  const operator = new Redis(url, { disableClientInfo: true, retryStrategy: () => 50 });
  operator.on('error', () => undefined);
  await eventually(() => operator.ping().catch(() => false) as Promise<string | false>);
  return {
    url,
    port,
    operator,
    demote: async () => void (await operator.replicaof(...NOBODY)),
    promote: async () => void (await operator.replicaof('NO', 'ONE')),
    close: async () => {
      operator.disconnect();
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

export const startRedisServer = (port: number, ...args: string[]): Promise<RedisServer> =>
  start(port, (directory) => [
    ...['--port', String(port), '--bind', LOOPBACK, '--dir', directory, '--save', '', '--appendonly', 'no'],
    ...args,
  ]);

const SLOTS = 16_384;

/** A cluster with a node at each port. `busPorts`: one for each node. */
export const startRedisCluster = async (
  ports: readonly number[],
  busPorts: readonly number[],
): Promise<RedisServer[]> => {
  const nodes = await Promise.all(
    ports.map((port, index) =>
      startRedisServer(port, '--cluster-enabled', 'yes', '--cluster-port', String(busPorts[index])),
    ),
  );
  const slotsFrom = (index: number): number => Math.floor((SLOTS * index) / nodes.length);
  for (const [index, { operator, port }] of nodes.entries()) {
    await operator.call('CLUSTER', 'ADDSLOTSRANGE', slotsFrom(index), slotsFrom(index + 1) - 1);
    await nodes[0]?.operator.call('CLUSTER', 'MEET', LOOPBACK, port, busPorts[index] ?? 0);
  }
  await eventually(async () => {
    const states = await Promise.all(nodes.map(({ operator }) => operator.call('CLUSTER', 'INFO')));
    return states.every((state) => /^cluster_state:ok/m.test(String(state)));
  });
  return nodes;
};

/** A Sentinel that watches `primary` under the name `fitness`. */
export const startRedisSentinel = (port: number, primary: RedisServer): Promise<RedisServer> =>
  start(port, (directory) => {
    const file = join(directory, 'sentinel.conf');
    writeFileSync(
      file,
      `port ${port}\nbind ${LOOPBACK}\nsentinel monitor fitness ${LOOPBACK} ${primary.port} 1\n`,
    );
    return [file, '--sentinel'];
  });
