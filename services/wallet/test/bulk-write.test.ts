/** A booking sends its writes in one command, or one by one to MongoDB before version 8. */
import { toAppError } from '@fitness/shared/http/error-handler.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { inTransaction, isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { startMongoProxy } from '@fitness/shared/testing/mongo-proxy.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import mongoose, { type ClientSession, type Connection } from 'mongoose';
import { type BulkWrite, createBulkWrite } from '../src/store/bulk-write.ts';
import { type Models, registerModels } from '../src/store/models.ts';

const config = testConfig('wallet');
const MONGODB_7 = 21;

let connection: Connection;
let models: Models;

beforeAll(async () => {
  connection = await mongoose
    .createConnection(config.MONGODB_URI, { dbName: config.MONGODB_DATABASE, autoIndex: false })
    .asPromise();
  models = registerModels(connection);
  await ensureIndexes(connection);
});

afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

beforeEach(async () => {
  await models.wallets.collection.deleteMany({});
  await models.entries.collection.deleteMany({});
  await models.wallets.collection.insertMany(
    [1, 2].map((id) => ({ _id: id, balance: 10, version: 0 })) as never,
  );
});

const take = (userId: number, amount: number) => ({
  collection: models.wallets.collection,
  filter: { _id: userId, balance: { $gte: amount } },
  change: { $inc: { balance: -amount } },
});
const entry = (...keys: string[]) => ({
  collection: models.entries.collection,
  documents: keys.map((_id) => ({ _id, seal: null })),
});
const balances = async () =>
  Object.fromEntries((await models.wallets.find().lean()).map(({ _id, balance }) => [_id, balance]));
const keys = async () => (await models.entries.find().lean()).map(({ _id }) => _id).sort();

describe.each([
  ['in one command', undefined],
  ['one by one', Promise.resolve(MONGODB_7)],
])('%s', (_name, wireVersion) => {
  let bulkWrite: BulkWrite;
  beforeAll(() => {
    bulkWrite = createBulkWrite(connection, wireVersion);
  });
  const transact = <T>(work: (session: ClientSession) => Promise<T>) =>
    inTransaction(connection, work, { readConcern: 'default' });

  test('all writes are executed', async () => {
    const writes = { updates: [take(1, 3), take(2, 4)], inserts: [entry('a', 'b'), entry()] };
    expect(await transact((session) => bulkWrite(session, writes))).toBeUndefined();
    expect(await balances()).toEqual({ 1: 7, 2: 6 });
    expect(await keys()).toEqual(['a', 'b']);
  });

  test.each([
    [0, 11, 1],
    [1, 1, 11],
    [0, 11, 11],
  ])(
    'the index of the first update without a match is returned: %i for %i and %i',
    async (place, first, second) => {
      const undone = new Error('undone');
      let returned: number | undefined;
      const work = transact(async (session) => {
        const writes = { updates: [take(1, first), take(2, second)], inserts: [entry('a')] };
        returned = await bulkWrite(session, writes);
        throw undone;
      });
      await expect(work).rejects.toBe(undone);
      expect(returned).toBe(place);
      expect(await balances()).toEqual({ 1: 10, 2: 10 });
      expect(await keys()).toEqual([]);
    },
  );

  test('a single update without a match is reported', async () => {
    const writes = { updates: [take(1, 11)], inserts: [entry('a')] };
    await expect(
      transact(async (session) => {
        expect(await bulkWrite(session, writes)).toBe(0);
        throw new Error('undone');
      }),
    ).rejects.toThrow('undone');
  });

  test('a duplicate key rejects with its own error and undoes the updates', async () => {
    await models.entries.collection.insertOne({ _id: 'a' as never });
    const writes = { updates: [take(1, 3)], inserts: [entry('b', 'a')] };
    const refused = await transact((session) => bulkWrite(session, writes)).catch((error: unknown) => error);
    expect(isDuplicateKey(refused)).toBe(true);
    expect(await balances()).toEqual({ 1: 10, 2: 10 });
    expect(await keys()).toEqual(['a']);
  });

  test('twenty concurrent updates of one document take exactly its balance', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        transact(async (session) => {
          const refused = await bulkWrite(session, {
            updates: [take(1, 1)],
            inserts: [entry(`once-${index}`)],
          });
          if (refused !== undefined) throw new Error('too little');
        }).then(
          () => 'made',
          (error: Error) => error.message,
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'made')).toHaveLength(10);
    expect(new Set(outcomes)).toEqual(new Set(['made', 'too little']));
    expect(await balances()).toEqual({ 1: 0, 2: 10 });
    expect(await keys()).toHaveLength(10);
  });
});

test('a write that the database refuses inside the command is reported as 503', async () => {
  const proxy = await startMongoProxy(config.MONGODB_URI);
  const proxied = await mongoose
    .createConnection(proxy.uri, { dbName: config.MONGODB_DATABASE, autoIndex: false })
    .asPromise();
  const refusal = { ok: 0, idx: 0, code: 365, errmsg: 'TemporarilyUnavailable' };
  const sent = proxy.answerAt({
    fits: (command) => command === 'bulkWrite',
    answer: {
      ok: 1,
      nErrors: 1,
      nMatched: 0,
      cursor: { id: 0, ns: 'admin.$cmd.bulkWrite', firstBatch: [refusal] },
    },
  });
  const bulkWrite = createBulkWrite(proxied);
  const refused = await inTransaction(
    proxied,
    (session) => bulkWrite(session, { updates: [take(1, 3)], inserts: [] }),
    { readConcern: 'default' },
  ).catch((error: unknown) => error);
  expect(toAppError(refused)).toMatchObject({ kind: 'unavailable', code: 'unavailable' });
  expect(sent()).toBe(3);
  expect(await balances()).toEqual({ 1: 10, 2: 10 });
  await proxied.close();
  await proxy.close();
});
