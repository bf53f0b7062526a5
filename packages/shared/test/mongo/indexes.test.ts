import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import mongoose from 'mongoose';
import { type Connection, connectMongo } from '../../src/mongo/connect.ts';
import { ensureModelIndexes } from '../../src/mongo/indexes.ts';
import { dropDatabase, testServers } from '../../src/testing/harness.ts';

const database = {
  MONGODB_URI: testServers().MONGODB_URI,
  MONGODB_DATABASE: `test_indexes_${randomUUID().slice(0, 8)}`,
};
const connections: Connection[] = [];
let collection = '';

beforeEach(() => {
  collection = `things_${randomUUID().slice(0, 8)}`;
});

afterAll(async () => {
  for (const connection of connections) await connection.close();
  await dropDatabase(database);
});

type Indexes = [mongoose.IndexDefinition, mongoose.IndexOptions][];

/** The model of one release. */
const release = async (indexes: Indexes) => {
  const connection = await connectMongo({ uri: database.MONGODB_URI, database: database.MONGODB_DATABASE });
  connections.push(connection);
  const schema = new mongoose.Schema<{ name: string; state: string }>(
    { name: String, state: String },
    { collection, versionKey: false },
  );
  for (const [fields, options] of indexes) schema.index(fields, options);
  const model = connection.model('Thing', schema);
  return { model, prepare: () => ensureModelIndexes(model as never) };
};

const namesOf = async ({ model }: Awaited<ReturnType<typeof release>>) =>
  (await model.collection.indexes()).map(({ name }) => name).sort();

const OPEN = { partialFilterExpression: { state: 'open' } };

describe('the indexes of a new release', () => {
  test('are created beside those of the older release, which stay for a rollback', async () => {
    await (await release([[{ name: 1 }, {}]])).prepare();
    const next = await release([[{ state: 1 }, {}]]);
    await next.prepare();
    expect(await namesOf(next)).toEqual(['_id_', 'name_1', 'state_1']);
  });

  test('replace a changed index of the same name; no document is lost', async () => {
    const before = await release([
      [{ name: 1 }, {}],
      [{ state: 1 }, {}],
    ]);
    await before.prepare();
    await before.model.create([
      { name: 'a', state: 'open' },
      { name: 'a', state: 'shut' },
    ]);
    const next = await release([[{ name: 1 }, { unique: true, ...OPEN }]]);
    await next.prepare();
    const made = (await next.model.collection.indexes()).find(({ name }) => name === 'name_1');
    expect(made).toMatchObject({ unique: true, ...OPEN });
    expect(await namesOf(next)).toEqual(['_id_', 'name_1', 'state_1']);
    expect(await next.model.countDocuments({})).toBe(2);
    await expect(next.model.create({ name: 'a', state: 'open' })).rejects.toMatchObject({ code: 11_000 });
  });

  test('cover all documents where the older release had an index of a part of them', async () => {
    const before = await release([[{ name: 1 }, OPEN]]);
    await before.prepare();
    const next = await release([[{ name: 1 }, {}]]);
    await next.prepare();
    const made = (await next.model.collection.indexes()).find(({ name }) => name === 'name_1');
    expect(made).toBeDefined();
    expect(made).not.toHaveProperty('partialFilterExpression');
  });

  test('are refused when stored documents violate them', async () => {
    const before = await release([[{ name: 1 }, {}]]);
    await before.prepare();
    await before.model.create([
      { name: 'a', state: 'open' },
      { name: 'a', state: 'open' },
    ]);
    await expect((await release([[{ name: 1 }, { unique: true }]])).prepare()).rejects.toMatchObject({
      code: 11_000,
    });
  });
});
