/** `server_up`: whether a process reaches its servers, while they respond, are frozen, and respond again. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLog } from '../../src/kernel/log.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { dropDatabase, dropQueues, eventually, testConfig } from '../../src/testing/harness.ts';
import { startTcpProxy, type TcpProxy } from '../../src/testing/tcp-proxy.ts';

const config = testConfig('gyms');
const UP = { mongodb: 1, rabbitmq: 1, redis: 1 };
const proxies = new Map<string, TcpProxy>();
let service: RunningService;

beforeAll(async () => {
  const through = async (server: string, uri: string): Promise<string> => {
    const proxy = await startTcpProxy(uri);
    proxies.set(server, proxy);
    return proxy.uri;
  };
  const database = new URL(await through('mongodb', String(config.MONGODB_URI)));
  // Otherwise the driver would find the address of the replica set behind the proxy.
  database.searchParams.delete('replicaSet');
  database.searchParams.set('directConnection', 'true');
  const runtime = await createServiceRuntime(
    'gyms',
    {
      ...config,
      MONGODB_URI: database.href,
      REDIS_URL: await through('redis', config.REDIS_URL),
      AMQP_URL: await through('rabbitmq', config.AMQP_URL),
    },
    { log: createLog({ service: 'gyms', level: 'silent' }) },
  );
  service = await runtime.serve({ routes: [], grpc: [], consumers: [] });
});
afterAll(async () => {
  await service.close();
  for (const proxy of proxies.values()) await proxy.close();
  await dropDatabase(config);
  await dropQueues(config, 'gyms');
});

/** The values of one scrape, by server. */
const serversUp = async (): Promise<Record<string, number>> => {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const series = [...text.matchAll(/^server_up\{server="(\w+)",service="gyms"\} (\d)$/gm)];
  return Object.fromEntries(series.map(([, server = '', value]) => [server, Number(value)]));
};

const isSeen = (expected: Record<string, number>) =>
  eventually(async () => {
    const seen = await serversUp();
    // No scrape may lack a server.
    expect(Object.keys(seen).sort()).toEqual(Object.keys(UP));
    return JSON.stringify(Object.entries(seen).sort()) === JSON.stringify(Object.entries(expected).sort());
  });

test.each(['mongodb', 'rabbitmq', 'redis'])(
  'the first scrape after %s has frozen shows it as down, no scrape lacks it, and it is up again later',
  async (server) => {
    await isSeen(UP);
    proxies.get(server)?.hold();
    expect(await serversUp()).toEqual({ ...UP, [server]: 0 });
    proxies.get(server)?.restore();
    await isSeen(UP);
  },
);

test('servers that refuse connections are shown as down', async () => {
  for (const proxy of proxies.values()) proxy.cut();
  await isSeen({ mongodb: 0, rabbitmq: 0, redis: 0 });
  for (const proxy of proxies.values()) proxy.restore();
  await isSeen(UP);
});
