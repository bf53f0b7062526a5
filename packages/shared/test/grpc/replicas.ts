/** A client of several replicas: a list of addresses, and a name with a record for each replica. */
import dns from 'node:dns';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import { expect } from '@jest/globals';
import { createGrpcClient, type GrpcClient } from '../../src/grpc/client.ts';
import { grpcDefinitions } from '../../src/grpc/load.ts';
import { type GrpcHandlers, type GrpcServer, grpcService, startGrpcServer } from '../../src/grpc/server.ts';
import { createMetrics } from '../../src/kernel/metrics.ts';
import { eventually, testSigner } from '../../src/testing/harness.ts';
import { log, pause } from '../messaging/support.ts';

type GetHiddenUsers = GrpcHandlers<IdentityDefinition>['GetHiddenUsers'];

const definition = grpcDefinitions.identity();
export const NAME = 'identity.replicas.test';
/** Every address of this network leads to this machine. */
export const hostOf = (index: number): string =>
  `127.${100 + Number(process.env.JEST_WORKER_ID ?? 0)}.0.${index + 1}`;
const closers: (() => unknown)[] = [];

/** After each test. */
export const closeAll = async (): Promise<void> => {
  for (const close of closers.splice(0).reverse()) await close();
};

export const startReplica = async (
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

export const connect = (address: string): GrpcClient<IdentityDefinition> => {
  const client = createGrpcClient({ definition, address, target: 'identity', signer: testSigner('content') });
  closers.push(() => client.close());
  return client;
};

/** Addresses to which the system resolves `NAME`. */
export const resolveTo = (hosts: string[]): { hosts: string[] } => {
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

export const ask = async (
  client: GrpcClient<IdentityDefinition>,
  options?: Parameters<typeof client.call>[2],
): Promise<number> => (await client.call('GetHiddenUsers', { ids: [1] }, options)).gone_ids[0] ?? -1;

/** How many of `calls` each replica has served. */
export const distribution = async (
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

export const expectEven = (counts: readonly number[], replicas: number): void => {
  const share = counts.reduce((sum, count) => sum + count, 0) / replicas;
  expect(counts).toHaveLength(replicas);
  for (const count of counts) expect(Math.abs(count - share) / share).toBeLessThanOrEqual(0.2);
};

export const allConnected = (client: GrpcClient<IdentityDefinition>, replicas: number) =>
  eventually(
    async () => new Set(await Promise.all(Array.from({ length: 12 }, () => ask(client)))).size === replicas,
  );
