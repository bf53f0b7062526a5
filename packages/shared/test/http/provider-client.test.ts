import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createProviderClient, type ProviderClient } from '../../src/http/provider-client.ts';

const DATE = 'Tue, 15 Nov 1994 08:12:31 GMT';
let server: Server;
let url: string;
let requestCount = 0;

/** `/status/<n>` returns that status; `/silent` never responds. */
beforeAll(async () => {
  server = createServer((request, response) => {
    requestCount += 1;
    const status = /^\/status\/(\d+)/.exec(request.url ?? '')?.[1];
    const waits = new URL(request.url ?? '', 'http://shop').searchParams.get('wait');
    if (waits !== null) response.setHeader('retry-after', waits).setHeader('date', DATE);
    if (status !== undefined) response.writeHead(Number(status)).end(`${request.method} answered`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const withClient = async (
  work: (client: ProviderClient) => Promise<void>,
  deadlineMs = 30_000,
): Promise<void> => {
  const client = createProviderClient({ target: 'shop', deadlineMs });
  try {
    await work(client);
  } finally {
    client.close();
  }
};

describe('an external provider', () => {
  test.each([200, 302, 400, 404, 429])('a %i of a provider is a response, not a failure', (status) =>
    withClient(async (client) => {
      const answer = await client.send({ method: 'POST', url: `${url}/status/${status}`, body: '{}' });
      expect(answer).toEqual({ status, text: 'POST answered' });
    }),
  );

  test.each([
    ['a 5xx', '/status/502?key=secret', 'shop returned 502', 30_000],
    ['silence', '/silent?key=secret', 'shop did not respond', 20],
  ])('%s is a failure whose message names no address', (_what, path, expected, deadlineMs) =>
    withClient(async (client) => {
      const failed = await client
        .send({ method: 'GET', url: `${url}${path}` })
        .catch((error: Error) => error);
      expect(failed).toMatchObject({ name: 'ProviderFailure', message: expect.stringContaining(expected) });
      expect((failed as Error).message).not.toMatch(/secret|127\.0\.0\.1/);
    }, deadlineMs),
  );

  test.each([
    ['90', 90_000],
    ['Tue, 15 Nov 1994 08:14:01 GMT', 90_000],
    ['Tue, 15 Nov 1994 07:00:00 GMT', 0],
    ['soon', undefined],
  ])('a Retry-After of %s is read from a response and from a failure', (wait, retryAfterMs) =>
    withClient(async (client) => {
      const ask = (status: number) =>
        client.send({ method: 'GET', url: `${url}/status/${status}?wait=${encodeURIComponent(wait)}` });
      expect(await ask(429)).toMatchObject({ status: 429, retryAfterMs });
      await expect(ask(503)).rejects.toMatchObject({ name: 'ProviderFailure', retryAfterMs });
    }),
  );

  test('a refused connection is a failure', () =>
    withClient(async (client) => {
      const failed = client.send({ method: 'GET', url: 'http://127.0.0.1:1/key' });
      await expect(failed).rejects.toMatchObject({ name: 'ProviderFailure' });
    }));

  test('the breaker opens on failures and not on refusals', () =>
    withClient(async (client) => {
      for (let i = 0; i < 20; i += 1) await client.send({ method: 'GET', url: `${url}/status/400` });
      const get = (status: number) => client.send({ method: 'GET', url: `${url}/status/${status}` });
      for (let i = 0; i < 30; i += 1) await get(500).catch(() => undefined);
      const before = requestCount;
      await expect(get(200)).rejects.toMatchObject({ name: 'ProviderFailure' });
      expect(requestCount).toBe(before);
    }));
});
