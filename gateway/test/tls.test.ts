/** A gateway and services with certificates. */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import type { ProcessName } from '@fitness/shared/kernel/process-name.ts';
import { createMissingCertificates, tlsDirectory } from '@fitness/shared/process-identity/certificates.ts';
import { readTlsFiles, TLS_FILES } from '@fitness/shared/process-identity/process-tls.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type Harness, startHarness } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'certificates-'));
const servers: Server[] = [];
let harness: Harness;

/** Starts a service that requires a client certificate, and responds with the name in it. */
const startService = async (process: ProcessName): Promise<string> => {
  const tls = readTlsFiles(process, tlsDirectory(directory, process));
  const server = createServer(
    { ...tls, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const { subject, serialNumber: serial } = (request.socket as TLSSocket).getPeerCertificate();
      response.setHeader('content-type', 'application/json');
      const health = { status: 'ready', dependencies: {} };
      response.end(JSON.stringify(request.url === '/health/ready' ? health : { client: subject.CN, serial }));
    },
  );
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

beforeAll(async () => {
  // The gateway checks its files at an interval. Everything else runs in real time.
  const others = ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'nextTick'] as const;
  jest.useFakeTimers({ doNotFake: [...others, 'queueMicrotask', 'Date', 'performance', 'hrtime'] });
  // The certificates expire in 65 days, and the next call renews them.
  await createMissingCertificates(directory, new Date(Date.now() - 300 * DAY_MS));
  harness = await startHarness({
    TLS_DIRECTORY: tlsDirectory(directory, 'gateway'),
    CONTENT_HTTP_URL: await startService('content'),
    // This server has the certificate of another service.
    GYMS_HTTP_URL: await startService('media'),
  });
});

afterAll(async () => {
  jest.useRealTimers();
  await harness.close();
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  rmSync(directory, { recursive: true });
});

test('a service is called over TLS, and identifies the gateway by its certificate', async () => {
  for (let i = 0; i < 2; i += 1) {
    const answer = await fetch(`${harness.url}/api/v1/posts`);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ client: 'gateway' }),
    ]);
  }
});

test('a service with another service’s certificate gets no request, and the client gets 503', async () => {
  expect((await fetch(`${harness.url}/api/v1/gyms`)).status).toBe(503);
});

test('health checks of the services use the same certificates', async () => {
  const states = await (await fetch(`${harness.operationsUrl}/health/services`)).json();
  expect(states).toMatchObject({
    content: { state: 'up' },
    gyms: { state: 'down' },
    wallet: { state: 'up' },
  });
});

test('a renewed certificate of the gateway is used by its next connections', async () => {
  const ask = async (): Promise<string> =>
    ((await (await fetch(`${harness.url}/api/v1/posts`)).json()) as { serial: string }).serial;
  const before = await ask();
  await createMissingCertificates(directory);
  jest.advanceTimersByTime(MINUTE_MS);
  for (const server of servers) server.closeIdleConnections();
  await eventually(async () => (await ask()) !== before);
  const renewed = readFileSync(join(tlsDirectory(directory, 'gateway'), TLS_FILES.cert));
  expect(await ask()).toBe(new X509Certificate(renewed).serialNumber);
});
