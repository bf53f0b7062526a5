import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { created, defineRoute } from '../../src/http/define-route.ts';
import { createServer } from '../../src/http/server.ts';
import { DAY_MS, HOUR_MS, systemClock, systemRandom } from '../../src/kernel/clock.ts';
import { createHealth } from '../../src/kernel/health.ts';
import { createMetrics } from '../../src/kernel/metrics.ts';
import type { Connection } from '../../src/mongo/connect.ts';
import {
  type Complete,
  createIdempotency,
  type Idempotency,
  storedKey,
} from '../../src/mongo/idempotency.ts';
import { CLAIM_MS, createIdempotencyIndexes, type StoredReply } from '../../src/mongo/idempotency-claims.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import { CALLER_HEADER } from '../../src/process-identity/caller-context.ts';
import { createCrossServiceCheck } from '../../src/runtime/cross-service-idempotency.ts';
import { connectRedis, type Redis } from '../../src/runtime/redis.ts';
import { caller, gatewayContext, testSigner } from '../../src/testing/harness.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { dropDatabase, log, openDatabase, redisUrl, until } from '../messaging/support.ts';

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

const idempotencyOver = (database: Connection, shared: Redis, realTime = clock): Idempotency =>
  createIdempotency({
    connection: database,
    crossServiceCheck: createCrossServiceCheck(shared, NAMESPACE, clock),
    clock,
    realTime,
    uuid: () => systemRandom.uuid(),
    // The clock of these tests stands still.
    renewMs: HOUR_MS,
  });

beforeEach(async () => {
  // In the future, so that the TTL monitor of the database deletes nothing.
  clock = new ManualClock('2100-01-01T00:00:00Z');
  idempotency = idempotencyOver(connection, redis);
  await connection.collection('effects').deleteMany({});
});

const key = (): string => systemRandom.uuid();
const effects = (): Promise<number> => connection.collection('effects').countDocuments();

/** An effect and its reply in one transaction. */
const book =
  (reply: StoredReply = created({ data: { id: 1 } })) =>
  async (complete: Complete<StoredReply>): Promise<StoredReply> => {
    await inTransaction(connection, async (session) => {
      await connection.collection('effects').insertOne({ at: 'once' }, { session });
      await complete(session, reply);
    });
    return reply;
  };

const asItIs = (reply: StoredReply): StoredReply => reply;

const outcomeOf = async (answer: Promise<StoredReply>): Promise<unknown> => {
  try {
    return await answer;
  } catch (error) {
    return (error as { kind?: unknown }).kind;
  }
};

/** A promise that the test resolves. */
const signal = () => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
};

describe('a repeated request', () => {
  test('a repeat with the same key and body gets the same reply and has one effect', async () => {
    const request = { userId: 1, key: key(), fingerprint: { amount: 5 } };
    const reply = { status: 201, body: { data: { id: 7, note: null } } };
    expect(await idempotency.run(request, asItIs, book(reply))).toEqual(reply);
    const again = await idempotency.run(request, asItIs, book({ status: 201, body: 'another' }));
    expect(again).toEqual(reply);
    expect(await effects()).toBe(1);
  });

  test('a field that is null and one that is absent are the same body', async () => {
    const request = { userId: 1, key: key(), fingerprint: ['deposit', { amount: 5 }] };
    const reply = created({ data: { id: 7 } });
    await idempotency.run(request, asItIs, book(reply));
    const withNull = { ...request, fingerprint: ['deposit', { amount: 5, description: null }] };
    expect(await idempotency.run(withNull, asItIs, book())).toEqual(reply);
    // Entries of the previous release stay valid: a body without a null has the hash of its plain JSON.
    const stored = await connection
      .collection('idempotency_keys')
      .findOne({ _id: storedKey(1, request.key) as never });
    expect(stored?.request_hash).toBe(createHash('sha256').update('["deposit",{"amount":5}]').digest('hex'));
  });

  test('a repeat gets the presentation of the first result', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    const present = (amount: number) => created({ shown: `${amount} Tooman` });
    const first = await idempotency.run(request, present, async (complete) => {
      await inTransaction(connection, (session) => complete(session, 5));
      return 5;
    });
    expect(first).toEqual({ status: 201, body: { shown: '5 Tooman' } });
    const unused = () => Promise.reject(new Error('must not run again'));
    expect(await idempotency.run(request, (): never => unused() as never, unused)).toEqual(first);
  });

  test('twenty concurrent requests are one run; the others get its reply or 409', async () => {
    const request = { userId: 1, key: key(), fingerprint: { amount: 5 } };
    const reply = created({ data: { id: 9 } });
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => outcomeOf(idempotency.run(request, asItIs, book(reply)))),
    );
    expect(await effects()).toBe(1);
    expect(outcomes).toContainEqual(reply);
    for (const outcome of outcomes) expect([reply, 'conflict']).toContainEqual(outcome);
    expect(await idempotency.run(request, asItIs, book())).toEqual(reply);
  });

  test('a repeat with another body gets 422 for idempotency_key, during the first run and after it', async () => {
    const request = { userId: 1, key: key(), fingerprint: { amount: 5 } };
    const other = { ...request, fingerprint: { amount: 6 } };
    const refused = {
      kind: 'validation',
      fields: { idempotency_key: [{ key: 'idempotency.other_body', params: undefined }] },
    };
    await idempotency.run(request, asItIs, async (complete) => {
      await expect(idempotency.run(other, asItIs, book())).rejects.toMatchObject(refused);
      return book()(complete);
    });
    await expect(idempotency.run(other, asItIs, book())).rejects.toMatchObject(refused);
    expect(await effects()).toBe(1);
  });

  test("another user's request with the same key is a separate request", async () => {
    const shared = key();
    await idempotency.run({ userId: 1, key: shared, fingerprint: 'a' }, asItIs, book(created('first')));
    const other = await idempotency.run(
      { userId: 2, key: shared, fingerprint: 'b' },
      asItIs,
      book(created('second')),
    );
    expect(other.body).toBe('second');
    expect(await effects()).toBe(2);
  });

  test('a repeat without a key runs again', async () => {
    const request = { userId: 1, key: undefined, fingerprint: 'a' };
    await idempotency.run(request, asItIs, book());
    await idempotency.run(request, asItIs, book());
    expect(await effects()).toBe(2);
  });

  test('a repeat gets the same reply although the effect was outside a transaction', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    await idempotency.run(request, asItIs, async () => created('elsewhere'));
    expect((await idempotency.run(request, asItIs, async () => created('again'))).body).toBe('elsewhere');
  });
});

describe('a run that fails', () => {
  test('a failed run releases its key; its effect and its reply are rolled back', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    const failing = idempotency.run(request, asItIs, async (complete) => {
      await inTransaction(connection, async (session) => {
        await connection.collection('effects').insertOne({ at: 'undone' }, { session });
        await complete(session, created('never'));
        throw new Error('the last step failed');
      });
      return created('never');
    });
    await expect(failing).rejects.toThrow('the last step failed');
    expect(await effects()).toBe(0);
    expect((await idempotency.run(request, asItIs, book(created('second try')))).body).toBe('second try');
  });

  test('a run that fails after its commit keeps the committed reply', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    const crashing = idempotency.run(request, asItIs, async (complete) => {
      await book(created('committed'))(complete);
      throw new Error('crashed before the response was sent');
    });
    await expect(crashing).rejects.toThrow('crashed');
    expect((await idempotency.run(request, asItIs, book())).body).toBe('committed');
    expect(await effects()).toBe(1);
  });
});

test('a current run keeps its key when the clock is advanced by over a day, and repeats get 409', async () => {
  const request = { userId: 1, key: key(), fingerprint: 'a' };
  const { open, opened } = signal();
  const started = signal();
  const advanced = idempotencyOver(connection, redis, new ManualClock(clock.now()));
  const running = advanced.run(request, asItIs, async (complete) => {
    started.open();
    await opened;
    return book(created('first'))(complete);
  });
  await started.opened;
  clock.advance(2 * DAY_MS);
  expect(await outcomeOf(advanced.run(request, asItIs, book(created('second'))))).toBe('conflict');
  open();
  expect(await running).toEqual(created('first'));
  expect(await effects()).toBe(1);
});

describe('a run whose process has died', () => {
  const LONG_MS = CLAIM_MS + 1;

  test('a dead run holds its key for seconds; then another takes over, and the late one has no effect', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    const { open, opened } = signal();
    const started = signal();
    const late = idempotency.run(request, asItIs, async (complete) => {
      started.open();
      await opened;
      return book(created('late'))(complete);
    });
    await started.opened;
    clock.advance(CLAIM_MS - 1);
    expect(await outcomeOf(idempotency.run(request, asItIs, book()))).toBe('conflict');
    clock.advance(2);
    let runs = 0;
    const takeOver = async (complete: Complete<StoredReply>): Promise<StoredReply> => {
      runs += 1;
      return book(created('taker'))(complete);
    };
    const takers = await Promise.all(
      Array.from({ length: 20 }, () => outcomeOf(idempotency.run(request, asItIs, takeOver))),
    );
    expect(runs).toBe(1);
    expect(takers).toContainEqual(created('taker'));
    open();
    await expect(late).rejects.toMatchObject({ kind: 'conflict' });
    expect(await effects()).toBe(1);
    expect((await idempotency.run(request, asItIs, book())).body).toBe('taker');
  });

  test('a late run that fails does not release the key of the run that took over', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    const [lateStarted, late, takerStarted, taker] = [signal(), signal(), signal(), signal()];
    const lateRun = idempotency.run(request, asItIs, async () => {
      lateStarted.open();
      await late.opened;
      throw new Error('gave up');
    });
    await lateStarted.opened;
    clock.advance(LONG_MS);
    const takerRun = idempotency.run(request, asItIs, async (complete) => {
      takerStarted.open();
      await taker.opened;
      return book(created('taker'))(complete);
    });
    await takerStarted.opened;
    late.open();
    await expect(lateRun).rejects.toThrow('gave up');
    expect(await outcomeOf(idempotency.run(request, asItIs, book()))).toBe('conflict');
    taker.open();
    expect((await takerRun).body).toBe('taker');
    expect(await effects()).toBe(1);
  });
});

describe('a run that takes longer than its lease', () => {
  /** Uses the real clock. */
  const renewing = (): Idempotency =>
    createIdempotency({
      connection,
      crossServiceCheck: createCrossServiceCheck(redis, NAMESPACE, systemClock),
      clock: systemClock,
      uuid: () => systemRandom.uuid(),
      renewMs: 50,
    });

  const claimedUntil = async (userId: number): Promise<number> => {
    const entry = await connection.collection('idempotency_keys').findOne({ user_id: userId });
    return Number(entry?.claimed_until);
  };

  test('a run longer than its lease keeps its key, and repeats get 409 and Retry-After', async () => {
    const request = { userId: 71, key: key(), fingerprint: 'a' };
    const [started, finish] = [signal(), signal()];
    const run = renewing().run(request, asItIs, async (complete) => {
      started.open();
      await finish.opened;
      return book(created('long'))(complete);
    });
    await started.opened;
    const first = await claimedUntil(71);
    await until(async () => (await claimedUntil(71)) > first);
    await expect(renewing().run(request, asItIs, book())).rejects.toMatchObject({
      kind: 'conflict',
      retryAfterS: 2,
    });
    finish.open();
    expect((await run).body).toBe('long');
    expect((await renewing().run(request, asItIs, book())).body).toBe('long');
    expect(await effects()).toBe(1);
  });

  test('a run longer than its lease releases its key when it ends', async () => {
    const request = { userId: 72, key: key(), fingerprint: 'a' };
    await renewing().run(request, asItIs, book(created('short')));
    const before = await claimedUntil(72);
    await renewing().run({ ...request, userId: 73, key: key() }, asItIs, async (complete) => {
      const first = await claimedUntil(73);
      await until(async () => (await claimedUntil(73)) > first);
      return book()(complete);
    });
    expect(await claimedUntil(72)).toBe(before);
  });
});

describe('a transaction of a dead process that holds the row of the key', () => {
  test('repeats of a dead run get 409 until its transaction ends, and then one of them takes over', async () => {
    const request = { userId: 81, key: key(), fingerprint: 'a' };
    const dead = await connection.startSession();
    await idempotency
      .run(request, asItIs, async (complete) => {
        dead.startTransaction();
        await connection.collection('effects').insertOne({ at: 'never' }, { session: dead });
        await complete(dead, created('never'));
        // What a killed process does not do: the key would be released.
        clock.advance(2 * CLAIM_MS);
        await expect(idempotency.run(request, asItIs, book())).rejects.toMatchObject({
          kind: 'conflict',
          retryAfterS: 2,
        });
        await dead.abortTransaction();
        const reply = await idempotency.run(request, asItIs, book(created('taken over')));
        expect(reply.body).toBe('taken over');
        throw new Error('dead');
      })
      .catch((error: Error) => {
        if (error.message !== 'dead') throw error;
      });
    await dead.endSession();
    expect(await effects()).toBe(1);
    expect((await idempotency.run(request, asItIs, book())).body).toBe('taken over');
  });
});

describe('a key that is sent to two services', () => {
  let otherDatabase: Connection;
  let gone: Redis;

  beforeAll(async () => {
    otherDatabase = await openDatabase();
    await createIdempotencyIndexes(otherDatabase);
    gone = await connectRedis({ url: 'redis://127.0.0.1:1' });
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
  const answer = async (): Promise<StoredReply> => created('done');

  test('the second service rejects a key with a different request; the first replays its response', async () => {
    const [here, there] = [idempotency, idempotencyOver(otherDatabase, redis)];
    const shared = key();
    await here.run(request('/deposit', shared), asItIs, answer);
    await expect(there.run(request('/boost', shared), asItIs, answer)).rejects.toMatchObject({
      kind: 'validation',
      fields: { idempotency_key: [{ key: 'idempotency.other_body' }] },
    });
    expect(await here.run(request('/deposit', shared), asItIs, answer)).toEqual(created('done'));
    expect(await there.run(request('/boost', shared, 2), asItIs, answer)).toEqual(created('done'));
  });

  test('only one of two services runs a key that is sent twenty times to both', async () => {
    const services = [idempotency, idempotencyOver(otherDatabase, redis)] as const;
    const shared = key();
    const runs = [0, 0];
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const which = index % 2;
        return outcomeOf(
          (services[which] as Idempotency).run(request(`/path-${which}`, shared), asItIs, async () => {
            runs[which] = (runs[which] ?? 0) + 1;
            return created(which);
          }),
        );
      }),
    );
    expect(runs.toSorted()).toEqual([0, 1]);
    expect(outcomes.filter((outcome) => outcome === 'validation')).toHaveLength(10);
  });

  test('a key is free for the second service if the first had no effect', async () => {
    const there = idempotencyOver(otherDatabase, redis);
    const shared = key();
    const failing = idempotency.run(request('/deposit', shared), asItIs, async () => {
      throw new Error('no effect');
    });
    await expect(failing).rejects.toThrow('no effect');
    expect(await there.run(request('/boost', shared), asItIs, answer)).toEqual(created('done'));
  });

  test('a key is free for the second service after 24 hours', async () => {
    const there = idempotencyOver(otherDatabase, redis);
    const shared = key();
    await idempotency.run(request('/deposit', shared), asItIs, answer);
    clock.advance(DAY_MS - 1);
    expect(await outcomeOf(there.run(request('/boost', shared), asItIs, answer))).toBe('validation');
    clock.advance(1);
    expect(await there.run(request('/boost', shared), asItIs, answer)).toEqual(created('done'));
  });

  test('a key keeps its first request when Redis has lost it and another request is refused', async () => {
    const request = { userId: 92, key: key(), fingerprint: 'first' };
    await idempotency.run(request, asItIs, book(created('kept')));
    await redis.del(`${NAMESPACE}:idempotency:${storedKey(request.userId, request.key)}`);
    const other = idempotency.run({ ...request, fingerprint: 'other' }, asItIs, book());
    expect(await outcomeOf(other)).toBe('validation');
    expect((await idempotency.run(request, asItIs, book())).body).toBe('kept');
  });

  test('a key is checked by each service alone while Redis is down', async () => {
    const [here, there] = [idempotencyOver(connection, gone), idempotencyOver(otherDatabase, gone)];
    const shared = key();
    await here.run(request('/deposit', shared), asItIs, answer);
    expect(await outcomeOf(here.run(request('/withdrawals', shared), asItIs, answer))).toBe('validation');
    expect(await there.run(request('/boost', shared), asItIs, answer)).toEqual(created('done'));
  });
});

describe('a stored reply', () => {
  test('a stored reply is replayed for 24 hours and not longer', async () => {
    const request = { userId: 1, key: key(), fingerprint: 'a' };
    await idempotency.run(request, asItIs, book(created('first')));
    clock.advance(DAY_MS - 1);
    expect((await idempotency.run(request, asItIs, book(created('second')))).body).toBe('first');
    clock.advance(1);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => outcomeOf(idempotency.run(request, asItIs, book(created('second'))))),
    );
    expect(outcomes).toContainEqual(created('second'));
    expect(outcomes).not.toContainEqual(created('first'));
    expect(await effects()).toBe(2);
  });

  test("a stored reply is deleted in a transaction of its user's erasure", async () => {
    const mine = { userId: 41, key: key(), fingerprint: 'a' };
    const other = { userId: 42, key: key(), fingerprint: 'a' };
    await idempotency.run(mine, asItIs, book(created('mine')));
    await idempotency.run(other, asItIs, book(created('other')));
    await inTransaction(connection, (session) => idempotency.eraseAccount(session, 41, 400));
    expect((await idempotency.run(mine, asItIs, book(created('anew')))).body).toBe('anew');
    expect((await idempotency.run(other, asItIs, book(created('anew')))).body).toBe('other');
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
            idempotency.run(
              { userId: user.userId, key: idempotencyKey, fingerprint: body },
              (run: number) => created({ data: { key: idempotencyKey ?? null, run } }),
              async () => {
                await connection.collection('effects').insertOne({ at: 'route' });
                return effects();
              },
            ),
        }),
      ],
      signer: testSigner('wallet'),
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
      headers: { [CALLER_HEADER]: gatewayContext('wallet', caller(3)), ...headers },
      payload: { amount },
    });

  test('the same key and body get the same response, byte for byte', async () => {
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
  ])('%s is an idempotency key', async (_name, value) => {
    const answer = await deposit({ 'idempotency-key': value });
    expect([answer.statusCode, answer.json().data.key]).toEqual([201, value]);
  });

  test.each([
    ['nothing', ''],
    ['256 characters', 'k'.repeat(256)],
    ['a space', 'a b'],
    ['a letter that is not ASCII', 'é'],
    ['a tab', 'a\tb'],
  ])('%s is not an idempotency key: the request returns 422 and changes nothing', async (_name, value) => {
    const answer = await deposit({ 'idempotency-key': value });
    expect([answer.statusCode, Object.keys(answer.json().errors)]).toEqual([422, ['idempotency_key']]);
    expect(await effects()).toBe(0);
  });
});
