/** A gateway with certificates, and services that show theirs. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import type { ProcessName } from '@fitness/shared/kernel/process-name.ts';
import { createMissingCertificates, tlsDirectory } from '@fitness/shared/process-identity/certificates.ts';
import { readProcessTls } from '@fitness/shared/process-identity/process-tls.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, startHarness } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'certificates-'));
const servers: Server[] = [];
let harness: Harness;

/** Answers with the name in the certificate of the client, and takes no client without one. */
const startService = async (process: ProcessName): Promise<string> => {
  const tls = readProcessTls(process, { TLS_DIRECTORY: tlsDirectory(directory, process) });
  const server = createServer(
    { ...tls, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      response.setHeader('content-type', 'application/json');
      const health = { status: 'ready', dependencies: {} };
      response.end(JSON.stringify(request.url === '/health/ready' ? health : { client: subject.CN }));
    },
  );
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

beforeAll(async () => {
  await createMissingCertificates(directory);
  harness = await startHarness({
    TLS_DIRECTORY: tlsDirectory(directory, 'gateway'),
    CONTENT_HTTP_URL: await startService('content'),
    // Somebody who has the certificate of another service.
    GYMS_HTTP_URL: await startService('media'),
  });
});

afterAll(async () => {
  await harness.close();
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  rmSync(directory, { recursive: true });
});

test('a service is reached over TLS, and knows the gateway by its certificate', async () => {
  for (let i = 0; i < 2; i += 1) {
    const answer = await fetch(`${harness.url}/api/v1/posts`);
    expect([answer.status, await answer.json()]).toEqual([200, { client: 'gateway' }]);
  }
});

test('a service with the certificate of another one gets no request: 503', async () => {
  expect((await fetch(`${harness.url}/api/v1/gyms`)).status).toBe(503);
});

test('their health is asked in the same way', async () => {
  const states = await (await fetch(`${harness.operationsUrl}/health/services`)).json();
  expect(states).toMatchObject({
    content: { state: 'up' },
    gyms: { state: 'down' },
    wallet: { state: 'up' },
  });
});
