/** A client of several replicas: a list of addresses, and a name with a record for each replica. */
import dns from 'node:dns';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createGrpcClient, type GrpcClient } from '../../src/grpc/client.ts';
import { grpcDefinitions } from '../../src/grpc/load.ts';
import { type GrpcHandlers, type GrpcServer, grpcService, startGrpcServer } from '../../src/grpc/server.ts';
import { createMetrics } from '../../src/kernel/metrics.ts';
import { eventually, testSigner } from '../../src/testing/harness.ts';
import { log, pause } from '../messaging/support.ts';

type GetHiddenUsers = GrpcHandlers<IdentityDefinition>['GetHiddenUsers'];

const definition = grpcDefinitions.identity();
const NAME = 'identity.replicas.test';
/** Every address of this network leads to this machine. */
const hostOf = (index: number): string =>
  `127.${100 + Number(process.env.JEST_WORKER_ID ?? 0)}.0.${index + 1}`;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const startReplica = async (
  index: number,
  { port = 0, delayMs = 0 }: { port?: number; delayMs?: number } = {},
): Promise<GrpcServer & { port: number }> => {
  const handle: GetHiddenUsers = async () => {
    await pause(delayMs);
    return { pending_ids: [], gone_ids: [index] };
  };
  const handlers = { GetHiddenUsers: handle } as unknown as GrpcHandlers<IdentityDefinition>;
  const server = await startGrpcServer({
    address: `${hostOf(index)}:${port}`,
    services: [grpcService(definition, handlers)],
    signer: testSigner('identity'),
    metrics: createMetrics('identity', { defaults: false }),
    log,
  });
  closers.push(() => server.close());
  return { ...server, port: Number(server.address.split(':')[1]) };
};

const connect = (address: string): GrpcClient<IdentityDefinition> => {
  const client = createGrpcClient({ definition, address, target: 'identity', signer: testSigner('content') });
  closers.push(() => client.close());
  return client;
};

/** Addresses to which the system resolves `NAME`. */
const resolveTo = (hosts: string[]): { hosts: string[] } => {
  const records = { hosts };
  const { lookup } = dns.promises;
  const replaced = async (name: string, options: object) =>
    name === NAME
      ? records.hosts.map((address) => ({ address, family: 4 }))
      : lookup(name, options as dns.LookupAllOptions);
  dns.promises.lookup = replaced as typeof lookup;
  closers.push(() => {
    dns.promises.lookup = lookup;
  });
  return records;
};

const ask = async (client: GrpcClient<IdentityDefinition>): Promise<number> =>
  (await client.call('GetHiddenUsers', { ids: [1] })).gone_ids[0] ?? -1;

/** How many of `calls` each replica has served. */
const distribution = async (
  client: GrpcClient<IdentityDefinition>,
  calls: number,
  atOnce: number,
): Promise<number[]> => {
  const counts: number[] = [];
  let left = calls;
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const index = await ask(client);
      counts[index] = (counts[index] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return Array.from(counts, (count = 0) => count);
};

const expectEven = (counts: readonly number[], replicas: number): void => {
  const share = counts.reduce((sum, count) => sum + count, 0) / replicas;
  expect(counts).toHaveLength(replicas);
  for (const count of counts) expect(Math.abs(count - share) / share).toBeLessThanOrEqual(0.2);
};

const allConnected = (client: GrpcClient<IdentityDefinition>, replicas: number) =>
  eventually(
    async () => new Set(await Promise.all(Array.from({ length: 12 }, () => ask(client)))).size === replicas,
  );

describe('three replicas', () => {
  test.each([1, 8])('the replicas of a list of addresses share the calls, %i at a time', async (atOnce) => {
    const replicas = await Promise.all([0, 1, 2].map((index) => startReplica(index)));
    const client = connect(replicas.map(({ address }) => address).join(','));
    await allConnected(client, 3);
    expectEven(await distribution(client, 300, atOnce), 3);
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
      expectEven(await distribution(client, 300, atOnce), 3);
    },
  );
});

test('a fourth replica of a name has its share within 30 s', async () => {
  const { port } = await startReplica(0);
  for (const index of [1, 2, 3]) await startReplica(index, { port });
  const records = resolveTo([0, 1, 2].map(hostOf));
  const client = connect(`${NAME}:${port}`);
  await allConnected(client, 3);
  records.hosts = [0, 1, 2, 3].map(hostOf);
  const addedAt = performance.now();
  while ((await distribution(client, 8, 8))[3] === undefined) {
    if (performance.now() - addedAt > 30_000) break;
    await pause(100);
  }
  expectEven(await distribution(client, 400, 8), 4);
}, 45_000);

test('a replica that leaves and comes back costs no call', async () => {
  const options = { delayMs: 20 };
  const [first, second, third] = [
    await startReplica(0, options),
    await startReplica(1, options),
    await startReplica(2, options),
  ];
  const client = connect([first, second, third].map(({ address }) => address).join(','));
  await allConnected(client, 3);
  const load = distribution(client, 1_000, 8);
  await pause(300);
  await second.close();
  await pause(300);
  await startReplica(1, { port: second.port, ...options });
  expect((await load).reduce((sum, count) => sum + count, 0)).toBe(1_000);
  await allConnected(client, 3);
  expectEven(await distribution(client, 300, 8), 3);
}, 30_000);
