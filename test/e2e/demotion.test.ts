/**
 * Redis is demoted under load while tokens are revoked, and its connections stay open. No request that begins after the response
 * is admitted, wherever the addresses of identity and the gateway lead.
 */
import { RECORD_LIFETIME_MS } from '@fitness/contracts/credential-epochs.ts';
import { type RedisServer, startRedisServer } from '@fitness/shared/testing/redis-servers.ts';
import { startTcpProxy, type TcpProxy } from '@fitness/shared/testing/tcp-proxy.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { freePorts } from '../../scripts/lib/ports.mjs';
import { cacheOutcomes, keepReading, REVOCATION_WAYS, readMany, readStatus } from './revocation-ways.ts';
import { api, baseUrl, eventually, expectStatus, register, stack } from './support.ts';

const REQUESTS = 600;
const AT_ONCE = 4;
/** Maximum time of an acknowledged revocation on an idle product. */
const USUAL_MS = 1_000;

let primary: RedisServer;
let replica: RedisServer;
/** Addresses of Redis as each process sees it. */
let fromGateway: TcpProxy;
let fromIdentity: TcpProxy;

beforeAll(async () => {
  const [one = 0, other = 0] = await freePorts(2);
  [primary, replica] = await Promise.all([startRedisServer(one), startRedisServer(other)]);
  [fromGateway, fromIdentity] = await Promise.all([startTcpProxy(primary.url), startTcpProxy(primary.url)]);
  await stack().restart('identity', { REDIS_URL: fromIdentity.uri });
  await stack().restart('gateway', { REDIS_URL: fromGateway.uri });
});
afterAll(async () => {
  await Promise.all([stack().restart('identity'), stack().restart('gateway')]);
  await Promise.all([fromGateway.close(), fromIdentity.close()]);
  await Promise.all([primary.close(), replica.close()]);
});

/** Each test begins with the previous test's primary and an up-to-date replica. */
beforeEach(async () => {
  await replica.operator.replicaof('127.0.0.1', String(primary.port));
  await eventually(async () => /^master_link_status:up/m.test(await replica.operator.info('replication')));
});

const hits = async (): Promise<number> =>
  (await cacheOutcomes(stack().part('gateway').operationsUrl ?? '')).hit ?? 0;

const untilRemembered = async (token: string): Promise<void> => {
  const before = await hits();
  await eventually(async () => {
    await readStatus(baseUrl(), token);
    return (await hits()) > before;
  });
};

const logOutMs = async (): Promise<number> => {
  const { token } = await register();
  const startedAt = performance.now();
  expectStatus(await api('POST', '/auth/logout', { token }), 204);
  return performance.now() - startedAt;
};

interface Failover {
  name: string;
  /** Demotes the primary and promotes the replica. */
  begin(): Promise<void>;
  /** Whether the new primary acknowledges the revocations. */
  isAcknowledged: boolean;
}

const exchange = async (): Promise<void> => {
  await primary.demote();
  await replica.promote();
};

const FAILOVERS: readonly Failover[] = [
  {
    name: 'both addresses lead to the new primary',
    begin: async () => {
      await exchange();
      for (const address of [fromGateway, fromIdentity]) address.switchTo(replica.url);
    },
    isAcknowledged: true,
  },
  {
    name: 'Redis carries out the failover itself',
    begin: async () => {
      await primary.operator.call('FAILOVER', 'TO', '127.0.0.1', replica.port);
      await eventually(async () => /^role:master/m.test(await replica.operator.info('replication')));
      for (const address of [fromGateway, fromIdentity]) address.switchTo(replica.url);
    },
    isAcknowledged: true,
  },
  {
    name: 'the connection of the gateway stays at the demoted server, which learns nothing more',
    begin: async () => {
      await exchange();
      fromIdentity.cut();
      fromIdentity.switchTo(replica.url);
      fromIdentity.restore();
    },
    isAcknowledged: true,
  },
  {
    name: 'the address of identity still leads to the demoted server',
    begin: async () => {
      await exchange();
      fromGateway.switchTo(replica.url);
    },
    isAcknowledged: false,
  },
];

describe('requests after a demotion', () => {
  const title = 'no request is admitted after a revocation while $name';
  test.each(FAILOVERS)(title, async ({ begin, isAcknowledged }) => {
    const control = await register();
    const revocations = await Promise.all(
      REVOCATION_WAYS.map(async (way) => ({ way, ...(await way.prepare()) })),
    );
    await untilRemembered(control.token);
    const readers = revocations.map(({ tokens }) => keepReading([baseUrl()], tokens));
    try {
      await eventually(() => readers.every(({ seen }) => seen.admitted > 10));
      const revoke = async (index: number) => {
        const { way, revoke: send } = revocations[index] as (typeof revocations)[number];
        const startedAt = performance.now();
        expect([way.name, await send()]).toEqual([way.name, way.status]);
        readers[index]?.revoked();
        return performance.now() - startedAt;
      };
      const half = revocations.length / 2;
      const indexes = revocations.map((_revocation, index) => index);
      // Some revocations happen during the demotion, the others after it.
      const early = Promise.all(indexes.slice(0, half).map(revoke));
      await begin();
      const took = await Promise.all(indexes.slice(half).map(revoke));
      await early;
      for (const tookMs of took) expect(tookMs > RECORD_LIFETIME_MS).toBe(!isAcknowledged);
      const share = Math.ceil(REQUESTS / revocations.length);
      const statuses = await Promise.all(
        revocations.map(({ tokens }) => readMany([baseUrl()], tokens, share, AT_ONCE)),
      );
      expect([...new Set(statuses.flatMap((each) => [...each.keys()]))]).toEqual([401]);
      expect(await readStatus(baseUrl(), control.token)).toBe(200);
    } finally {
      await Promise.all(readers.map(({ stop }) => stop()));
      [primary, replica] = [replica, primary];
      for (const address of [fromGateway, fromIdentity]) address.switchTo(primary.url);
    }
    expect(readers.flatMap(({ seen }) => seen.late)).toEqual([]);

    expect(await logOutMs()).toBeLessThan(RECORD_LIFETIME_MS);
    await eventually(async () => (await logOutMs()) < USUAL_MS);
    await untilRemembered(control.token);
  });
});
