import { epochKey, RECORD_LIFETIME_MS, REVOKING } from '@fitness/contracts/credential-epochs.ts';
import { systemRandom } from '@fitness/shared/kernel/clock.ts';
import { unauthenticated, unavailable } from '@fitness/shared/kernel/error.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { createMetrics } from '@fitness/shared/kernel/metrics.ts';
import { connectRedis, type Redis } from '@fitness/shared/runtime/redis.ts';
import { caller, eventually, testServers } from '@fitness/shared/testing/harness.ts';
import { startTcpProxy, type TcpProxy } from '@fitness/shared/testing/tcp-proxy.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createCredentialCache } from '../src/request/credential-cache.ts';
import { createCredentialEpochs } from '../src/request/credential-epochs.ts';
import { bearer, type Harness, MEMBER_TOKEN, startHarness } from './support.ts';

const USER = 7;
const STORE = 'an id';
let namespace = '';
let proxy: TcpProxy;
/** Of the gateway, through the proxy. */
let redis: Redis;
/** Of identity. */
let identity: Redis;

beforeAll(async () => {
  proxy = await startTcpProxy(testServers().REDIS_URL);
  redis = await connectRedis({ url: proxy.uri, commandTimeoutMs: 200, socketTimeoutMs: 500 });
  // Each cache of a test listens.
  redis.setMaxListeners(0);
  identity = await connectRedis({ url: testServers().REDIS_URL });
});
afterAll(async () => {
  redis.disconnect();
  identity.disconnect();
  await proxy.close();
});

/** What identity does after a commit. */
const advance = (subject: number | 'roles', epoch: string = systemRandom.uuid()) =>
  identity.set(epochKey(namespace, subject), epoch, 'EX', 60);

const createCache = ({ validForMs = 60_000, maxTokens = 100 } = {}) => {
  const cache = {
    now: 0,
    logged: [] as string[],
    /** Introspections. */
    asked: 0,
    isRevoked: false,
    /** What identity tells. */
    storeId: STORE,
    /** Runs in the introspection, after the database was read. */
    afterRead: async (): Promise<void> => undefined,
    outcomes: createMetrics('test', { defaults: false }).counter({
      name: 'outcomes',
      help: 'of the cache',
      labels: { outcome: [] },
    }),
  };
  const callerOf = createCredentialCache({
    epochs: createCredentialEpochs({ redis, namespace, random: systemRandom }),
    introspect: async (token) => {
      cache.asked += 1;
      const { isRevoked } = cache;
      await cache.afterRead();
      if (isRevoked) throw unauthenticated();
      const userId = token.startsWith('other') ? USER + 1 : USER;
      return { caller: caller(userId), validForMs, epochStoreId: cache.storeId };
    },
    counter: cache.outcomes,
    log: {
      ...createLog({ service: 'test', level: 'silent' }),
      error: (message: string) => cache.logged.push(message),
    },
    monotonicMs: () => cache.now,
    maxTokens,
  });
  const ask = async (token = 'a token'): Promise<number> => {
    try {
      return (await callerOf(token)).userId;
    } catch (error) {
      if ((error as { kind?: string }).kind === 'unauthenticated') return 401;
      throw error;
    }
  };
  /** As often as needed until identity is not asked any more. */
  const warm = async (token?: string): Promise<void> => {
    for (let time = 0; time < 3; time += 1) await ask(token);
  };
  const counted = async () =>
    Object.fromEntries(
      (await cache.outcomes.get()).values.map(({ labels, value }) => [labels.outcome, value]),
    );
  return Object.assign(cache, { callerOf, ask, warm, counted });
};

beforeEach(async () => {
  namespace = `cache-${systemRandom.uuid().slice(0, 8)}`;
  await identity.set(epochKey(namespace, 'store'), STORE, 'EX', 60);
});

describe('a record', () => {
  test('replaces introspections from the third request on', async () => {
    const cache = createCache();
    for (let time = 0; time < 10; time += 1) expect(await cache.ask()).toBe(USER);
    expect(cache.asked).toBe(2);
    expect(await cache.counted()).toEqual({ miss: 2, hit: 8 });
  });

  test('gives the same caller each time', async () => {
    const cache = createCache();
    await cache.warm();
    expect(await cache.callerOf('a token')).toBe(await cache.callerOf('a token'));
  });

  test('ends with the epoch of its user, and not with that of somebody else', async () => {
    const cache = createCache();
    await cache.warm();
    await cache.warm('other');
    await advance(USER);
    const before = cache.asked;
    expect(await cache.ask('other')).toBe(USER + 1);
    expect(cache.asked).toBe(before);
    cache.isRevoked = true;
    expect(await cache.ask()).toBe(401);
  });

  test('ends with the epoch of the roles', async () => {
    const cache = createCache();
    await cache.warm();
    await advance('roles');
    cache.isRevoked = true;
    expect(await cache.ask()).toBe(401);
  });

  test('ends when the epochs are lost', async () => {
    const cache = createCache();
    await cache.warm();
    await identity.del(epochKey(namespace, USER), epochKey(namespace, 'roles'));
    cache.isRevoked = true;
    expect(await cache.ask()).toBe(401);
  });

  test.each([
    ['five seconds after it was asked for', 60_000, RECORD_LIFETIME_MS],
    ['with the token', 1_200, 1_200],
  ])('ends %s', async (_name, validForMs, lifetimeMs) => {
    const cache = createCache({ validForMs });
    await cache.warm();
    cache.isRevoked = true;
    cache.now = lifetimeMs - 1;
    expect(await cache.ask()).toBe(USER);
    cache.now = lifetimeMs;
    expect(await cache.ask()).toBe(401);
  });

  test('counts its lifetime from before identity was asked', async () => {
    const cache = createCache();
    await cache.ask();
    cache.afterRead = async () => {
      cache.now = RECORD_LIFETIME_MS;
    };
    await cache.ask();
    const before = cache.asked;
    await cache.ask();
    expect(cache.asked).toBe(before + 1);
  });

  test('of an introspection that a revocation has overtaken is not used', async () => {
    const cache = createCache();
    await cache.ask();
    cache.afterRead = async () => {
      // Committed and advanced after identity has read the database, before the answer arrives.
      cache.isRevoked = true;
      await advance(USER);
    };
    expect(await cache.ask()).toBe(USER);
    cache.afterRead = async () => undefined;
    expect(await cache.ask()).toBe(401);
  });

  test('is not made while a revocation is being committed', async () => {
    const cache = createCache();
    await cache.warm();
    await advance(USER, REVOKING);
    const before = cache.asked;
    await cache.warm();
    expect(cache.asked).toBe(before + 3);
    expect(await identity.get(epochKey(namespace, USER))).toBe(REVOKING);
  });

  test('is kept of so many tokens only', async () => {
    const cache = createCache({ maxTokens: 2 });
    for (const token of ['a', 'b', 'c']) await cache.warm(token);
    const before = cache.asked;
    await cache.ask('c');
    expect(cache.asked).toBe(before);
    await cache.ask('a');
    expect(cache.asked).toBe(before + 1);
  });

  test('is not made of a failure', async () => {
    const cache = createCache();
    await cache.warm();
    await advance(USER);
    cache.afterRead = async () => {
      throw unavailable('identity is down');
    };
    await expect(cache.ask()).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(cache.ask()).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('while identity uses another Redis or namespace', () => {
  test.each([
    ['tells another id', 'another id', { miss: 1, mismatch: 9 }],
    ['tells none, as an older one', '', { miss: 10 }],
  ])('and %s, nothing is kept', async (_name, storeId, counted) => {
    const cache = createCache();
    cache.storeId = storeId;
    for (let time = 0; time < 10; time += 1) expect(await cache.ask()).toBe(USER);
    expect(cache.asked).toBe(10);
    expect(await cache.counted()).toEqual(counted);
  });

  test('it is logged when it lasts, and once in a minute', async () => {
    const cache = createCache();
    cache.storeId = 'another id';
    const loggedAt = async (now: number): Promise<number> => {
      cache.now = now;
      await cache.warm();
      return cache.logged.length;
    };
    expect(await loggedAt(0)).toBe(0);
    expect(await loggedAt(9_999)).toBe(0);
    expect(await loggedAt(10_000)).toBe(1);
    expect(cache.logged[0]).toMatch(/REDIS_URL.*EVENTS_NAMESPACE/);
    expect(await loggedAt(69_999)).toBe(1);
    expect(await loggedAt(70_000)).toBe(2);
  });

  test('a lost id is replaced, for good, and tokens are remembered when identity knows it', async () => {
    const cache = createCache();
    await cache.warm();
    await identity.del(...(['store', 'roles', USER] as const).map((subject) => epochKey(namespace, subject)));
    await cache.warm();
    const storeId = await identity.get(epochKey(namespace, 'store'));
    expect(storeId).not.toBeNull();
    expect(await identity.ttl(epochKey(namespace, 'store'))).toBe(-1);
    cache.storeId = storeId ?? '';
    await cache.warm();
    const before = cache.asked;
    await cache.warm();
    expect(cache.asked).toBe(before);
    cache.now = 60_000;
    await cache.warm();
    expect(cache.logged).toEqual([]);
  });
});

describe('without an answer of Redis', () => {
  test('identity is asked; a silent Redis delays few requests', async () => {
    const cache = createCache();
    await cache.warm();
    proxy.hold();
    const before = cache.asked;
    const startedAt = performance.now();
    for (let time = 0; time < 100; time += 1) expect(await cache.ask()).toBe(USER);
    expect(cache.asked).toBe(before + 100);
    // 100 delays would take 20 s.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    proxy.restore();
    await eventually(async () => {
      const asked = cache.asked;
      await cache.ask();
      return cache.asked === asked;
    });
  });

  test('a record of an earlier connection is not used, also when the epochs are the same', async () => {
    const cache = createCache();
    await cache.warm();
    const epoch = await identity.get(epochKey(namespace, USER));
    proxy.cut();
    proxy.restore();
    await eventually(() => redis.status === 'ready');
    // What a restored snapshot looks like: revoked meanwhile, and the epoch is that of before.
    cache.isRevoked = true;
    expect(await identity.get(epochKey(namespace, USER))).toBe(epoch);
    expect(await cache.ask()).toBe(401);
  });
});

test('readers that race with revocations are never late', async () => {
  const cache = createCache();
  let revokedAt = Number.POSITIVE_INFINITY;
  let [late, hits, asked] = [0, 0, 0];
  let isOver = false;
  const reader = async (index: number): Promise<void> => {
    while (!isOver) {
      const startedAt = performance.now();
      const before = cache.asked;
      const isLive = (await cache.ask(`token ${index % 5}`)) === USER;
      if (isLive && startedAt > revokedAt) late += 1;
      if (cache.asked === before) hits += 1;
      asked += 1;
    }
  };
  // Time passes in the introspection, as in a real one.
  cache.afterRead = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
  const readers = Array.from({ length: 20 }, (_, index) => reader(index));
  try {
    for (let round = 0; round < 40; round += 1) {
      const wanted = asked + 100;
      await eventually(() => asked >= wanted, { intervalMs: 1 });
      cache.isRevoked = true;
      await advance(USER);
      revokedAt = performance.now();
      const refused = asked + 100;
      await eventually(() => asked >= refused, { intervalMs: 1 });
      revokedAt = Number.POSITIVE_INFINITY;
      cache.isRevoked = false;
    }
  } finally {
    isOver = true;
    await Promise.all(readers);
  }
  expect(late).toBe(0);
  expect(hits).toBeGreaterThan(1_000);
});

describe('the gateway', () => {
  const gatewayNamespace = `cache-gateway-${process.pid}`;
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({
      REDIS_URL: testServers().REDIS_URL,
      EVENTS_NAMESPACE: gatewayNamespace,
    });
  });
  afterAll(() => harness.close());
  const ask = async (): Promise<number> =>
    (await fetch(`${harness.url}/api/v1/posts`, { headers: bearer() })).status;

  test('forwards the whole caller of a record, until it is revoked', async () => {
    const staff = { ...caller(9, ['posts.view']), withheld: new Set(['roles.manage'] as const) };
    harness.tokens.set(MEMBER_TOKEN, staff);
    await eventually(async () => {
      await ask();
      harness.epochStoreId = (await identity.get(epochKey(gatewayNamespace, 'store'))) ?? '';
      return harness.epochStoreId !== '';
    });
    await eventually(async () => {
      const before = harness.introspections();
      return (await ask()) === 200 && harness.introspections() === before;
    });
    expect(harness.upstreams.content.received.at(-1)?.caller).toEqual(staff);
    harness.tokens.delete(MEMBER_TOKEN);
    namespace = gatewayNamespace;
    await advance(9);
    expect(await ask()).toBe(401);
    const metrics = await (await fetch(`${harness.operationsUrl}/metrics`)).text();
    expect(metrics).toMatch(/credential_cache_total\{outcome="hit",service="gateway"\} [1-9]/);
  });
});
