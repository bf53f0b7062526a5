import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { type AdvancingClock, systemClock, systemRandom } from '../../src/kernel/clock.ts';
import type { RateLimit, RateLimitState } from '../../src/kernel/rate-limit.ts';
import { type RateLimiter, rateLimited, rateLimitHeaders } from '../../src/kernel/rate-limit.ts';
import type { Connection } from '../../src/mongo/connect.ts';
import { createRateLimitIndexes } from '../../src/mongo/rate-limit-windows.ts';
import { createRateLimiter } from '../../src/runtime/rate-limiter.ts';
import { connectRedis, type Redis } from '../../src/runtime/redis.ts';
import { dropDatabase, log, openDatabase, pause, redisUrl, until } from '../messaging/support.ts';

const CLOSED_PORT = 'redis://127.0.0.1:1';
const POINTS = 17;
const REQUESTS = 40;

let connection: Connection;
const redises: Redis[] = [];
const proxies: Server[] = [];

beforeAll(async () => {
  connection = await openDatabase();
});

afterEach(() => {
  for (const redis of redises.splice(0)) redis.disconnect();
  for (const proxy of proxies.splice(0)) proxy.close();
});

afterAll(() => dropDatabase(connection));

const limit = (overrides: Partial<RateLimit> = {}): RateLimit => ({
  name: systemRandom.uuid(),
  points: POINTS,
  windowS: 60,
  ...overrides,
});

/** One replica: its own Redis client and limiter. */
const replica = async (url: string, keyPrefix: string, fallback = connection): Promise<RateLimiter> => {
  const redis = await connectRedis({ url, log });
  redises.push(redis);
  return createRateLimiter({ redis, connection: fallback, keyPrefix });
};

const twoReplicas = async (url: string): Promise<[RateLimiter, RateLimiter]> => {
  const prefix = `test-${systemRandom.uuid()}`;
  return Promise.all([replica(url, prefix), replica(url, prefix)]);
};

const consumeAtOnce = (
  limiters: readonly RateLimiter[],
  budget: RateLimit,
  requests = REQUESTS,
): Promise<RateLimitState[]> =>
  Promise.all(
    Array.from(
      { length: requests },
      (_, i) => limiters[i % limiters.length]?.consume(budget, 'user:1') as Promise<RateLimitState>,
    ),
  );

const allowedCount = (states: RateLimitState[]): number => states.filter(({ allowed }) => allowed).length;

/** Redis behind a proxy that can close its connections, or stop responding. */
const redisWire = async () => {
  const { hostname, port } = new URL(redisUrl());
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = dial(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.pipe(upstream).pipe(client);
  });
  proxies.push(proxy);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `redis://127.0.0.1:${address.port}`,
    cut: () => {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
    silence: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
};

describe('with Redis', () => {
  test('exactly the limit is allowed of 40 concurrent requests to two replicas', async () => {
    const states = await consumeAtOnce(await twoReplicas(redisUrl()), limit());
    expect(allowedCount(states)).toBe(POINTS);
  });

  test('each key and each name has its own budget', async () => {
    const [limiter] = await twoReplicas(redisUrl());
    const budget = limit({ points: 1 });
    const states = [
      await limiter.consume(budget, 'user:1'),
      await limiter.consume(budget, 'user:1'),
      await limiter.consume(budget, 'user:2'),
      await limiter.consume(limit({ points: 1 }), 'user:1'),
    ];
    expect(states.map(({ allowed }) => allowed)).toEqual([true, false, true, true]);
  });

  test('the state counts down to 0 and appears in the headers and the error', async () => {
    const [limiter] = await twoReplicas(redisUrl());
    const budget = limit({ points: 2, windowS: 30 });
    const states = await consumeAtOnce([limiter], budget, 3);
    expect(states.map(({ remaining }) => remaining)).toEqual([1, 0, 0]);
    const last = states[2] as RateLimitState;
    expect(last).toMatchObject({ allowed: false, limit: 2 });
    expect(last.resetS).toBeGreaterThan(27);
    expect(last.resetS).toBeLessThanOrEqual(30);
    expect(rateLimitHeaders(last)).toEqual({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0' });
    expect(rateLimited(last)).toMatchObject({
      kind: 'rate_limited',
      retryAfterS: last.resetS,
      headers: rateLimitHeaders(last),
    });
  });

  test('looking at a budget in Redis takes nothing from it', async () => {
    const [limiter, other] = await twoReplicas(redisUrl());
    const budget = limit({ points: 2 });
    const seen = async () => {
      const { allowed, remaining } = await other.peek(budget, 'user:1');
      return [allowed, remaining];
    };
    expect(await seen()).toEqual([true, 2]);
    await limiter.consume(budget, 'user:1');
    expect(await seen()).toEqual([true, 1]);
    await consumeAtOnce([limiter], budget, 3);
    expect(await seen()).toEqual([false, 0]);
  });

  test('a new window has the full budget', async () => {
    const [limiter] = await twoReplicas(redisUrl());
    const budget = limit({ points: 1, windowS: 1 });
    expect(allowedCount(await consumeAtOnce([limiter], budget, 3))).toBe(1);
    // On a stalled machine the three may fall into two windows.
    await until(async () => allowedCount(await consumeAtOnce([limiter], budget, 3)) === 1);
  });
});

describe('without Redis', () => {
  test('exactly the limit is allowed of the first 40 concurrent requests in a new collection', async () => {
    const cold = await openDatabase();
    try {
      await createRateLimitIndexes(cold);
      const prefix = `test-${systemRandom.uuid()}`;
      const replicas = await Promise.all([
        replica(CLOSED_PORT, prefix, cold),
        replica(CLOSED_PORT, prefix, cold),
      ]);
      expect(allowedCount(await consumeAtOnce(replicas, limit()))).toBe(POINTS);
    } finally {
      await dropDatabase(cold);
    }
  });

  test('exactly the limit is allowed again after a window of 40 concurrent requests', async () => {
    await createRateLimitIndexes(connection);
    const replicas = await twoReplicas(CLOSED_PORT);
    const budget = limit();
    expect(allowedCount(await consumeAtOnce(replicas, budget))).toBe(POINTS);
    // The TTL monitor deletes ended windows later: the old row still exists.
    const ended = await connection
      .collection('rate_limits')
      .updateOne({ _id: { $regex: budget.name } as never }, { $set: { expire: new Date('2026-01-01') } });
    expect(ended.modifiedCount).toBe(1);
    expect(allowedCount(await consumeAtOnce(replicas, budget))).toBe(POINTS);
  });

  test('looking at a budget in MongoDB takes nothing from it', async () => {
    await createRateLimitIndexes(connection);
    const [limiter, other] = await twoReplicas(CLOSED_PORT);
    const budget = limit({ points: 2 });
    expect(await other.peek(budget, 'user:1')).toMatchObject({ allowed: true, remaining: 2, resetS: 60 });
    await limiter.consume(budget, 'user:1');
    expect(await other.peek(budget, 'user:1')).toMatchObject({ allowed: true, remaining: 1 });
    await limiter.consume(budget, 'user:1');
    expect(await other.peek(budget, 'user:1')).toMatchObject({ allowed: false, remaining: 0 });
    const ended = { $set: { expire: new Date('2026-01-01') } };
    await connection.collection('rate_limits').updateOne({ _id: { $regex: budget.name } as never }, ended);
    expect(await other.peek(budget, 'user:1')).toMatchObject({ allowed: true, remaining: 2 });
  });

  test('points that are given back can be taken again, and never more than the limit', async () => {
    await createRateLimitIndexes(connection);
    const replicas = await twoReplicas(CLOSED_PORT);
    const budget = { ...limit(), durable: true as const };
    expect(allowedCount(await consumeAtOnce(replicas, budget))).toBe(POINTS);
    await Promise.all(Array.from({ length: 7 }, () => replicas[0].giveBack(budget, 'user:1')));
    expect(allowedCount(await consumeAtOnce(replicas, budget))).toBe(7);
    const overmuch = Array.from({ length: POINTS + 5 }, () => replicas[1].giveBack(budget, 'user:1'));
    await Promise.all(overmuch);
    expect(allowedCount(await consumeAtOnce(replicas, budget))).toBe(POINTS);
    // An ended window gets nothing back.
    const ended = { $set: { expire: new Date('2026-01-01') } };
    await connection.collection('rate_limits').updateOne({ _id: { $regex: budget.name } as never }, ended);
    await replicas[0].giveBack(budget, 'user:1');
    await replicas[0].giveBack(budget, 'user:2');
    expect(await replicas[1].peek(budget, 'user:1')).toMatchObject({ remaining: POINTS });
    expect(allowedCount(await consumeAtOnce(replicas, budget))).toBe(POINTS);
  });

  test('a request without Redis and MongoDB fails with 503, not 500', async () => {
    const gone = await openDatabase();
    const limiter = await replica(CLOSED_PORT, 'test-gone', gone);
    await dropDatabase(gone);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => limiter.consume(limit(), 'user:1')),
    );
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'unavailable' } });
    }
  });
});

test('a durable budget continues in the same window when Redis is lost', async () => {
  await createRateLimitIndexes(connection);
  const wire = await redisWire();
  const replicas = await twoReplicas(wire.url);
  const budget = limit({ durable: true });
  const before = await consumeAtOnce(replicas, budget, 10);
  wire.cut();
  const after = await consumeAtOnce(replicas, budget);
  expect([allowedCount(before), allowedCount(after)]).toEqual([10, POINTS - 10]);
});

describe('an ended window, with a clock that nothing has advanced', () => {
  test('reading an ended window writes nothing to Redis', async () => {
    const prefix = `test-${systemRandom.uuid()}`;
    const limiter = await replica(redisUrl(), prefix);
    const budget = limit();
    const key = `${prefix}:limit:${budget.name}:user:1`;
    const [redis] = redises;
    // The library reads -1 as the time that is left.
    await redis?.set(key, 5);
    expect(await limiter.peek(budget, 'user:1')).toMatchObject({ remaining: POINTS - 5 });
    expect([await redis?.get(key), await redis?.pttl(key)]).toEqual(['5', -1]);
  });

  test('reading an ended window writes nothing to MongoDB', async () => {
    const limiter = await replica(CLOSED_PORT, 'test');
    const windows = connection.collection<{ _id: string }>('rate_limits');
    const budget = limit();
    const ended = { _id: `test:limit:${budget.name}:user:1`, points: 5, expire: new Date(1_000) };
    await windows.insertOne(ended);
    expect(await limiter.peek(budget, 'user:1')).toMatchObject({ remaining: POINTS });
    // Or the database has deleted it.
    expect((await windows.findOne({ _id: ended._id })) ?? ended).toEqual(ended);
  });

  test('reading an ended window writes nothing to memory', async () => {
    const redis = await connectRedis({ url: CLOSED_PORT, log });
    redises.push(redis);
    const limiter = createRateLimiter({ redis, keyPrefix: 'test' });
    const budget = limit({ windowS: 1 });
    await limiter.consume(budget, 'user:1');
    const written = jest.spyOn(RateLimiterMemory.prototype, 'set');
    // Its timer, which forgets the window, must not run.
    const endsAt = performance.now() + 1_100;
    while (performance.now() < endsAt);
    await limiter.peek(budget, 'user:1');
    expect(written).not.toHaveBeenCalled();
    written.mockRestore();
  });
});

describe('a failure of Redis during a window', () => {
  test('a lost connection under load causes no error and allows at most one more window', async () => {
    await createRateLimitIndexes(connection);
    const wire = await redisWire();
    const replicas = await twoReplicas(wire.url);
    const budget = limit();
    const before = await consumeAtOnce(replicas, budget, 10);
    const during = consumeAtOnce(replicas, budget);
    wire.cut();
    const states = await during;
    const after = await consumeAtOnce(replicas, budget);
    expect(allowedCount(before)).toBe(10);
    expect(allowedCount([...before, ...states, ...after])).toBeLessThanOrEqual(2 * POINTS);
    expect(allowedCount(after.slice(POINTS))).toBe(0);
  });

  test('an unresponsive Redis is replaced by MongoDB after a second', async () => {
    await createRateLimitIndexes(connection);
    const wire = await redisWire();
    const replicas = await twoReplicas(wire.url);
    const budget = limit();
    await consumeAtOnce(replicas, budget, 2);
    wire.silence();
    // A second and the time of the database; the sockets themselves time out after minutes.
    const startedAt = performance.now();
    const states = await consumeAtOnce(replicas, budget, POINTS + 2);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    expect(allowedCount(states)).toBe(POINTS);
    wire.cut();
  });
});

/** A clock that is advanced as the sandbox advances it. */
const advancing = () => {
  const advances: { at: number; byMs: number }[] = [];
  const advancedSince = (at: number): number =>
    advances.reduce((sum, one) => (one.at > at ? sum + one.byMs : sum), 0);
  const clock: AdvancingClock = {
    now: () => new Date(systemClock.now().getTime() + advancedSince(0)),
    advancedWithin: (durationMs) => advancedSince(performance.now() - durationMs),
    onAdvance: () => undefined,
  };
  return { clock, advance: (byMs: number) => advances.push({ at: performance.now(), byMs }) };
};

describe.each([
  { place: 'Redis' },
  { place: 'MongoDB', durable: true },
  { place: 'MongoDB, because Redis is down', isRedisDown: true },
  { place: 'memory, because Redis is down', isRedisDown: true, inMemory: true },
])('a clock that is advanced, with windows in $place', ({ durable = false, isRedisDown, inMemory }) => {
  const open = async () => {
    const { clock, advance } = advancing();
    const redis = await connectRedis({ url: isRedisDown === true ? CLOSED_PORT : redisUrl(), log });
    redises.push(redis);
    const counting = { redis, keyPrefix: `test-${systemRandom.uuid()}`, clock };
    const limiter = createRateLimiter(inMemory === true ? counting : { ...counting, connection });
    return { limiter, advance };
  };

  test('an advanced clock ends a window whose time has passed', async () => {
    const { limiter, advance } = await open();
    const budget = limit({ points: 2, windowS: 60, durable });
    await consumeAtOnce([limiter], budget, 3);
    await pause(60);
    advance(61_000);
    expect(await limiter.peek(budget, 'user:1')).toMatchObject({ allowed: true, remaining: 2 });
    const states = await consumeAtOnce([limiter], budget, 3);
    expect(allowedCount(states)).toBe(2);
    expect((await limiter.consume(budget, 'user:1')).resetS).toBeGreaterThan(55);
  });

  test('an advanced clock shortens the rest of a window', async () => {
    const { limiter, advance } = await open();
    const budget = limit({ points: 1, windowS: 60, durable });
    await consumeAtOnce([limiter], budget, 2);
    await pause(60);
    advance(20_000);
    advance(20_000);
    const refused = await limiter.consume(budget, 'user:1');
    expect(refused).toMatchObject({ allowed: false, remaining: 0 });
    expect(refused.resetS).toBeGreaterThan(12);
    expect(refused.resetS).toBeLessThanOrEqual(20);
    advance(refused.resetS * 1_000);
    expect(await limiter.consume(budget, 'user:1')).toMatchObject({ allowed: true });
  });

  test('an advanced clock keeps a window that began after the advance', async () => {
    const { limiter, advance } = await open();
    const budget = limit({ points: 1, windowS: 60, durable });
    advance(59_000);
    await pause(60);
    expect(allowedCount(await consumeAtOnce([limiter], budget, 2))).toBe(1);
    expect(await limiter.peek(budget, 'user:1')).toMatchObject({ allowed: false });
  });
});
