import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import mongoose from 'mongoose';
import { type Connection, connectMongo } from '../../src/mongo/connect.ts';
import { createDueRowQueue } from '../../src/mongo/due-queue.ts';
import { dropDatabase, testServers } from '../../src/testing/harness.ts';

interface Row {
  _id: number;
  owner: number;
  kind: string;
  due_at: Date | null;
}

const database = {
  MONGODB_URI: testServers().MONGODB_URI,
  MONGODB_DATABASE: `test_turns_${randomUUID().slice(0, 8)}`,
};
let connection: Connection;
let model: mongoose.Model<Row>;
let nextId = 0;

beforeAll(async () => {
  connection = await connectMongo({ uri: database.MONGODB_URI, database: database.MONGODB_DATABASE });
  const schema = new mongoose.Schema<Row>(
    { _id: Number, owner: Number, kind: String, due_at: Date },
    { collection: 'rows', versionKey: false },
  ).index({ due_at: 1 });
  model = connection.model<Row>('Row', schema);
});
beforeEach(() => model.deleteMany({}));
afterAll(async () => {
  await connection.close();
  await dropDatabase(database);
});

const add = async (owner: number, dueAt: number | null, kind = 'a'): Promise<number> => {
  nextId += 1;
  await model.create({ _id: nextId, owner, kind, due_at: dueAt === null ? null : new Date(dueAt) });
  return nextId;
};
const takes = () => createDueRowQueue(model, { due: 'due_at', user: 'owner' }, ({ _id }) => _id);

test('a round takes one row of each user before a second one, those that are due the longest first', async () => {
  const [third, first, second] = [await add(1, 30), await add(1, 10), await add(1, 20)];
  const [late, early] = [await add(2, 35), await add(2, 25)];
  const only = await add(3, 40);
  expect(await takes()(new Date(50), 10)).toEqual([first, early, only, second, late, third]);
  expect(await takes()(new Date(50), 4)).toEqual([first, early, only, second]);
});

test('rows that are not due yet, are never due, or do not match are left out', async () => {
  const due = await add(1, 10);
  await add(1, 60);
  await add(2, null);
  await add(3, 10, 'b');
  expect(await takes()(new Date(50), 10, { kind: 'a' })).toEqual([due]);
  expect(await takes()(new Date(5), 10)).toEqual([]);
});

test('users who are left out of a round come first in the next, even if others have new rows', async () => {
  const rows: Record<number, number[]> = {};
  for (const owner of [1, 2, 3, 4, 5]) rows[owner] = [await add(owner, owner), await add(owner, 10 + owner)];
  const take = takes();
  const ownersOf = async (): Promise<(number | undefined)[]> => {
    const ids = await take(new Date(100), 2);
    await model.deleteMany({ _id: mongoose.trusted({ $in: ids }) });
    for (const _id of ids) await add(1, 0);
    return ids.map((id) => [1, 2, 3, 4, 5].find((owner) => rows[owner]?.includes(id)));
  };
  expect(await ownersOf()).toEqual([1, 2]);
  expect(await ownersOf()).toEqual([3, 4]);
  expect((await ownersOf())[0]).toBe(5);
});
