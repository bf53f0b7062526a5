/** No process starts with a Redis Cluster or a Sentinel, where it would only half work. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import {
  type RedisServer,
  startRedisCluster,
  startRedisSentinel,
  startRedisServer,
} from '@fitness/shared/testing/redis-servers.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { nodeFlags } from '../../scripts/lib/node-flags.mjs';
import { freePorts } from '../../scripts/lib/ports.mjs';
import { stack } from './support.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The exit code EX_CONFIG. */
const WRONG_CONFIGURATION = 78;

let cluster: RedisServer[];
let watched: RedisServer;
let sentinel: RedisServer;
beforeAll(async () => {
  const [one = 0, watching = 0, ...rest] = await freePorts(8);
  cluster = await startRedisCluster(rest.slice(0, 3), rest.slice(3));
  watched = await startRedisServer(one);
  sentinel = await startRedisSentinel(watching, watched);
});
afterAll(async () => {
  await Promise.all([...cluster, watched, sentinel].map((server) => server.close()));
});

const start = async (name: string, redisUrl: string): Promise<{ code: number; output: string[] }> => {
  const entry = name === 'gateway' ? 'gateway/src/main.ts' : `services/${name}/src/main.ts`;
  const child = spawn(process.execPath, [...nodeFlags, entry], {
    cwd: root,
    env: {
      ...stack().part(name).environment,
      HTTP_PORT: '0',
      GRPC_PORT: '0',
      OPERATIONS_PORT: '0',
      REDIS_URL: redisUrl,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  return { code, output: output.trim().split('\n') };
};

describe.each(['gateway', 'identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'])(
  '%s',
  (name) => {
    test.each<[string, () => RedisServer, string]>([
      ['a node of a cluster', () => cluster[0] as RedisServer, 'a node of a Redis Cluster'],
      ['another node of the cluster', () => cluster[2] as RedisServer, 'a node of a Redis Cluster'],
      ['a Sentinel', () => sentinel, 'a Redis Sentinel'],
    ])('a process rejects %s at the start, with an explanation', async (_kind, server, kind) => {
      const { code, output } = await start(name, server().url);
      expect(code).toBe(WRONG_CONFIGURATION);
      const sentence = `REDIS_URL leads to ${kind}, which is not supported: give`;
      expect(output).toEqual([expect.stringContaining(`Wrong configuration: ${sentence}`)]);
    });
  },
);
