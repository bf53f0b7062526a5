/** A server that is lost during a request: 503 and nothing changed, or 503 with `outcome_unknown`, never a 500. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import mongoose, { type Connection, type Model } from 'mongoose';
import { z } from 'zod';
import { created, defineRoute } from '../../src/http/define-route.ts';
import { unavailable } from '../../src/kernel/error.ts';
import { createLog } from '../../src/kernel/log.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { type Answer, apiClient, dropDatabase, eventually, testConfig } from '../../src/testing/harness.ts';
import { type MongoProxy, startMongoProxy } from '../../src/testing/mongo-proxy.ts';

interface Note {
  _id: number;
  text: string;
}

const config = testConfig('wallet');
let proxy: MongoProxy;
let service: RunningService;
let notes: Model<Note>;
/** A connection that bypasses the proxy. */
let direct: Connection;
let lastId = 0;

/** The rest of the route's name says what it does with the document of this id. */
type Work = (id: number) => Promise<unknown>;

/** The deadline of a commit whose outcome stays unknown. */
const TRANSACTION_MS = 1_000;
/** Every loss of the database delays a test by this time. */
const DATABASE_WAIT_MS = 500;

const insertIn = (connection: Connection, id: number, deadlineMs?: number): Promise<unknown> =>
  inTransaction(
    connection,
    async (session) => {
      await notes.create([{ _id: id, text: 'new' }], { session });
    },
    { deadlineMs },
  );

const work = (connection: Connection): Record<string, Work> => ({
  read: (id) => notes.findById(id).lean(),
  update: (id) => notes.updateOne({ _id: id }, { $set: { text: 'changed' } }, { upsert: true }),
  create: (id) => notes.create({ _id: id, text: 'new' }),
  bulk: (id) => notes.collection.bulkWrite([{ insertOne: { document: { _id: id, text: 'new' } as never } }]),
  transaction: (id) => insertIn(connection, id, TRANSACTION_MS),
  'patient-transaction': (id) => insertIn(connection, id),
  'failure-after-the-effect': async (id) => {
    await inTransaction(connection, (session) => notes.create([{ _id: id, text: 'new' }], { session }));
    throw unavailable('the part that shows the result does not respond');
  },
  'network-error': async () => {
    throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  },
});

beforeAll(async () => {
  proxy = await startMongoProxy(config.MONGODB_URI);
  const runtime = await createServiceRuntime(
    'wallet',
    { ...config, MONGODB_URI: proxy.uri },
    { log: createLog({ service: 'wallet', level: 'silent' }), databaseWaitMs: DATABASE_WAIT_MS },
  );
  const { connection } = runtime;
  notes = connection.model<Note>('Note', new mongoose.Schema<Note>({ _id: Number, text: String }));
  const all: Record<string, Work> = {
    ...work(connection),
    redis: async () => {
      runtime.redis.disconnect();
      await runtime.redis.get('key');
    },
    rabbitmq: async () => {
      await runtime.broker.close();
      await runtime.broker.publish(runtime.broker.eventsExchange, 'any.event', Buffer.from('{}'));
    },
  };
  const routes = Object.entries(all).map(([name, run]) =>
    defineRoute({
      method: 'POST',
      path: `/${name}`,
      summary: name,
      tag: 'test',
      access: 'guest',
      body: z.object({ id: z.int() }),
      errorStyle: 'error_code',
      responses: { 201: z.object({}) },
      handle: async ({ body }) => {
        await run(body.id);
        return created({});
      },
    }),
  );
  service = await runtime.serve({ routes, grpc: [], consumers: [] });
  direct = await mongoose
    .createConnection(config.MONGODB_URI, { dbName: config.MONGODB_DATABASE })
    .asPromise();
});

afterAll(async () => {
  proxy.restore();
  await service.close();
  await direct.close();
  await proxy.close();
  await dropDatabase(config);
});

afterEach(() => proxy.restore());

const post = (name: string, id: number): Promise<Answer> =>
  apiClient('wallet', service.url)('POST', `/${name}`, { body: { id } });

const newId = (): number => {
  lastId += 1;
  return lastId;
};

const isStored = async (id: number): Promise<boolean> =>
  (await direct.collection('notes').countDocuments({ _id: id as never })) === 1;

/** The driver waits up to half a second between two attempts to connect, as long as a request waits for the database. */
const untilConnected = (): Promise<true> =>
  eventually(async () => (await post('read', newId())).status === 201);

/** A request during which the database is lost at this command. */
const postAndLose = async (name: string, command: string, side: 'before' | 'after' = 'before') => {
  const id = newId();
  await untilConnected();
  let lostAt: string | undefined;
  const isCommand = (sent: string): boolean => sent === command;
  void proxy.cutAt(isCommand, side).then((at) => {
    lostAt = at;
  });
  const answer = await post(name, id);
  expect(lostAt).toMatch(command);
  return { id, answer };
};

const NOTHING_CHANGED = [503, { message: expect.any(String) }];
const UNKNOWN = [503, { message: expect.any(String), code: 'outcome_unknown' }];

const expectOutage = (answer: Answer, expected: unknown[]): void => {
  expect([answer.status, answer.body]).toEqual(expected);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
};

describe('the database is lost', () => {
  test('nothing is changed if the database is lost during a read', async () => {
    const { answer } = await postAndLose('read', 'find');
    expectOutage(answer, NOTHING_CHANGED);
  });

  test('nothing is ever changed if the database is lost before the last write of a transaction', async () => {
    const { id, answer } = await postAndLose('transaction', 'insert');
    expectOutage(answer, NOTHING_CHANGED);
    proxy.restore();
    await untilConnected();
    expect((await post('transaction', newId())).status).toBe(201);
    expect(await isStored(id)).toBe(false);
  });

  test.each([
    ['update', 'update'],
    ['create', 'insert'],
  ])(
    'a write without a transaction is unknown, and stored, if the database is lost after the %s',
    async (name, command) => {
      const { id, answer } = await postAndLose(name, command, 'after');
      expectOutage(answer, UNKNOWN);
      expect(await isStored(id)).toBe(true);
    },
  );

  test('a bulk write fails with 503 if the database is lost', async () => {
    const { answer } = await postAndLose('bulk', 'insert');
    expect(answer.status).toBe(503);
  });

  test.each([
    ['before', false],
    ['after', true],
  ] as const)('the outcome is unknown if the database is lost %s the commit', async (side, stored) => {
    const { id, answer } = await postAndLose('transaction', 'commitTransaction', side);
    expectOutage(answer, UNKNOWN);
    expect(await isStored(id)).toBe(stored);
  });

  test('a transaction does not keep its locks if the database is lost before the commit', async () => {
    const { id } = await postAndLose('transaction', 'commitTransaction');
    proxy.restore();
    await eventually(async () => (await post('transaction', id)).status === 201);
  });

  test('a commit is retried with one effect if the database returns at once', async () => {
    const id = newId();
    await untilConnected();
    let isLost = false;
    void proxy
      .cutAt((sent) => sent === 'commitTransaction', 'after')
      .then(() => {
        proxy.restore();
        isLost = true;
      });
    const answer = await post('patient-transaction', id);
    expect([isLost, answer.status]).toEqual([true, 201]);
    expect(await isStored(id)).toBe(true);
  });

  test('the service works again after the database returns', async () => {
    await postAndLose('read', 'find');
    proxy.restore();
    await eventually(async () => (await post('transaction', newId())).status === 201);
  });
});

test('the outcome is unknown if another part fails after the effect of the request', async () => {
  const id = newId();
  expectOutage(await post('failure-after-the-effect', id), UNKNOWN);
  expect(await isStored(id)).toBe(true);
});

test('any other kind of broken connection leads to 503', async () => {
  expectOutage(await post('network-error', newId()), NOTHING_CHANGED);
});

test('a request fails with 503 if Redis is lost', async () => {
  expectOutage(await post('redis', newId()), NOTHING_CHANGED);
});

test('a request fails with 503 if RabbitMQ is lost', async () => {
  expectOutage(await post('rabbitmq', newId()), NOTHING_CHANGED);
});
