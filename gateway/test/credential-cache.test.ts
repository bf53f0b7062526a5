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
/** The connection of the gateway, through the proxy. */
let redis: Redis;
/** The connection of identity. */
let identity: Redis;

beforeAll(async () => {
  proxy = await startTcpProxy(testServers().REDIS_URL);
  redis = await connectRedis({ url: proxy.uri, commandTimeoutMs: 200, socketTimeoutMs: 500 });
  // Each test creates a cache that adds a listener.
  redis.setMaxListeners(0);
  identity = await connectRedis({ url: testServers().REDIS_URL });
});
afterAll(async () => {
  redis.disconnect();
  identity.disconnect();
  await proxy.close();
});

/** Advances an epoch, like identity after a commit. */
const advance = (subject: number | 'roles', epoch: string = systemRandom.uuid()) =>
  identity.set(epochKey(namespace, subject), epoch, 'EX', 60);

const createCache = ({ validForMs = 60_000, maxTokens = 100 } = {}) => {
  const cache = {
    now: 0,
    logged: [] as string[],
    /** Number of introspections. */
    introspections: 0,
    isRevoked: false,
    /** The store id in identity's responses. */
    storeId: STORE,
    /** Runs during an introspection, after the database was read. */
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
      cache.introspections += 1;
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
  /** Repeats a request until it is answered from the cache. */
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

describe('a cached record', () => {
  test('a record replaces introspections from the third request on', async () => {
    const cache = createCache();
    for (let time = 0; time < 10; time += 1) expect(await cache.ask()).toBe(USER);
    expect(cache.introspections).toBe(2);
    expect(await cache.counted()).toEqual({ miss: 2, hit: 8 });
  });

  test('a record returns the same caller object each time', async () => {
    const cache = createCache();
    await cache.warm();
    expect(await cache.callerOf('a token')).toBe(await cache.callerOf('a token'));
  });

  test('a record ends with the epoch of its user, not of another user', async () => {
    const cache = createCache();
    await cache.warm();
    await cache.warm('other');
    await advance(USER);
    const before = cache.introspections;
    expect(await cache.ask('other')).toBe(USER + 1);
    expect(cache.introspections).toBe(before);
    cache.isRevoked = true;
    expect(await cache.ask()).toBe(401);
  });

  test('a record ends with the epoch of the roles', async () => {
    const cache = createCache();
    await cache.warm();
    await advance('roles');
    cache.isRevoked = true;
    expect(await cache.ask()).toBe(401);
  });

  test('a record ends if the epochs are lost', async () => {
    const cache = createCache();
    await cache.warm();
    await identity.del(epochKey(namespace, USER), epochKey(namespace, 'roles'));
    cache.isRevoked = true;
    expect(await cache.ask()).toBe(401);
  });

  test.each([
    ['five seconds after the request for it', 60_000, RECORD_LIFETIME_MS],
    ['together with its token', 1_200, 1_200],
  ])('a record ends %s', async (_name, validForMs, lifetimeMs) => {
    const cache = createCache({ validForMs });
    await cache.warm();
    cache.isRevoked = true;
    cache.now = lifetimeMs - 1;
    expect(await cache.ask()).toBe(USER);
    cache.now = lifetimeMs;
    expect(await cache.ask()).toBe(401);
  });

  test('the lifetime of a record begins before the call to identity', async () => {
    const cache = createCache();
    await cache.ask();
    cache.afterRead = async () => {
      cache.now = RECORD_LIFETIME_MS;
    };
    await cache.ask();
    const before = cache.introspections;
    await cache.ask();
    expect(cache.introspections).toBe(before + 1);
  });

  test('the result of an introspection that a revocation overtook is not used', async () => {
    const cache = createCache();
    await cache.ask();
    cache.afterRead = async () => {
      // The revocation is committed after identity has read the database, and before its response arrives.
      cache.isRevoked = true;
      await advance(USER);
    };
    expect(await cache.ask()).toBe(USER);
    cache.afterRead = async () => undefined;
    expect(await cache.ask()).toBe(401);
  });

  test('no record is created while a revocation is being committed', async () => {
    const cache = createCache();
    await cache.warm();
    await advance(USER, REVOKING);
    const before = cache.introspections;
    await cache.warm();
    expect(cache.introspections).toBe(before + 3);
    expect(await identity.get(epochKey(namespace, USER))).toBe(REVOKING);
  });

  test('the number of records is limited', async () => {
    const cache = createCache({ maxTokens: 2 });
    for (const token of ['a', 'b', 'c']) await cache.warm(token);
    const before = cache.introspections;
    await cache.ask('c');
    expect(cache.introspections).toBe(before);
    await cache.ask('a');
    expect(cache.introspections).toBe(before + 1);
  });

  test('no record is created from a failure', async () => {
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

describe('a mismatch of Redis or namespace', () => {
  test.each([
    ['another store id', 'another id', { miss: 1, mismatch: 9 }],
    ['no store id, like an older release', '', { miss: 10 }],
  ])('nothing is cached if identity returns %s', async (_name, storeId, counted) => {
    const cache = createCache();
    cache.storeId = storeId;
    for (let time = 0; time < 10; time += 1) expect(await cache.ask()).toBe(USER);
    expect(cache.introspections).toBe(10);
    expect(await cache.counted()).toEqual(counted);
  });

  test('a mismatch is logged if it lasts, and then once per minute', async () => {
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

  test('a lost store id is replaced permanently, and caching resumes once identity has the new id', async () => {
    const cache = createCache();
    await cache.warm();
    await identity.del(...(['store', 'roles', USER] as const).map((subject) => epochKey(namespace, subject)));
    await cache.warm();
    const storeId = await identity.get(epochKey(namespace, 'store'));
    expect(storeId).not.toBeNull();
    expect(await identity.ttl(epochKey(namespace, 'store'))).toBe(-1);
    cache.storeId = storeId ?? '';
    await cache.warm();
    const before = cache.introspections;
    await cache.warm();
    expect(cache.introspections).toBe(before);
    cache.now = 60_000;
    await cache.warm();
    expect(cache.logged).toEqual([]);
  });
});

describe('an outage of Redis', () => {
  test('identity is called without Redis, and a silent Redis delays few requests', async () => {
    const cache = createCache();
    await cache.warm();
    proxy.hold();
    const before = cache.introspections;
    const startedAt = performance.now();
    for (let time = 0; time < 100; time += 1) expect(await cache.ask()).toBe(USER);
    expect(cache.introspections).toBe(before + 100);
    // 100 delays would take 20 s.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    proxy.restore();
    await eventually(async () => {
      const before = cache.introspections;
      await cache.ask();
      return cache.introspections === before;
    });
  });

  test('a record of an earlier connection is not used, even if the epochs are the same', async () => {
    const cache = createCache();
    await cache.warm();
    const epoch = await identity.get(epochKey(namespace, USER));
    proxy.cut();
    proxy.restore();
    await eventually(() => redis.status === 'ready');
    // Simulates a restored snapshot: the token was revoked meanwhile, but the epoch is the earlier one.
    cache.isRevoked = true;
    expect(await identity.get(epochKey(namespace, USER))).toBe(epoch);
    expect(await cache.ask()).toBe(401);
  });
});

test('a reader that races with a revocation never accepts a revoked token', async () => {
  const cache = createCache();
  let revokedAt = Number.POSITIVE_INFINITY;
  let [late, hits, reads] = [0, 0, 0];
  let isStopped = false;
  const reader = async (index: number): Promise<void> => {
    while (!isStopped) {
      const startedAt = performance.now();
      const before = cache.introspections;
      const isLive = (await cache.ask(`token ${index % 5}`)) === USER;
      if (isLive && startedAt > revokedAt) late += 1;
      if (cache.introspections === before) hits += 1;
      reads += 1;
    }
  };
  // The introspection takes time, like a real one.
  cache.afterRead = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
  const readers = Array.from({ length: 20 }, (_, index) => reader(index));
  try {
    for (let round = 0; round < 40; round += 1) {
      const target = reads + 100;
      await eventually(() => reads >= target, { intervalMs: 1 });
      cache.isRevoked = true;
      await advance(USER);
      revokedAt = performance.now();
      const laterTarget = reads + 100;
      await eventually(() => reads >= laterTarget, { intervalMs: 1 });
      revokedAt = Number.POSITIVE_INFINITY;
      cache.isRevoked = false;
    }
  } finally {
    isStopped = true;
    await Promise.all(readers);
  }
  expect(late).toBe(0);
  expect(hits).toBeGreaterThan(1_000);
});

describe('the cache of a gateway', () => {
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

  test('the gateway forwards the whole caller of a record until the token is revoked', async () => {
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
