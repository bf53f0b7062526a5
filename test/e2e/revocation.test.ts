/** No request that begins after the response to a revocation is admitted, although the gateway caches tokens. */
import { connectRedis, type Redis } from '@fitness/shared/runtime/redis.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { cacheOutcomes, keepReading, REVOCATION_WAYS, readMany, readStatus } from './revocation-ways.ts';
import { administratorToken, api, baseUrl, eventually, expectStatus, register, stack } from './support.ts';

const outcomes = async (): Promise<Record<string, number>> => {
  const gateways = stack().replicas('gateway');
  const each = await Promise.all(gateways.map(({ operationsUrl = '' }) => cacheOutcomes(operationsUrl)));
  const all: Record<string, number> = {};
  for (const [name, count] of each.flatMap(Object.entries)) all[name] = (all[name] ?? 0) + Number(count);
  return all;
};
const hits = async (): Promise<number> => (await outcomes()).hit ?? 0;

describe('revocations', () => {
  test.each(REVOCATION_WAYS)(
    'a request with the token is rejected with 401 after $name',
    async ({ prepare, status }) => {
      const { tokens, revoke } = await prepare();
      const before = await hits();
      const readers = keepReading([baseUrl()], tokens);
      try {
        await eventually(async () => (await hits()) > before + 10);
        expect(await revoke()).toBe(status);
        readers.revoked();
        expect([...(await readMany([baseUrl()], tokens, 100, 10)).keys()]).toEqual([401]);
      } finally {
        await readers.stop();
      }
      expect(readers.seen.late).toEqual([]);
      expect(readers.seen.refused).toBeGreaterThan(0);
    },
  );
});

describe('changes of permissions', () => {
  /** A route that needs `payments.view_all`. */
  const OF_OTHERS = '/payments/balance?user_id=1';
  const readOthers = async (token: string): Promise<number> =>
    (await api('GET', OF_OTHERS, { token })).status;
  const roleOf = async (administrator: string, roleName: string) => {
    const { data } = expectStatus(await api('GET', '/roles', { token: administrator }), 200).body;
    return data.find(({ name }: { name: string }) => name === roleName) as {
      id: number;
      permissions: string[];
    };
  };

  test("every request has the new permissions after a change of a user's roles or of a role", async () => {
    const [administrator, { id, token }] = [await administratorToken(), await register()];
    const put = async (path: string, body: unknown) =>
      expectStatus(await api('PUT', path, { token: administrator, body }), 200);
    const [operator, member] = [
      await roleOf(administrator, 'operator'),
      await roleOf(administrator, 'member'),
    ];
    const statuses = async (): Promise<number[]> => {
      const all = await Promise.all(Array.from({ length: 20 }, () => readOthers(token)));
      return [...new Set(all)];
    };
    for (let round = 0; round < 3; round += 1) {
      await put(`/users/${id}`, { role_ids: [operator.id] });
      expect(await statuses()).toEqual([200]);
      await put(`/users/${id}`, { role_ids: [member.id] });
      expect(await statuses()).toEqual([403]);
    }
    await put(`/users/${id}`, { role_ids: [operator.id] });
    const fewer = operator.permissions.filter((permission) => permission !== 'payments.view_all');
    try {
      expect(await statuses()).toEqual([200]);
      await put(`/roles/${operator.id}`, { permissions: fewer });
      expect(await statuses()).toEqual([403]);
    } finally {
      await put(`/roles/${operator.id}`, { permissions: operator.permissions });
    }
    expect(await statuses()).toEqual([200]);
  });
});

/** A replica knows only old epochs and would never learn of a revocation. */
describe('a Redis that is a replica', () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await connectRedis({ url: stack().describe().servers.REDIS_URL });
  });
  afterAll(async () => redis.disconnect());
  /** The distinct states that the gateways report. */
  const statesAtGateways = async (): Promise<string[]> => {
    const states = stack()
      .replicas('gateway')
      .map(async ({ url }) => {
        const { dependencies } = (await (await fetch(`${url}/health/ready`)).json()) as {
          dependencies: { redis: { state: string } };
        };
        return dependencies.redis.state;
      });
    return [...new Set(await Promise.all(states))];
  };
  // Each gateway detects the state independently.
  const untilGatewaysSay = (state: string): Promise<unknown> =>
    eventually(async () => (await statesAtGateways()).join() === state);

  test('no gateway uses a Redis that is a replica until it is a primary again', async () => {
    const { token } = await register();
    const isRemembered = async (): Promise<boolean> => {
      const before = await hits();
      expect(await readStatus(baseUrl(), token)).toBe(200);
      return (await hits()) > before;
    };
    await eventually(isRemembered);
    await untilGatewaysSay('up');
    await redis.replicaof('127.0.0.1', '1');
    try {
      for (let time = 0; time < 20; time += 1) expect(await isRemembered()).toBe(false);
      expect(await statesAtGateways()).toEqual(['down']);
      const { token: other } = await register();
      expectStatus(await api('POST', '/auth/logout', { token: other }), 204);
      expect(await readStatus(baseUrl(), other)).toBe(401);
    } finally {
      await redis.replicaof('NO', 'ONE');
    }
    await eventually(isRemembered);
    await untilGatewaysSay('up');
  });
});

/** Nobody advances the epochs that such a gateway reads. */
describe.each([
  // The user may read the keys of every namespace.
  [
    'namespace',
    () => ({ EVENTS_NAMESPACE: 'another', REDIS_URL: stack().describe().servers.REDIS_URL ?? '' }),
  ],
  ['Redis', () => ({ REDIS_URL: `${stack().describe().servers.REDIS_URL}/1` })],
])('a gateway with another %s than identity', (_name, environment) => {
  beforeAll(() => stack().restart('gateway', environment()));
  afterAll(() => stack().restart('gateway'));

  test('the gateway caches no token and reports the mismatch', async () => {
    const { token } = await register();
    for (let time = 0; time < 10; time += 1) expect(await readStatus(baseUrl(), token)).toBe(200);
    expectStatus(await api('POST', '/auth/logout', { token }), 204);
    expect([...(await readMany([baseUrl()], [token], 100, 10)).keys()]).toEqual([401]);
    const counted = await outcomes();
    expect(counted.hit).toBe(0);
    expect(counted.mismatch).toBeGreaterThan(0);
  });
});
