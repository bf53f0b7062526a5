import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createGrpcClient } from '@fitness/shared/grpc/client.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { eventually, testKeys, testServers, testSigner } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { service as healthDefinition } from 'grpc-health-check';
import { readConfig } from '../src/config.ts';
import { SERVICES } from '../src/request/routes.ts';
import { startGateway } from '../src/service.ts';
import { allStrays, type Harness, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(() => harness.reset());
afterAll(() => harness.close());

// biome-ignore lint/suspicious/noExplicitAny: a response under test has whatever shape it has
const read = async (path: string, origin = harness.url): Promise<{ status: number; body: any }> => {
  const answer = await fetch(`${origin}${path}`);
  return { status: answer.status, body: await answer.json() };
};

describe('the gateway’s own paths', () => {
  test.each([
    ['url', '/api/v1/openapi.json'],
    ['url', '/docs'],
    ['url', '/health/live'],
    ['operationsUrl', '/health/live'],
    ['operationsUrl', '/health/services'],
    ['operationsUrl', '/metrics'],
  ] as const)('%s: %s with another method returns 405 and Allow, whatever the body', async (origin, path) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const headers = { 'content-type': 'text/plain' };
      const answer = await fetch(`${harness[origin]}${path}`, { method, headers, body: 'x' });
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'GET']);
      expect(await answer.json()).toEqual({ message: 'This path does not support this HTTP method.' });
    }
  });

  test('an unknown path returns 404, whatever the method and the body', async () => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const body = method === 'GET' ? undefined : 'x';
      const answer = await fetch(`${harness.url}/nobody`, {
        method,
        headers: { 'content-type': 'text/plain' },
        body: body ?? null,
      });
      expect([method, answer.status]).toEqual([method, 404]);
    }
  });
});

describe('the operations port', () => {
  test.each(['/metrics', '/health/services'])(
    '%s returns 404 on the public port, whatever the method',
    async (path) => {
      for (const method of ['GET', 'POST', 'OPTIONS', 'HEAD']) {
        const answer = await fetch(`${harness.url}${path}`, { method });
        expect([method, answer.status]).toEqual([method, 404]);
      }
      expect(await (await fetch(`${harness.url}${path}`)).json()).toEqual({
        message: 'We could not find what you are looking for.',
      });
      expect((await fetch(`${harness.operationsUrl}${path}`)).status).toBe(200);
    },
  );

  test.each(['/health/live', '/health/ready'])('%s is available on both ports', async (path) => {
    const [{ status, body }, other] = [await read(path, harness.operationsUrl), await read(path)];
    expect([status, body.status, Object.keys(body)]).toEqual([
      other.status,
      other.body.status,
      Object.keys(other.body),
    ]);
  });

  test.each(['/api/v1/posts', '/api/v1/openapi.json', '/docs', '/oauth/authorize', '/mcp'])(
    '%s is not available on the operations port',
    async (path) => {
      expect(await read(path, harness.operationsUrl)).toEqual({
        status: 404,
        body: { message: 'We could not find what you are looking for.' },
      });
    },
  );
});

describe('health', () => {
  test('the liveness probe reports only the process', async () => {
    for (const upstream of Object.values(harness.upstreams)) upstream.ready = false;
    expect(await read('/health/live')).toEqual({ status: 200, body: { status: 'live' } });
  });

  test.each([
    ['up', () => testServers().REDIS_URL],
    ['down', () => 'redis://127.0.0.1:1'],
  ])(
    'the readiness probe shows that Redis is %s, does not need it, and calls no service',
    async (state, address) => {
      const gateway = await startHarness({ REDIS_URL: address() });
      try {
        expect(await read('/health/ready', gateway.url)).toEqual({
          status: 200,
          body: {
            status: 'ready',
            dependencies: { redis: { state, latency_ms: expect.any(Number), required: false } },
          },
        });
        expect(allStrays(gateway)).toEqual([]);
      } finally {
        await gateway.close();
      }
    },
  );

  test.each(SERVICES)('the gateway is ready while %s does not respond', async (service) => {
    harness.upstreams[service].ready = false;
    expect((await read('/health/ready')).status).toBe(200);
    await harness.upstreams[service].stop();
    const { status, body } = await read('/health/ready');
    await harness.upstreams[service].start();
    expect([status, body.status]).toEqual([200, 'ready']);
  });

  test('the gateway starts even if no service responds', async () => {
    const nobody = 'http://127.0.0.1:1';
    const alone = await startHarness({
      IDENTITY_HTTP_URL: nobody,
      WALLET_HTTP_URL: nobody,
      GYMS_HTTP_URL: nobody,
      CONTENT_HTTP_URL: nobody,
      MEDIA_HTTP_URL: nobody,
      STORE_BILLING_HTTP_URL: nobody,
      IDENTITY_GRPC_ADDRESS: '127.0.0.1:1',
    });
    try {
      expect((await fetch(`${alone.url}/health/ready`)).status).toBe(200);
      expect((await fetch(`${alone.url}/api/v1/posts`)).status).toBe(503);
    } finally {
      await alone.close();
    }
  });

  test('the gateway is not ready before the demo data is complete', async () => {
    const demo = await startHarness({ SEED_DEMO: '1' });
    try {
      const answer = await fetch(`${demo.url}/health/ready`);
      expect([answer.status, await answer.json()]).toEqual([
        503,
        {
          status: 'not_ready',
          dependencies: {
            redis: { state: 'down', latency_ms: expect.any(Number), required: false },
            demo_data: { state: 'down', latency_ms: expect.any(Number), required: true },
          },
        },
      ]);
    } finally {
      await demo.close();
    }
  });

  test('/health/services shows the state of every service, even of one that does not respond', async () => {
    harness.upstreams.gyms.ready = false;
    await harness.upstreams.media.stop();
    const { status, body } = await read('/health/services', harness.operationsUrl);
    await harness.upstreams.media.start();
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual([...SERVICES].sort());
    expect(body.wallet).toEqual({
      state: 'up',
      status: 'ready',
      latency_ms: expect.any(Number),
      dependencies: { mongodb: { state: 'up', latency_ms: 1, required: true } },
    });
    expect(body.gyms).toMatchObject({
      state: 'up',
      status: 'not_ready',
      dependencies: { mongodb: { state: 'down' } },
    });
    expect(body.media).toEqual({
      state: 'down',
      status: 'unknown',
      latency_ms: expect.any(Number),
      dependencies: {},
    });
  });

  test('the standard gRPC health service responds', async () => {
    const client = createGrpcClient({
      definition: healthDefinition,
      address: harness.grpcAddress,
      target: 'gateway',
      signer: testSigner('identity'),
    });
    await expect(client.call('Check', { service: '' })).resolves.toMatchObject({ status: 'SERVING' });
    client.close();
  });
});

describe('metrics', () => {
  test('requests and calls to identity are measured', async () => {
    await fetch(`${harness.url}/api/v1/posts`, { headers: { authorization: 'Bearer x' } });
    const series = (await (await fetch(`${harness.operationsUrl}/metrics`)).text()).split('\n');
    const find = (...parts: string[]): string[] =>
      series.filter((line) => parts.every((part) => line.includes(part)));
    expect(find('http_request_duration_seconds_count', 'route="/api/v1/posts"', 'status="401"')).toHaveLength(
      1,
    );
    expect(find('grpc_client_duration_seconds_count', 'target="identity"', 'UNAUTHENTICATED')).toHaveLength(
      1,
    );
  });

  test('a request to a service that does not respond is measured under its own route', async () => {
    const { identity } = harness.upstreams;
    await identity.stop();
    try {
      const login = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
      expect((await fetch(`${harness.url}/api/v1/auth/login?x=1`, login)).status).toBe(503);
      const series = await (await fetch(`${harness.operationsUrl}/metrics`)).text();
      const labels = 'method="POST",route="/api/v1/auth/login",status="503"';
      expect(series).toContain(`http_request_duration_seconds_count{service="gateway",${labels}} 1`);
    } finally {
      await identity.start();
    }
  });
});

describe('the log', () => {
  test('the log has one line per request, with the route of the service and without secrets', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({
      service: 'gateway',
      destination: {
        write: (line) => {
          const entry = JSON.parse(line);
          // This gateway has no Redis, which is logged once, some time after the start.
          if (!String(entry.msg).startsWith('Redis is not reachable')) lines.push(entry);
        },
      },
    });
    const logged = await startHarness({}, { log });
    try {
      lines.length = 0;
      logged.upstreams.content.handler = (_request, response) =>
        response.writeHead(404, { 'x-internal-route': '/api/v1/posts/:id' }).end('{}');
      const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
      await fetch(`${logged.url}/api/v1/posts/7?token=secret`, { headers: { traceparent } });
      await fetch(`${logged.url}/health/live`);
      await fetch(`${logged.url}/docs`, { headers: { 'x-request-id': '00989121234567' } });
      await eventually(() => lines.length >= 2);
      const common = { level: 'info', service: 'gateway', msg: 'request', method: 'GET' };
      const rest = { time: expect.any(String), ms: expect.any(Number), request_id: expect.any(String) };
      expect(lines[0]).toEqual({
        ...common,
        ...rest,
        trace_id: 'a'.repeat(32),
        span_id: expect.stringMatching(/^(?!b{16})[0-9a-f]{16}$/),
        route: '/api/v1/posts/:id',
        upstream: 'content',
        status: '404',
      });
      expect(lines[1]).toMatchObject({ ...common, request_id: '[redacted number]', status: '200' });
      expect(lines).toHaveLength(2);
    } finally {
      await logged.close();
    }
  });
});

describe('an invalid configuration', () => {
  const keys = {
    ...testKeys('gateway'),
    PUBLIC_BASE_URL: 'https://api.fitness.example',
    APP_NAME: 'Fit',
    APP_DEVELOPER: 'Fit Ltd.',
    REDIS_URL: 'rediss://gateway:x7k2m9q4@redis.example:6379',
  };

  test('the process exits with 78 and one line that names an invalid variable', () => {
    const { status, stderr } = spawnSync(process.execPath, ['src/main.ts'], {
      cwd: dirname(dirname(fileURLToPath(import.meta.url))),
      env: { PATH: process.env.PATH ?? '', ...keys, NODE_ENV: 'production', SEED_DEMO: '1' },
      encoding: 'utf8',
      timeout: 120_000,
    });
    expect([status, stderr.trim().split('\n')]).toEqual([78, [expect.stringContaining('SEED_DEMO')]]);
  });

  test.each([
    ['PRIVATE_KEY_DIRECTORY', { PUBLIC_KEYS_DIRECTORY: keys.PUBLIC_KEYS_DIRECTORY }],
    ['PUBLIC_KEYS_DIRECTORY', { PRIVATE_KEY_DIRECTORY: keys.PRIVATE_KEY_DIRECTORY }],
    ['PRIVATE_KEY_DIRECTORY', { ...keys, NODE_ENV: 'production', PRIVATE_KEY_DIRECTORY: tmpdir() }],
    ['PUBLIC_KEYS_DIRECTORY', { ...keys, NODE_ENV: 'production', PUBLIC_KEYS_DIRECTORY: tmpdir() }],
    ['PRIVATE_KEY_DIRECTORY', { ...keys, PRIVATE_KEY_DIRECTORY: testKeys('media').PRIVATE_KEY_DIRECTORY }],
  ])('the gateway does not start with an invalid %s', async (name, env) => {
    const start = async () =>
      startGateway(readConfig({ LOG_LEVEL: 'silent', HTTP_PORT: '0', OPERATIONS_PORT: '0', ...env }));
    await expect(start()).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(new RegExp(`^[^\n]*${name}[^\n]*$`)),
    });
  });
});
