/** Replicas receive SIGTERM without prior notice, under a load of clients that keep their connections open. */
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { eventually, testKeys } from '@fitness/shared/testing/harness.ts';
import { type Running, startNode, startService, uploadSlowly } from '@fitness/shared/testing/processes.ts';
import { afterEach, expect, test } from '@jest/globals';
import { bearer, startHarness } from './support.ts';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const killAfterTest = (running: Running): Running => {
  closers.push(() => running.child.kill('SIGKILL'));
  return running;
};

/** Pause of a client between two requests. */
const PAUSE_MS = 5;

/** Reads and writes over persistent connections until `stop`, which resolves with the number of each outcome. */
const startLoad = (url: string, path: string, headers: Record<string, string>) => {
  const agent = new Agent({ keepAlive: true });
  const outcomes: Record<string, number> = {};
  let stopped = false;
  const send = (method: string) =>
    new Promise<string>((resolve) => {
      const sending = httpRequest(`${url}${path}`, { method, agent, headers }, (answer: IncomingMessage) => {
        answer.resume().once('end', () => resolve(`${method} ${answer.statusCode}`));
      });
      sending.once('error', (error: NodeJS.ErrnoException) => resolve(`${method} ${error.code}`));
      if (method === 'POST') sending.setHeader('content-type', 'application/json');
      sending.end(method === 'POST' ? '{}' : undefined);
    });
  const work = async (method: string): Promise<void> => {
    while (!stopped) {
      const outcome = await send(method);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      await sleep(PAUSE_MS);
    }
  };
  const workers = Promise.all(['GET', 'GET', 'GET', 'GET', 'POST', 'POST', 'POST', 'POST'].map(work));
  return {
    outcomes,
    stop: async (): Promise<Record<string, number>> => {
      stopped = true;
      await workers;
      agent.destroy();
      return outcomes;
    },
  };
};

test('no request fails while one of two replicas of a service stops', async () => {
  const times = { DRAIN_MS: 500, SHUTDOWN_GRACE_MS: 10_000 };
  const stopping = killAfterTest(await startService('wallet', times));
  const other = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  closers.push(() => {
    other.close();
    other.closeAllConnections();
  });
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const harness = await startHarness({ WALLET_HTTP_URL: `${stopping.ready.url},http://127.0.0.1:${port}` });
  closers.push(() => harness.close());
  const load = startLoad(harness.url, '/api/v1/payments', bearer());
  await eventually(() => (load.outcomes['POST 200'] ?? 0) > 50);
  stopping.child.kill('SIGTERM');
  expect(await stopping.exited).toBe(0);
  const before = load.outcomes['POST 200'] ?? 0;
  await eventually(() => (load.outcomes['POST 200'] ?? 0) > before + 50);
  const outcomes = await load.stop();
  expect(Object.keys(outcomes).sort()).toEqual(['GET 200', 'POST 200']);
}, 60_000);

/** A load balancer that sends new connections to gateways that are ready. */
const startBalancer = async (gateways: readonly string[]): Promise<string> => {
  let ready = [...gateways];
  const check = async (url: string): Promise<boolean> =>
    fetch(`${url}/health/ready`).then(
      ({ status }) => status === 200,
      () => false,
    );
  const checking = setInterval(async () => {
    const states = await Promise.all(gateways.map(check));
    ready = gateways.filter((_, index) => states[index]);
  }, 200);
  let turn = 0;
  const server = createTcpServer((client) => {
    turn += 1;
    const { hostname, port } = new URL(ready[turn % ready.length] ?? '');
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      socket.on('error', () => {
        client.destroy();
        upstream.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    clearInterval(checking);
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

test('nothing fails while one of two gateways stops, even an upload in progress', async () => {
  const services = await startHarness();
  closers.push(() => services.close());
  const urls = Object.entries(services.upstreams).map(([name, { url }]) => [
    `${name.toUpperCase().replaceAll('-', '_')}_HTTP_URL`,
    url,
  ]);
  const drainMs = 1_500;
  const stopping = killAfterTest(
    await startNode(
      fileURLToPath(new URL('../src/main.ts', import.meta.url)),
      {
        ...Object.fromEntries(urls),
        ...testKeys('gateway'),
        NODE_ENV: 'test',
        LOG_LEVEL: 'info',
        HTTP_PORT: '0',
        GRPC_PORT: '0',
        OPERATIONS_PORT: '0',
        REDIS_URL: 'redis://127.0.0.1:1',
        DRAIN_MS: String(drainMs),
        SHUTDOWN_GRACE_MS: '20000',
      },
      'listening',
    ),
  );
  const url = await startBalancer([stopping.ready.url, services.url]);
  const load = startLoad(url, '/api/v1/gyms', {});
  await eventually(() => (load.outcomes['POST 200'] ?? 0) > 50);
  const headers = { 'content-type': 'multipart/form-data; boundary=a' };
  const uploading = uploadSlowly(`${stopping.ready.url}/api/v1/media`, headers, drainMs + 1_000);
  await eventually(() => services.upstreams.media.received.length === 1);
  stopping.child.kill('SIGTERM');
  expect(await uploading).toBe(200);
  expect(await stopping.exited).toBe(0);
  const outcomes = await load.stop();
  expect(Object.keys(outcomes).sort()).toEqual(['GET 200', 'POST 200']);
}, 60_000);
