import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { ConnectionLimits } from '../../src/http/connections.ts';
import { defineRoute, ok } from '../../src/http/define-route.ts';
import { createServer } from '../../src/http/server.ts';
import { createHealth } from '../../src/kernel/health.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createMetrics, type Metrics } from '../../src/kernel/metrics.ts';
import { finishesWithin } from '../../src/kernel/timing.ts';
import { CALLER_HEADER } from '../../src/process-identity/caller-context.ts';
import { gatewayContext, testSigner } from '../../src/testing/harness.ts';
import { until } from '../messaging/support.ts';

const servers: FastifyInstance[] = [];
/** The server sides of the connections. */
const accepted: Socket[] = [];
const sockets: Socket[] = [];
let logged: string[] = [];
let metrics: Metrics;
let started = 0;
let streams: Readable[] = [];
let release = (): void => undefined;
let gateOpened: Promise<void>;

beforeEach(() => {
  logged = [];
  started = 0;
  streams = [];
  const gate = Promise.withResolvers<void>();
  gateOpened = gate.promise;
  release = gate.resolve;
});

afterEach(async () => {
  release();
  for (const socket of sockets.splice(0)) socket.destroy();
  accepted.length = 0;
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const anything = { 200: z.object({}) };
const route = { summary: 'A route', tag: 'routes', access: 'guest', responses: anything } as const;

/** Ten bytes at intervals, as long as the client reads. */
const drip = (): Readable => {
  const stream = new Readable({
    read() {
      setTimeout(() => this.push('0123456789'), 5);
    },
  });
  streams.push(stream);
  return stream;
};

const routes = [
  defineRoute({ ...route, method: 'GET', path: '/quick', handle: async () => ok({}) }),
  defineRoute({
    ...route,
    method: 'GET',
    path: '/held',
    handle: async () => {
      started += 1;
      await gateOpened;
      return ok({});
    },
  }),
  defineRoute({
    ...route,
    method: 'POST',
    path: '/things',
    body: z.object({ name: z.string() }),
    handle: async () => ok({}),
  }),
  defineRoute({
    ...route,
    method: 'GET',
    path: '/drip',
    handle: async ({ reply }) => {
      await reply.type('text/plain').send(drip());
      return undefined;
    },
  }),
  defineRoute({
    ...route,
    method: 'GET',
    path: '/flood',
    handle: async ({ reply }) => {
      const flood = new Readable({
        read() {
          this.push(Buffer.alloc(65_536));
        },
      });
      streams.push(flood);
      await reply.type('text/plain').send(flood);
      return undefined;
    },
  }),
];

const listen = async (connections: Partial<ConnectionLimits> = {}): Promise<FastifyInstance> => {
  metrics = createMetrics('test', { defaults: false });
  const server = await createServer({
    service: 'test',
    routes,
    signer: testSigner('wallet'),
    limiter: { consume: async () => ({ allowed: true, limit: 1, remaining: 0, resetS: 1 }) },
    health: createHealth(),
    metrics,
    log: createLog({
      service: 'test',
      level: 'warn',
      destination: { write: (line: string) => void logged.push(line) },
    }),
    uuid: () => 'generated-id',
    connections,
  });
  servers.push(server);
  server.server.on('connection', (socket) => accepted.push(socket));
  await server.listen({ host: '127.0.0.1', port: 0 });
  return server;
};

const signed = async (line: string, headers: readonly string[] = []): Promise<string> =>
  [`${line} HTTP/1.1`, 'host: a', `${CALLER_HEADER}: ${gatewayContext('wallet')}`, ...headers, '', ''].join(
    '\r\n',
  );

const JSON_OF_100 = ['content-type: application/json', 'content-length: 100'];

/** A client that never closes its connection. */
const talk = async (server: FastifyInstance, input?: string) => {
  const { port } = server.server.address() as AddressInfo;
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  sockets.push(socket);
  const heard = { text: '', ended: false };
  socket.on('data', (chunk) => {
    heard.text += chunk.toString('latin1');
  });
  socket.on('end', () => {
    heard.ended = true;
  });
  socket.on('error', () => {
    heard.ended = true;
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  if (input !== undefined) socket.write(input);
  return { socket, heard };
};

const connectionsOf = (server: FastifyInstance): Promise<number> =>
  new Promise((resolve, reject) => {
    server.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });

const isServing = async (server: FastifyInstance): Promise<void> => {
  const { heard } = await talk(server, await signed('GET /api/v1/quick'));
  await until(() => heard.text.startsWith('HTTP/1.1 200'));
};

/** Milliseconds until the server was closed, or until the test gives up. */
const closing = async (server: FastifyInstance): Promise<number> => {
  const askedAt = performance.now();
  await finishesWithin(server.close(), 8_000);
  return performance.now() - askedAt;
};

describe('a server closes', () => {
  test('a server closes at once with a connection without a request', async () => {
    const server = await listen();
    await talk(server);
    await until(async () => (await connectionsOf(server)) === 1);
    expect(await closing(server)).toBeLessThan(2_000);
  });

  test.each([
    ['half a request line', async () => 'GET /api'],
    ['headers without an end', async () => 'GET /api/v1/quick HTTP/1.1\r\nhost: a\r\n'],
    ['a body that stopped half way', async () => `${await signed('POST /api/v1/things', JSON_OF_100)}{"na`],
    [
      'a refused body that stopped half way',
      async () => `POST /api/v1/things HTTP/1.1\r\nhost: a\r\n${JSON_OF_100.join('\r\n')}\r\n\r\n{"na`,
    ],
    ['something that is not HTTP', async () => 'garbage\r\n\r\n'],
    ['a response that nobody reads', async () => signed('GET /api/v1/flood')],
  ])('a server closes after its grace period with a client that sent %s and waits', async (_what, input) => {
    const server = await listen({ closeGraceMs: 300 });
    const { socket } = await talk(server, await input());
    socket.pause();
    await until(() => accepted.some(({ bytesRead }) => bytesRead > 0));
    expect(await closing(server)).toBeLessThan(3_000);
  });

  test('a server closes as soon as current requests have their response', async () => {
    const server = await listen({ closeGraceMs: 6_000 });
    const { heard } = await talk(server, await signed('GET /api/v1/held'));
    await until(() => started === 1);
    const closed = closing(server);
    await until(() => !server.server.listening);
    release();
    expect(await closed).toBeLessThan(3_000);
    await until(() => heard.ended);
    expect(heard.text).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe('a connection is closed', () => {
  test.each([
    ['headers', async () => 'GET /api/v1/quick HTTP/1.1\r\nhost: a\r\nx: ', '1'],
    ['a body', async () => signed('POST /api/v1/things', JSON_OF_100), ' '],
  ])(
    'a connection is closed with 408 if %s do not end in time, however steadily they arrive',
    async (_what, input, drop) => {
      const server = await listen({ headersMs: 300, requestMs: 400, checkMs: 50 });
      const { socket, heard } = await talk(server, await input());
      const dripping = setInterval(() => socket.write(drop), 20);
      await until(() => heard.ended).finally(() => clearInterval(dripping));
      expect(heard.text).toMatch(
        /^HTTP\/1.1 408 .*x-content-type-options: nosniff.*\{"message":"The request took too long/s,
      );
      await until(async () => (await connectionsOf(server)) === 0);
    },
  );

  test.each([
    ['a body', async () => `${await signed('POST /api/v1/things', JSON_OF_100)}{"na`],
    ['a reader of its response', async () => signed('GET /api/v1/flood')],
  ])('a connection is closed if nothing arrives while it waits for %s', async (_what, input) => {
    const server = await listen({ stalledMs: 400 });
    const { socket } = await talk(server, await input());
    socket.pause();
    await until(async () => (await connectionsOf(server)) === 1);
    await until(async () => (await connectionsOf(server)) === 0);
    await until(() => streams.every((stream) => stream.destroyed));
  });

  test('a connection is closed after the error for invalid HTTP, although its client keeps it open', async () => {
    const server = await listen();
    const { heard } = await talk(server, 'garbage\r\n\r\n');
    await until(() => heard.ended);
    expect(heard.text).toMatch(/^HTTP\/1.1 400 .*\{"message":"/s);
    await until(async () => (await connectionsOf(server)) === 0);
  });

  test('a connection is closed during a streamed response without an error', async () => {
    const server = await listen();
    const { socket, heard } = await talk(server, await signed('GET /api/v1/drip'));
    await until(() => heard.text.includes('0123456789'));
    socket.write('garbage\r\n\r\n');
    await until(() => heard.ended);
    expect(heard.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(heard.text).not.toContain('message');
    await until(() => streams[0]?.destroyed === true);
  });
});

describe('a client that disconnects', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['by a reset', (socket) => socket.resetAndDestroy()],
    ['by an end', (socket) => socket.end()],
  ])(
    'a disconnect with %s during the body, the handler or the response is not an error',
    async (_how, hangUp) => {
      const server = await listen();
      const body = await talk(server, `${await signed('POST /api/v1/things', JSON_OF_100)}{"na`);
      const handler = await talk(server, await signed('GET /api/v1/held'));
      const answer = await talk(server, await signed('GET /api/v1/drip'));
      await until(() => started === 1 && answer.heard.text.includes('0123456789'));
      for (const { socket } of [body, handler, answer]) hangUp(socket);
      await until(() => accepted.every(({ readableEnded, destroyed }) => readableEnded || destroyed));
      release();
      await until(async () => (await connectionsOf(server)) === 0);
      await until(() => streams[0]?.destroyed === true);
      expect(logged).toEqual([]);
      await isServing(server);
    },
  );
});

describe('an invalid request gets the usual error body', () => {
  test.each([
    ['without a host', 'GET /api/v1/quick HTTP/1.1\r\n\r\n', 400],
    [
      'with two lengths',
      'POST /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na',
      400,
    ],
    [
      'with a length and chunks',
      'POST /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'with a header that holds a control character',
      'GET /api/v1/quick HTTP/1.1\r\nhost: a\r\nx: \u0001\r\n\r\n',
      400,
    ],
    ...[
      'host: a\r\nhost: a',
      'host: a\r\nHOST: b',
      'host:',
      'host: a b',
      'host: a/b',
      'host: a?b',
      'host: a#b',
      'host: a\\b',
      'host: user@a',
      'host: a:b',
      'host: a:1:2',
      'host: a:65536',
      'host: :80',
      'host: http://a',
      'host: é',
      'host: %',
      'host: %g0',
      'host: [::1',
      'host: ::1',
      'host: []',
      'host: [a]',
      'host: [127.0.0.1]',
      'host: [1:2:3:4:5:6:7:8:9]',
      'host: [::1]a',
      'host: [fe80::1%25eth0]',
    ].map((hosts): [string, string, number] => [
      `with ${JSON.stringify(hosts)}`,
      `GET /api/v1/quick HTTP/1.1\r\n${hosts}\r\n\r\n`,
      400,
    ]),
    ['of HTTP/1.0 with two hosts', 'GET /api/v1/quick HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n', 400],
    [
      'with an origin in its target and an invalid host',
      'GET http://a/api/v1/quick HTTP/1.1\r\nhost: [::1\r\n\r\n',
      400,
    ],
    ['for its health with an invalid host', 'GET /health/live HTTP/1.1\r\nhost: [::1\r\n\r\n', 400],
    ...(
      [
        ['gzip', 501],
        ['identity', 501],
        ['a-miracle', 501],
        ['xchunked', 501],
        ['gzip, chunked', 501],
        ['gzip\r\ntransfer-encoding: chunked', 501],
        ['chunked;q=1', 501],
        ['chunked, gzip', 400],
        ['chunked, chunked', 400],
        ['', 400],
      ] as const
    ).map(([coding, status]): [string, string, number] => [
      `with the transfer coding ${JSON.stringify(coding)}`,
      `POST /api/v1/things HTTP/1.1\r\nhost: a\r\ntransfer-encoding: ${coding}\r\n\r\n0\r\n\r\n`,
      status,
    ]),
    [
      'with a length and a coding that nobody knows',
      'POST /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: gzip\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'with more headers than fit',
      `GET /api/v1/quick HTTP/1.1\r\nhost: a\r\n${'a: b\r\n'.repeat(5_000)}\r\n`,
      431,
    ],
  ])('an invalid request gets the usual error body: %s', async (_what, input, status) => {
    const server = await listen();
    const { heard } = await talk(server, input);
    await until(() => heard.text.includes('{"message":"'));
    expect(heard.text).toMatch(new RegExp(`^HTTP/1.1 ${status} .*x-content-type-options: nosniff`, 's'));
    expect(heard.text).toMatch(/referrer-policy: no-referrer/);
  });

  test.each([
    'a',
    'a:80',
    'a:',
    'a:00080',
    'api.example.com:8080',
    'xn--mgbaam7a8h',
    'a_b-c~d.e',
    "!$&'()*+,;=",
    '%41',
    '127.0.0.1:8080',
    '999.1.1.1',
    '[::1]',
    '[::1]:8080',
    '[2001:DB8::1]',
    '[::ffff:127.0.0.1]:1',
  ])('a request is served with the host %s', async (host) => {
    const server = await listen();
    const { heard } = await talk(
      server,
      (await signed('GET /api/v1/quick')).replace('host: a', () => `host: ${host}`),
    );
    await until(() => heard.text.includes('\r\n\r\n'));
    expect(heard.text).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('a request with too long a body is rejected with 413, and the connection serves the next one', async () => {
    const server = await listen();
    const length = 100_000;
    const first = await signed('POST /api/v1/things', [
      'content-type: application/json',
      `content-length: ${length}`,
    ]);
    const next = 'GET /health/live HTTP/1.1\r\nhost: a\r\n\r\n';
    const { heard } = await talk(server, `${first}${'x'.repeat(length)}${next}`);
    await until(() => heard.text.includes('{"status":"live"}'));
    expect(heard.text).toMatch(/^HTTP\/1\.1 413 .*connection: keep-alive.*HTTP\/1\.1 200 /s);
  });

  test('a request that asks to close the connection gets connection: close', async () => {
    const server = await listen();
    for (const headers of [[], ['content-type: application/json', 'content-length: 100000']]) {
      const line = headers.length === 0 ? 'GET /nowhere' : 'POST /api/v1/things';
      const { heard } = await talk(server, await signed(line, ['connection: close', ...headers]));
      await until(() => heard.text.includes('{"message":"'));
      expect(heard.text).toMatch(/^HTTP\/1\.1 4\d\d .*connection: close/is);
    }
  });

  test.each([
    ['HTTP/1.0 without a host', 'GET /health/live HTTP/1.0\r\n\r\n'],
    ['HTTP/1.0 with a host', 'GET /health/live HTTP/1.0\r\nhost: a\r\n\r\n'],
    [
      'the coding Chunked',
      'GET /health/live HTTP/1.1\r\nhost: a\r\ntransfer-encoding: Chunked\r\n\r\n0\r\n\r\n',
    ],
  ])('a request is served with %s', async (_what, input) => {
    const server = await listen();
    const { heard } = await talk(server, input);
    await until(() => heard.text.includes('\r\n\r\n'));
    expect(heard.text).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    ['an expectation that nobody knows', 'GET /api/v1/quick', ['expect: a miracle'], 200],
    [
      'an upgrade that nobody offers',
      'GET /api/v1/quick',
      ['connection: upgrade', 'upgrade: websocket'],
      200,
    ],
    ['a target with an origin', 'GET http://elsewhere/api/v1/quick', [], 200],
    ['a target with an origin that is none', 'GET http://[/api/v1/quick', [], 400],
    ['a target that cannot be decoded', 'GET /api/v1/quick%', [], 400],
    ['a target without a path', 'OPTIONS *', [], 404],
  ])('a request with %s gets the expected status', async (_what, line, headers, status) => {
    const server = await listen();
    const { heard } = await talk(server, await signed(line, headers));
    await until(() => heard.text.includes('\r\n\r\n'));
    expect(heard.text).toMatch(new RegExp(`^HTTP/1.1 ${status} .*x-content-type-options: nosniff`, 's'));
    await isServing(server);
  });
});

test('a request whose client leaves before the response begins adds one 499 to the metrics', async () => {
  const server = await listen();
  const { socket } = await talk(server, await signed('GET /api/v1/held'));
  await until(() => started === 1);
  socket.destroy();
  const counts = async (): Promise<string[]> =>
    (await metrics.text()).match(/^http_request_duration_seconds_count.*held.*$/gm) ?? [];
  await until(async () => (await counts()).length > 0);
  release();
  await isServing(server);
  expect(await counts()).toEqual([expect.stringMatching(/status="499".*\} 1$/)]);
});
