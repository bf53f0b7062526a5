import { afterEach, describe, expect, test } from '@jest/globals';
import { startTcpProxy } from '../../src/testing/tcp-proxy.ts';
import { pause } from '../messaging/support.ts';
import {
  allConnected,
  ask,
  closeAll,
  connect,
  distribution,
  expectEven,
  hostOf,
  NAME,
  resolveTo,
  startReplica,
} from './replicas.ts';

afterEach(closeAll);

describe('three replicas', () => {
  test.each([1, 8])('the replicas of a list of addresses share the calls, %i at a time', async (atOnce) => {
    const replicas = await Promise.all([0, 1, 2].map((index) => startReplica(index)));
    const client = connect(replicas.map(({ address }) => address).join(','));
    await allConnected(client, 3);
    expectEven(await distribution(client, 120, atOnce), 3);
  });

  test.each([1, 8])(
    'the replicas of a name with several records share the calls, %i at a time',
    async (atOnce) => {
      const { port } = await startReplica(0);
      await startReplica(1, { port });
      await startReplica(2, { port });
      resolveTo([0, 1, 2].map(hostOf));
      const client = connect(`${NAME}:${port}`);
      await ask(client);
      await pause(200);
      expectEven(await distribution(client, 120, atOnce), 3);
    },
  );
});

test('a replica that leaves and comes back costs no call', async () => {
  const options = { delayMs: 20 };
  const [first, second, third] = [
    await startReplica(0, options),
    await startReplica(1, options),
    await startReplica(2, options),
  ];
  const client = connect([first, second, third].map(({ address }) => address).join(','));
  await allConnected(client, 3);
  const load = distribution(client, 400, 8);
  await pause(150);
  await second.close();
  await pause(150);
  await startReplica(1, { port: second.port, ...options });
  expect((await load).reduce((sum, count) => sum + count, 0)).toBe(400);
  await allConnected(client, 3);
  expectEven(await distribution(client, 120, 8), 3);
}, 30_000);

/** Far below the 23 s that the usual interval of keepalive would take, and far above 2.5 s. */
const FOUND_MS = 15_000;

test('calls that may be retried succeed while a replica is frozen, which receives calls again later', async () => {
  const [first, second] = [await startReplica(0), await startReplica(1)];
  const proxy = await startTcpProxy(`http://${first.address}`);
  try {
    const client = connect(`${new URL(proxy.uri).host},${second.address}`);
    await allConnected(client, 2);
    proxy.hold();
    const startedAt = performance.now();
    const calls = Array.from({ length: 8 }, () => ask(client, { retry: true, deadlineMs: 30_000 }));
    expect(new Set(await Promise.all(calls))).toEqual(new Set([1]));
    expect(performance.now() - startedAt).toBeLessThan(FOUND_MS);
    proxy.restore();
    await allConnected(client, 2);
  } finally {
    await proxy.close();
  }
});
