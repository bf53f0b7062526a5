import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { updateWhere } from '@fitness/shared/mongo/update-where.ts';
import { dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Collection, Connection } from 'mongoose';

const config = testConfig('update-where');
const at = (seconds: number) => new Date(seconds * 1_000);
const stored = { _id: 1 as never, state: 'open', due: at(10), claim: '$state', counts: { all: 1 } };

let connection: Connection;
let things: Collection;
beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  things = connection.collection('things');
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});
beforeEach(async () => {
  await things.deleteMany({});
  await things.insertOne({ ...stored });
});

const read = () => things.findOne({ _id: 1 as never });

describe('a document is changed when it meets', () => {
  test.each([
    { state: 'open' },
    { claim: '$state' },
    { missing: null },
    { due: { $lte: at(10) } },
    { due: { $gt: at(9), $lt: at(11) } },
    { state: { $in: ['open', 'taken'] } },
    { state: 'open', due: at(10), missing: null },
    { 'counts.all': { $gte: 1 } },
  ])('%j', async (conditions) => {
    expect(await updateWhere(things, 1, conditions, { set: { state: 'done' } })).toBe(true);
    expect(await read()).toEqual({ ...stored, state: 'done' });
  });
});

describe('it stays as it is when it does not meet', () => {
  test.each([
    { state: 'taken' },
    { claim: 'open' },
    { state: null },
    { missing: 'open' },
    { missing: { $lte: at(10) } },
    { missing: { $lt: 5 } },
    { due: { $lt: at(10) } },
    { state: { $in: ['taken'] } },
    { state: 'open', due: at(11) },
  ])('%j', async (conditions) => {
    const change = { set: { state: 'done', fresh: 1 }, inc: { 'counts.more': 1 }, max: { newest: 4 } };
    expect(await updateWhere(things, 1, conditions, change)).toBe(false);
    expect(await read()).toEqual(stored);
  });
});

test('a change sets values as they are, adds and keeps the largest', async () => {
  const reply = { status: 201, body: { text: '$state', list: ['$due', null] } };
  const change = {
    set: { reply, due: null },
    inc: { 'counts.all': 2, 'counts.more': 1 },
    max: { newest: 7, 'counts.newest': 3 },
  };
  expect(await updateWhere(things, 1, { state: 'open' }, change)).toBe(true);
  expect(await read()).toEqual({
    ...stored,
    reply,
    due: null,
    counts: { all: 3, more: 1, newest: 3 },
    newest: 7,
  });
  expect(
    await updateWhere(things, 1, { state: 'open' }, { inc: { 'counts.all': 1 }, max: { newest: 2 } }),
  ).toBe(true);
  expect(await read()).toMatchObject({ counts: { all: 4 }, newest: 7 });
});

test('a document that is not there is not made', async () => {
  expect(await updateWhere(things, 2, { missing: null }, { set: { state: 'done' } })).toBe(false);
  expect(await things.countDocuments()).toBe(1);
});

test('of twenty at once one succeeds', async () => {
  const one = async (n: number): Promise<boolean> => {
    for (;;)
      try {
        return await updateWhere(things, 1, { state: 'open' }, { set: { state: `taken by ${n}` } });
      } catch (error) {
        if ((error as { code?: unknown }).code !== 112) throw error;
      }
  };
  const taken = await Promise.all(Array.from({ length: 20 }, (_, n) => one(n)));
  expect(taken.filter(Boolean)).toHaveLength(1);
  expect(await read()).toMatchObject({ state: `taken by ${taken.indexOf(true)}` });
});

test('in a transaction it is undone with it', async () => {
  const work = inTransaction(connection, async (session) => {
    expect(await updateWhere(things, 1, { state: 'open' }, { set: { state: 'done' } }, session)).toBe(true);
    throw new Error('undone');
  });
  await expect(work).rejects.toThrow('undone');
  expect(await read()).toEqual(stored);
});
