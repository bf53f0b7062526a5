import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { createAuditLog } from '../../src/audit/log.ts';
import { systemClock, systemRandom } from '../../src/kernel/clock.ts';
import { ConfigError } from '../../src/kernel/config.ts';
import { createLog } from '../../src/kernel/log.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import type { Job } from '../../src/runtime/jobs.ts';
import { SHUTDOWN_DEADLINE_MS, shutdownTimes } from '../../src/runtime/lifecycle.ts';
import type { RuntimeConfig } from '../../src/runtime/runtime-options.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { dropDatabase, testConfig } from '../../src/testing/harness.ts';
import { until } from '../messaging/support.ts';

const closings: (() => Promise<unknown>)[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const close of closings.splice(0)) await close();
});

const start = async (
  jobs: Job[] = [],
  closeGraceMs?: number,
  environment: Partial<RuntimeConfig> = {},
): Promise<{ service: RunningService; logged: string[] }> => {
  const config = { ...testConfig('wallet'), ...environment };
  const logged: string[] = [];
  const destination = { write: (line: string) => void logged.push(line) };
  const log = createLog({ service: 'wallet', level: 'warn', destination });
  const runtime = await createServiceRuntime('wallet', config, { log, closeGraceMs });
  const service = await runtime.serve({ routes: [], grpc: [], consumers: [], jobs });
  closings.push(async () => {
    await service.close();
    await dropDatabase(config);
  });
  return { service, logged };
};

/** A client that never closes its connection. */
const open = async (address: string, input?: string): Promise<void> => {
  const { hostname: host, port } = new URL(address);
  const socket = connect({ host, port: Number(port), allowHalfOpen: true });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('connect', resolve));
  if (input !== undefined) await new Promise((resolve) => socket.write(input, resolve));
};

test('a failing job is logged, and its next round runs', async () => {
  let rounds = 0;
  const failing: Job['run'] = () => {
    rounds += 1;
    if (rounds === 1) throw new Error('thrown at once');
    return Promise.reject(new Error('thrown later'));
  };
  const { logged } = await start([{ name: 'failing', intervalMs: 5, run: failing }]);
  await until(() => rounds >= 4);
  expect(logged.join('')).toContain('thrown at once');
  expect(logged.join('')).toContain('thrown later');
});

test('jobs run at once when the sandbox advances the clock, once more when a round is running', async () => {
  let advancedMs = 0;
  const waiting = new Set<() => void>();
  const sandbox = createServer((request, response) => {
    const answer = (): unknown => response.end(JSON.stringify({ data: { advanced_ms: advancedMs } }));
    if (request.url?.endsWith(`after_ms=${advancedMs}`) === true) waiting.add(answer);
    else answer();
  });
  await new Promise<void>((resolve) => sandbox.listen(0, '127.0.0.1', resolve));
  closings.push(async () => {
    sandbox.closeAllConnections();
    sandbox.close();
  });
  const advance = async (): Promise<void> => {
    await until(() => waiting.size > 0);
    advancedMs += 60_000;
    for (const answer of waiting) answer();
    waiting.clear();
  };

  let rounds = 0;
  let finish = (): void => undefined;
  const slow: Job['run'] = () => {
    rounds += 1;
    return new Promise<void>((resolve) => {
      finish = resolve;
    });
  };
  const { port } = sandbox.address() as AddressInfo;
  await start([{ name: 'slow', intervalMs: 3_600_000, run: slow }], undefined, {
    SEED_DEMO: true,
    SANDBOX_URL: `http://127.0.0.1:${port}`,
  });
  expect(rounds).toBe(0);
  await advance();
  await until(() => rounds === 1);
  await advance();
  await advance();
  expect(rounds).toBe(1);
  finish();
  await until(() => rounds === 2);
  finish();
});

test('upgrades run before the transports open; a service does not start when one fails', async () => {
  const config = testConfig('wallet');
  const steps: string[] = [];
  const serveWith = async (run: () => Promise<number>) => {
    const runtime = await createServiceRuntime('wallet', config, {
      log: createLog({ service: 'wallet', level: 'silent' }),
    });
    const beforeTransports = async () => void steps.push('seeds');
    return runtime.serve({
      routes: [],
      grpc: [],
      consumers: [],
      beforeTransports,
      upgrades: [{ name: 'one', run }],
    });
  };
  await expect(serveWith(() => Promise.reject(new Error('the database is full')))).rejects.toThrow('is full');
  expect(steps).toEqual([]);
  const service = await serveWith(async () => steps.push('upgrade'));
  closings.push(async () => {
    await service.close();
    await dropDatabase(config);
  });
  expect(steps).toEqual(['upgrade', 'seeds']);
});

test('the running service seals the audit log, including the entries of commands', async () => {
  const config = testConfig('wallet');
  const log = createLog({ service: 'wallet', level: 'silent' });
  const runtime = await createServiceRuntime('wallet', config, { log });
  const service = await runtime.serve({ routes: [], grpc: [], consumers: [] });
  closings.push(async () => {
    await service.close();
    await dropDatabase(config);
  });
  const { connection } = runtime;
  const ofCommand = { connection, service: 'wallet', clock: systemClock, random: systemRandom, log };
  const values = { events: ['shop.order.placed 1'] };
  for (const audit of [createAuditLog(ofCommand), runtime.audit])
    await inTransaction(connection, (session) =>
      audit.record(session, {
        actorId: null,
        action: 'dead_letters.purge',
        subject: { type: 'dead_letters', id: null },
        after: { personId: null, values },
      }),
    );
  const sealed = { seal: { $type: 'number' } };
  await until(async () => (await connection.collection('audit_entries').countDocuments(sealed)) === 2);
});

test('idle connections do not delay the shutdown beyond its grace period', async () => {
  const { service, logged } = await start([], 200);
  const grpc = `http://${service.grpcAddress}`;
  for (const address of [service.url, grpc]) {
    await open(address);
    await open(address, 'GET / HTTP/1.1\r\nhost:');
    await open(address, 'garbage\r\n\r\n');
    await open(address, 'POST /api/v1/things HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{');
  }
  await open(grpc, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  await open(
    grpc,
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0006\u0004\u0000\u0000\u0000\u0000\u0000zz',
  );
  const askedAt = performance.now();
  await service.close();
  expect(performance.now() - askedAt).toBeLessThan(SHUTDOWN_DEADLINE_MS);
  expect(logged).toEqual([]);
});

test('a shutdown has time for new requests, for current ones, and for what they started', () => {
  const times = { drainMs: 2_000, finishMs: 6_500, exitMs: 9_500 };
  expect(shutdownTimes({ DRAIN_MS: 2_000, SHUTDOWN_GRACE_MS: 10_000 })).toEqual(times);
  expect(shutdownTimes({ DRAIN_MS: 0, SHUTDOWN_GRACE_MS: 10_000 }).finishMs).toBe(8_500);
  const tooShort = () => shutdownTimes({ DRAIN_MS: 8_000, SHUTDOWN_GRACE_MS: 10_000 });
  expect(tooShort).toThrow(ConfigError);
  expect(tooShort).toThrow('SHUTDOWN_GRACE_MS: must be at least 10500');
});

test('a port that is taken ends the start at once', async () => {
  const { service } = await start();
  const port = Number(new URL(service.url).port);
  const config = { ...testConfig('wallet'), HTTP_PORT: port, DRAIN_MS: 3_000 };
  closings.push(() => dropDatabase(config));
  const log = createLog({ service: 'wallet', level: 'silent' });
  const runtime = await createServiceRuntime('wallet', config, { log });
  const askedAt = performance.now();
  const serving = runtime.serve({ routes: [], grpc: [], consumers: [] });
  await expect(serving).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(performance.now() - askedAt).toBeLessThan(config.DRAIN_MS);
});
