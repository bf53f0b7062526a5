import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { CALLER_HEADER } from '../../src/caller.ts';
import { DAY_MS, ManualClock, MINUTE_MS, systemRandom } from '../../src/clock.ts';
import { createHealth } from '../../src/health.ts';
import { created, defineRoute, type RouteReply } from '../../src/http/define-route.ts';
import {
  createIdempotency,
  createIdempotencyIndexes,
  type Idempotency,
  type IdempotentRun,
} from '../../src/http/idempotency.ts';
import { createKeyAgreement } from '../../src/http/key-agreement.ts';
import { createServer } from '../../src/http/server.ts';
import { createMetrics } from '../../src/metrics.ts';
import type { Connection } from '../../src/mongo/connect.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import { connectRedis, type Redis } from '../../src/redis.ts';
import { caller, testSigner } from '../../src/testing/harness.ts';
import { dropDatabase, log, openDatabase, redisUrl } from '../events/support.ts';

const NAMESPACE = `test-${systemRandom.uuid()}`;

let redis: Redis;
let connection: Connection;
let clock: ManualClock;
let idempotency: Idempotency;

beforeAll(async () => {
  redis = await connectRedis({ url: redisUrl(), log });
  connection = await openDatabase();
  await createIdempotencyIndexes(connection);
  await connection.createCollection('effects');
});

afterAll(async () => {
  redis.disconnect();
  await dropDatabase(connection);
});

const idempotencyOver = (database: Connection, shared: Redis): Idempotency =>
  createIdempotency({
    connection: database,
    agreement: createKeyAgreement(shared, NAMESPACE, clock),
    clock,
    uuid: () => systemRandom.uuid(),
  });

beforeEach(async () => {
  // Ahead of the database's own time, so that its TTL monitor leaves the rows alone.
  clock = new ManualClock('2100-01-01T00:00:00Z');
  idempotency = idempotencyOver(connection, redis);
  await connection.collection('effects').deleteMany({});
});

const key = (): string => systemRandom.uuid();
const effects = (): Promise<number> => connection.collection('effects').countDocuments();

/** An effect and its answer, in one transaction. */
const book =
  (reply: RouteReply = created({ data: { id: 1 } })) =>
  async (run: IdempotentRun): Promise<RouteReply> => {
    await inTransaction(connection, async (session) => {
      await connection.collection('effects').insertOne({ at: 'once' }, { session });
      await run.complete(session, reply);
    });
    return reply;
  };

const outcomeOf = async (answer: Promise<RouteReply>): Promise<unknown> => {
  try {
    return await answer;
  } catch (error) {
    return (error as { kind?: unknown }).kind;
  }
};

/** A door that opens from outside. */
const gate = () => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
};

describe('a repeated request', () => {
  test('with the same key and body answers the same and has one effect', async () => {
    const request = { userId: 1, key: key(), fingerprint: { amount: 5 } };
    const reply = { status: 201, body: { data: { id: 7, note: null } } };
    expect(await idempotency.run(request, book(reply))).toEqual(reply);
    const again = await idempotency.run(request, book({ status: 201, body: 'another' }));
    expect(again).toEqual(reply);
    expect(await effects()).toBe(1);
  });

  test('twenty at once are one run; the others get its answer or 409', async () => {
    const request = { userId: 1, key: key(), fingerprint: { amount: 5 } };
    const reply = created({ data: { id: 9 } });
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => outcomeOf(idempotency.run(request, book(reply)))),
    );
    expect(await effects()).toBe(1);
    expect(outcomes).toContainEqual(reply);
    for (const outcome of outcomes) expect([reply, 'conflict']).toContainEqual(outcome);
    expect(await idempotency.run(request, book())).toEqual(reply);
  });

  test('with another body is 422 under idempotency_key, during the first run and after it', async () => {
    const request = { userId: 1, key: key(), fingerprint: { amount: 5 } };
    const other = { ...request, fingerprint: { amount: 6 } };
    const refused = {
      kind: 'validation',
      fields: { idempotency_key: [{ key: 'idempotency.other_body', params: undefined }] },
    };
    await idempotency.run(request, async (run) => {
      await expect(idempotency.run(other, book())).rejects.toMatchObject(refused);
      return book()(run);
    });
    await expect(idempotency.run(other, book())).rejects.toMatchObject(refused);
    expect(await effects()).toBe(1);
  });

  test('of another user under the same key is another request', async () => {
    const shared = key();
    await idempotency.run({ userId: 1, key: shared, fingerprint: 'a' }, book(created('first')));
    const other = await idempotency.run(
      { userId: 2, key: shared, fingerprint: 'b' },
      book(created('second')),
    );
    expect(other.body).toBe('second');
    expect(await effects()).toBe(2);
  });

  test('without a key simply runs again', async () => {
    const request = { userId: 1, key: undefined, fingerprint: 'a' };
    await idempotency.run(request, book());
    await idempotency.run(request, book());
    expect(await effects()).toBe(2);
  });

  test('answers the same although the effect was in no transaction', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    await idempotency.run(request, async () => created('elsewhere'));
    expect((await idempotency.run(request, async () => created('again'))).body).toBe('elsewhere');
  });
});

describe('a run that fails', () => {
  test('frees its key, and its effect is undone with its answer', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    const failing = idempotency.run(request, async (run) => {
      await inTransaction(connection, async (session) => {
        await connection.collection('effects').insertOne({ at: 'undone' }, { session });
        await run.complete(session, created('never'));
        throw new Error('the last step failed');
      });
      return created('never');
    });
    await expect(failing).rejects.toThrow('the last step failed');
    expect(await effects()).toBe(0);
    expect((await idempotency.run(request, book(created('second try')))).body).toBe('second try');
  });

  test('after its commit keeps the answer that was committed', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    const crashing = idempotency.run(request, async (run) => {
      await book(created('committed'))(run);
      throw new Error('crashed before the answer was sent');
    });
    await expect(crashing).rejects.toThrow('crashed');
    expect((await idempotency.run(request, book())).body).toBe('committed');
    expect(await effects()).toBe(1);
  });
});

describe('a run that takes too long', () => {
  const LONG_MS = MINUTE_MS + 1;

  test('holds its key for a minute, then one other takes over and the late one has no effect', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    const { open, opened } = gate();
    const started = gate();
    const late = idempotency.run(request, async (run) => {
      started.open();
      await opened;
      return book(created('late'))(run);
    });
    await started.opened;
    clock.advance(MINUTE_MS - 1);
    expect(await outcomeOf(idempotency.run(request, book()))).toBe('conflict');
    clock.advance(2);
    let runs = 0;
    const takeOver = async (run: IdempotentRun): Promise<RouteReply> => {
      runs += 1;
      return book(created('taker'))(run);
    };
    const takers = await Promise.all(
      Array.from({ length: 20 }, () => outcomeOf(idempotency.run(request, takeOver))),
    );
    expect(runs).toBe(1);
    expect(takers).toContainEqual(created('taker'));
    open();
    await expect(late).rejects.toMatchObject({ kind: 'conflict' });
    expect(await effects()).toBe(1);
    expect((await idempotency.run(request, book())).body).toBe('taker');
  });

  test('and fails in the end does not free the key of who took over', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    const [lateStarted, late, takerStarted, taker] = [gate(), gate(), gate(), gate()];
    const lateRun = idempotency.run(request, async () => {
      lateStarted.open();
      await late.opened;
      throw new Error('gave up');
    });
    await lateStarted.opened;
    clock.advance(LONG_MS);
    const takerRun = idempotency.run(request, async (run) => {
      takerStarted.open();
      await taker.opened;
      return book(created('taker'))(run);
    });
    await takerStarted.opened;
    late.open();
    await expect(lateRun).rejects.toThrow('gave up');
    expect(await outcomeOf(idempotency.run(request, book()))).toBe('conflict');
    taker.open();
    expect((await takerRun).body).toBe('taker');
    expect(await effects()).toBe(1);
  });
});

describe('a key that comes to two services', () => {
  let otherDatabase: Connection;
  let gone: Redis;

  beforeAll(async () => {
    otherDatabase = await openDatabase();
    await createIdempotencyIndexes(otherDatabase);
    gone = await connectRedis({ url: 'redis://127.0.0.1:1', firstWaitMs: 0 });
  });
  afterAll(async () => {
    gone.disconnect();
    await dropDatabase(otherDatabase);
  });

  const request = (path: string, shared: string, userId = 1) => ({
    userId,
    key: shared,
    fingerprint: ['POST', path],
  });
  const answer = async (): Promise<RouteReply> => created('done');

  test('with two requests is 422 at the second, and the first answers the same again', async () => {
    const [here, there] = [idempotency, idempotencyOver(otherDatabase, redis)];
    const shared = key();
    await here.run(request('/deposit', shared), answer);
    await expect(there.run(request('/boost', shared), answer)).rejects.toMatchObject({
      kind: 'validation',
      fields: { idempotency_key: [{ key: 'idempotency.other_body' }] },
    });
    expect(await here.run(request('/deposit', shared), answer)).toEqual(created('done'));
    expect(await there.run(request('/boost', shared, 2), answer)).toEqual(created('done'));
  });

  test('twenty at once, half to each: one service runs its request, the other none', async () => {
    const services = [idempotency, idempotencyOver(otherDatabase, redis)] as const;
    const shared = key();
    const runs = [0, 0];
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const which = index % 2;
        return outcomeOf(
          (services[which] as Idempotency).run(request(`/path-${which}`, shared), async () => {
            runs[which] = (runs[which] ?? 0) + 1;
            return created(which);
          }),
        );
      }),
    );
    expect(runs.toSorted()).toEqual([0, 1]);
    expect(outcomes.filter((outcome) => outcome === 'validation')).toHaveLength(10);
  });

  test('is free for the second when the first had no effect', async () => {
    const there = idempotencyOver(otherDatabase, redis);
    const shared = key();
    const failing = idempotency.run(request('/deposit', shared), async () => {
      throw new Error('no effect');
    });
    await expect(failing).rejects.toThrow('no effect');
    expect(await there.run(request('/boost', shared), answer)).toEqual(created('done'));
  });

  test('is free for the second after 24 hours', async () => {
    const there = idempotencyOver(otherDatabase, redis);
    const shared = key();
    await idempotency.run(request('/deposit', shared), answer);
    clock.advance(DAY_MS - 1);
    expect(await outcomeOf(there.run(request('/boost', shared), answer))).toBe('validation');
    clock.advance(1);
    expect(await there.run(request('/boost', shared), answer)).toEqual(created('done'));
  });

  test('is judged by each for itself while Redis is gone', async () => {
    const [here, there] = [idempotencyOver(connection, gone), idempotencyOver(otherDatabase, gone)];
    const shared = key();
    await here.run(request('/deposit', shared), answer);
    expect(await outcomeOf(here.run(request('/withdrawals', shared), answer))).toBe('validation');
    expect(await there.run(request('/boost', shared), answer)).toEqual(created('done'));
  });
});

describe('what is kept', () => {
  test('is answered for 24 hours and not longer', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    await idempotency.run(request, book(created('first')));
    clock.advance(DAY_MS - 1);
    expect((await idempotency.run(request, book(created('second')))).body).toBe('first');
    clock.advance(1);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => outcomeOf(idempotency.run(request, book(created('second'))))),
    );
    expect(outcomes).toContainEqual(created('second'));
    expect(outcomes).not.toContainEqual(created('first'));
    expect(await effects()).toBe(2);
  });

  test('is removed with its user, in the transaction of the erasure', async () => {
    const mine = { userId: 41, key: key(), fingerprint: 'a' };
    const other = { userId: 42, key: key(), fingerprint: 'a' };
    await idempotency.run(mine, book(created('mine')));
    await idempotency.run(other, book(created('other')));
    await inTransaction(connection, (session) => idempotency.forgetUser(session, 41));
    expect((await idempotency.run(mine, book(created('anew')))).body).toBe('anew');
    expect((await idempotency.run(other, book(created('anew')))).body).toBe('other');
  });
});

describe('the header', () => {
  let app: FastifyInstance;

  beforeAll(async () => {
    app = await createServer({
      service: 'test',
      routes: [
        defineRoute({
          method: 'POST',
          path: '/deposits',
          summary: 'Deposit',
          tag: 'money',
          access: 'user',
          idempotent: true,
          body: z.object({ amount: z.int() }),
          responses: { 201: z.object({ data: z.object({ key: z.string().nullable(), run: z.int() }) }) },
          handle: ({ caller: user, idempotencyKey, body }) =>
            idempotency.run({ userId: user.userId, key: idempotencyKey, fingerprint: body }, async () => {
              await connection.collection('effects').insertOne({ at: 'route' });
              return created({ data: { key: idempotencyKey ?? null, run: await effects() } });
            }),
        }),
      ],
      signer: testSigner,
      limiter: { consume: () => Promise.reject(new Error('no limit here')) },
      health: createHealth(),
      metrics: createMetrics('test', { defaults: false }),
      log,
      uuid: () => systemRandom.uuid(),
    });
  });

  afterAll(() => app.close());

  const deposit = async (headers: Record<string, string>, amount = 5) =>
    app.inject({
      method: 'POST',
      url: '/api/v1/deposits',
      headers: { [CALLER_HEADER]: await testSigner.sign({ from: 'gateway', caller: caller(3) }), ...headers },
      payload: { amount },
    });

  test('the same key and body get the same answer byte for byte', async () => {
    const header = { 'idempotency-key': key() };
    const [first, second] = [await deposit(header), await deposit(header)];
    expect([first.statusCode, second.statusCode]).toEqual([201, 201]);
    expect(second.body).toBe(first.body);
    const other = await deposit(header, 6);
    expect([other.statusCode, Object.keys(other.json().errors)]).toEqual([422, ['idempotency_key']]);
    expect(await effects()).toBe(1);
  });

  test.each([
    ['one character', 'a'],
    ['255 characters', 'k'.repeat(255)],
    ['every kind of visible character', '!"#$%&/()=?^~{|}'],
  ])('%s is a key', async (_name, value) => {
    const answer = await deposit({ 'idempotency-key': value });
    expect([answer.statusCode, answer.json().data.key]).toEqual([201, value]);
  });

  test.each([
    ['nothing', ''],
    ['256 characters', 'k'.repeat(256)],
    ['a space', 'a b'],
    ['a letter that is not ASCII', 'é'],
    ['a tab', 'a\tb'],
  ])('%s is no key: 422 under idempotency_key, and no effect', async (_name, value) => {
    const answer = await deposit({ 'idempotency-key': value });
    expect([answer.statusCode, Object.keys(answer.json().errors)]).toEqual([422, ['idempotency_key']]);
    expect(await effects()).toBe(0);
  });
});
