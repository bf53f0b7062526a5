/** What a process does with a Redis that is demoted, is a replica, or is of a kind that is not supported. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pino from 'pino';
import { freePorts } from '../../../../scripts/lib/ports.mjs';
import { systemClock } from '../../src/kernel/clock.ts';
import { ConfigError } from '../../src/kernel/config.ts';
import { createCrossServiceCheck } from '../../src/runtime/cross-service-idempotency.ts';
import { createRateLimiter } from '../../src/runtime/rate-limiter.ts';
import { assertPrimary, connectRedis, type Redis } from '../../src/runtime/redis.ts';
import {
  type RedisServer,
  startRedisCluster,
  startRedisSentinel,
  startRedisServer,
} from '../../src/testing/redis-servers.ts';
import { startTcpProxy, type TcpProxy } from '../../src/testing/tcp-proxy.ts';
import { until } from '../messaging/support.ts';

const REPLICA = 'Redis is a replica; continuing without it until REDIS_URL leads to a primary';
const AGAIN = 'Redis is reachable again';
const GONE = 'Redis is not reachable; continuing without it';

let first: RedisServer;
let second: RedisServer;
let cluster: RedisServer[];
let sentinel: RedisServer;
/** The proxy at the address in REDIS_URL. */
let address: TcpProxy;
let redis: Redis | undefined;
let lines: string[] = [];

beforeAll(async () => {
  const [one = 0, other = 0, watching = 0, ...rest] = await freePorts(9);
  [first, second, cluster] = await Promise.all([
    startRedisServer(one),
    startRedisServer(other),
    startRedisCluster(rest.slice(0, 3), rest.slice(3)),
  ]);
  sentinel = await startRedisSentinel(watching, second);
});
afterAll(async () => {
  await Promise.all([first, second, sentinel, ...cluster].map((server) => server.close()));
});

beforeEach(async () => {
  lines = [];
  address = await startTcpProxy(first.url);
});
afterEach(async () => {
  redis?.disconnect();
  redis = undefined;
  await address.close();
  await first.operator.config('SET', 'replica-serve-stale-data', 'yes');
  await first.promote();
});

const logged = (): string[] => lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
const open = async (url = address.uri): Promise<Redis> => {
  redis = await connectRedis({
    url,
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
  });
  return redis;
};
const isUsed = (client: Redis) => () =>
  client.ping().then(
    () => true,
    () => false,
  );

describe('a client of a server that is demoted and keeps its connections', () => {
  test.each<[string, (client: Redis) => Promise<unknown>, RegExp]>([
    ['its first write', (client) => client.set('key', 'x'), /^READONLY/],
    [
      'its first script that may write',
      (client) => client.eval("#!lua\nreturn redis.call('get', KEYS[1])", 1, 'key'),
      /^READONLY/,
    ],
    ['a read that is refused', (client) => client.get('key'), /^MASTERDOWN/],
    ['a check of its health', assertPrimary, /is a replica/],
  ])(
    'a client leaves a demoted server after %s, finds the new primary, and logs each once',
    async (_what, use, refusal) => {
      const client = await open();
      await first.operator.config('SET', 'replica-serve-stale-data', 'no');
      await first.demote();
      await expect(use(client)).rejects.toThrow(refusal);
      address.switchTo(second.url);
      await until(isUsed(client));
      await client.set('of the new one', refusal.source);
      expect(await second.operator.get('of the new one')).toBe(refusal.source);
      await assertPrimary(client);
      expect(logged().slice(1)).toEqual([AGAIN]);
    },
  );

  test('a client is refused while its address leads to a replica, and uses the replica once promoted', async () => {
    const client = await open();
    await first.demote();
    await expect(client.set('key', 'x')).rejects.toThrow(/^READONLY/);
    for (let time = 0; time < 5; time += 1) {
      await until(() => client.status === 'reconnecting');
      await expect(client.get('key')).rejects.toThrow("Stream isn't writeable");
      await expect(assertPrimary(client)).rejects.toThrow();
      await until(() => client.status !== 'reconnecting');
    }
    expect(logged()).toEqual([REPLICA]);
    await first.promote();
    await until(isUsed(client));
    await client.set('key', 'x');
    expect(logged()).toEqual([REPLICA, AGAIN]);
  });

  test('limits and idempotency keys work without a demoted Redis', async () => {
    const client = await open();
    const limiter = createRateLimiter({ redis: client, keyPrefix: 'test' });
    const limit = { name: 'roles', points: 3, windowS: 60 };
    const check = createCrossServiceCheck(client, 'test', systemClock);
    await check.register('a key', 'aa', 60_000);
    expect(await check.register('a key', 'bb', 60_000)).toBe(false);
    await first.demote();
    // A replica may not know that the key was released.
    expect(await check.register('a key', 'bb', 60_000)).toBe(true);
    const states = [];
    for (let time = 0; time < 5; time += 1) states.push(await limiter.consume(limit, 'somebody'));
    expect(states.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false]);
    await until(() => logged().length > 0);
    expect(logged()).toEqual([REPLICA]);
  });
});

test('a replica at the start is not used, and does not prevent the start', async () => {
  await first.demote();
  const client = await open();
  await expect(client.get('key')).rejects.toThrow();
  await expect(assertPrimary(client)).rejects.toThrow();
  expect(logged()).toEqual([REPLICA]);
  address.switchTo(second.url);
  await until(isUsed(client));
  expect(logged()).toEqual([REPLICA, AGAIN]);
});

describe.each<[string, () => RedisServer, RegExp]>([
  ['a node of a cluster', () => cluster[1] as RedisServer, /^REDIS_URL leads to a node of a Redis Cluster/],
  ['a Sentinel', () => sentinel, /^REDIS_URL leads to a Redis Sentinel/],
])('%s', (_kind, server, sentence) => {
  test.each([
    ['', 'redis://'],
    [', even where the user is unknown', 'redis://gateway:password@'],
  ])('an unsupported server is refused at the start, in one sentence%s', async (_where, scheme) => {
    const refusal = await open(server().url.replace('redis://', scheme)).catch((error: Error) => error);
    expect(refusal).toBeInstanceOf(ConfigError);
    const { message } = refusal as Error;
    expect(message).toMatch(/^Wrong configuration: REDIS_URL leads to .+$/);
    expect(message.replace('Wrong configuration: ', '')).toMatch(sentence);
  });

  test('an unsupported server that is reached later is not used, which is logged once', async () => {
    const client = await open();
    address.cut();
    address.switchTo(server().url);
    address.restore();
    await until(() => logged().length > 1);
    for (let time = 0; time < 5; time += 1) {
      await until(() => client.status === 'reconnecting');
      await expect(client.get('key')).rejects.toThrow();
      await expect(assertPrimary(client)).rejects.toThrow();
      await until(() => client.status !== 'reconnecting');
    }
    expect(logged()).toEqual([GONE, expect.stringMatching(sentence)]);
    address.switchTo(first.url);
    await until(isUsed(client));
    await client.set('key', 'x');
    expect(logged().slice(2)).toEqual([AGAIN]);
  });
});
