import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import pino from 'pino';
import { assertPrimary, connectRedis, type Redis } from '../../src/runtime/redis.ts';
import { log, redisUrl, until } from '../messaging/support.ts';

let redis: Redis | undefined;
let server: Server | undefined;

afterEach(() => {
  redis?.disconnect();
  server?.close();
  redis = undefined;
  server = undefined;
});

test('a reachable Redis is connected when connectRedis resolves', async () => {
  redis = await connectRedis({ url: redisUrl(), log });
  await assertPrimary(redis);
});

test('an unreachable Redis does not prevent the start, rejects at once, and is logged once', async () => {
  const lines: string[] = [];
  const recording = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  redis = await connectRedis({ url: 'redis://127.0.0.1:1', log: recording });
  const startedAt = performance.now();
  await expect(assertPrimary(redis)).rejects.toThrow();
  // Sooner than the timeout of a command.
  expect(performance.now() - startedAt).toBeLessThan(1_000);
  expect(lines).toHaveLength(1);
});

test('disconnection and reconnection are logged once each; our own disconnect is not', async () => {
  const lines: string[] = [];
  const recording = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const { hostname, port } = new URL(redisUrl());
  const sockets = new Set<Socket>();
  const { connect } = await import('node:net');
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.pipe(upstream).pipe(client);
  });
  server = proxy;
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  redis = await connectRedis({ url: `redis://127.0.0.1:${address.port}`, log: recording });
  for (const socket of sockets) socket.destroy();
  await until(() => redis?.status === 'ready' && lines.length === 2);
  redis.disconnect();
  await until(() => redis?.status === 'end');
  for (const socket of sockets) socket.destroy();
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'Redis is not reachable; continuing without it',
    'Redis is reachable again',
  ]);
});
