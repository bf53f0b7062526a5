import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import { dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import type { Shards } from '@fitness/shared/testing/shards.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Collection, Connection } from 'mongoose';
import { connectMongo } from '../../src/mongo/connect.ts';

const config = monitored(testConfig('wallet'));
let connection: Connection;
let things: Collection;
let few: Collection;

beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  await ensureIndexes(connection);
  things = connection.collection('things');
  few = connection.collection('few');
  await things.createIndex({ owner: 1 });
  await things.createIndex({ kind: 1 });
  await few.insertOne({ owner: 1 });
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

type Watch = ReturnType<typeof watchCommands>;
const faultsOf = async (work: () => Promise<unknown>, by: Watch): Promise<string[]> =>
  by.faults(await by.during(work));

/** In the wire format; it is explained even if it cannot be executed. */
const bulkUpdate = (filter: object): Promise<unknown> =>
  bulk({ update: 0, filter, updateMods: { $set: { name: 'y' } } });
const bulk = (operation: object): Promise<unknown> =>
  (connection.getClient().db('admin') as { command(command: object): Promise<unknown> })
    .command({
      bulkWrite: 1,
      ops: [operation],
      nsInfo: [{ ns: `${config.MONGODB_DATABASE}.things` }],
    })
    .catch(() => undefined);

describe('the shards of a cluster', () => {
  const sharded = (key: readonly string[], scatters = {}): Shards => ({
    things: { key, because: 'a test', scatters },
    few: { bound: 'a test' },
  });
  const watchShards = (shards: Shards) =>
    watchCommands(config.MONGODB_DATABASE, { shards, small: { things: 'a test', few: 'a test' } });
  const JOIN = { from: 'things', localField: 'name', as: 'same' };
  const named = { $set: { name: 'y' } };

  test.each<[string, () => Promise<unknown>]>([
    ['find', () => things.find({ owner: 1, kind: 'x' }).toArray()],
    ['find of several keys', () => things.find({ owner: { $in: [1, 2] } }).toArray()],
    ['find with alternatives', () => things.find({ $or: [{ owner: 1 }, { owner: 2 }] }).toArray()],
    ['aggregate', () => things.aggregate([{ $match: { kind: 'x' } }, { $match: { owner: 1 } }]).toArray()],
    ['an update of one', () => things.updateOne({ owner: -1, kind: 'x' }, named)],
    ['an update of many', () => things.updateMany({ owner: { $in: [-1, -2] } }, named)],
    ['findAndModify', () => things.findOneAndUpdate({ $and: [{ owner: -1 }] }, named)],
    ['an upsert', () => things.updateOne({ owner: -9 }, named, { upsert: true })],
    ['an insert', () => things.insertOne({ owner: -9 })],
    ['a collection on one shard', () => few.find({ name: 'x' }).toArray()],
  ])('the shard key is found in %s', async (_name, work) => {
    expect(await faultsOf(work, watchShards(sharded(['owner'])))).toEqual([]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['find: _id', () => things.findOne({ _id: 5 as never })],
    ['find: all', () => things.find().limit(1).toArray()],
    ['find: owner', () => things.find({ owner: { $lt: -1 } }).toArray()],
    ['find: kind, owner', () => things.find({ $or: [{ owner: 1 }, { kind: 'x' }] }).toArray()],
    ['aggregate: kind', () => things.aggregate([{ $match: { kind: 'x' } }, { $match: {} }]).toArray()],
    ['distinct: kind', () => things.distinct('name', { kind: 'x' })],
    ['join: name', () => few.aggregate([{ $lookup: { ...JOIN, foreignField: 'name' } }]).toArray()],
    ['updateOne: _id', () => things.updateOne({ _id: -1 as never }, named)],
    ['updateOne: owner', () => things.updateOne({ owner: { $in: [-1, -2] } }, named)],
    ['updateMany: kind', () => things.updateMany({ kind: 'x' }, named)],
    ['updateOne: name', () => bulkUpdate({ name: 'x' })],
    ['deleteOne: kind', () => things.deleteOne({ kind: 'x' })],
    ['deleteMany: kind', () => things.deleteMany({ kind: 'x' })],
    ['findAndModify: kind', () => things.findOneAndDelete({ kind: 'x' })],
  ])('%s is found, unless it is listed', async (scatter, work) => {
    const fault = `every shard is asked: things ${scatter}`;
    expect(await faultsOf(work, watchShards(sharded(['owner'])))).toEqual([fault]);
    const listed = watchShards(sharded(['owner'], { 'a reason': [scatter] }));
    expect(listed.unusedScatters()).toEqual([`things ${scatter}`]);
    expect(await faultsOf(work, listed)).toEqual([]);
    expect(listed.unusedScatters()).toEqual([]);
  });

  test.each<[string, string, () => Promise<unknown>]>([
    ['an insert without the shard key', 'insert', () => things.insertOne({ kind: 'x' })],
    ['an insert without the shard key', 'insert', () => bulk({ insert: 0, document: { _id: 'x' } })],
    [
      'an upsert without the shard key',
      'updateOne: _id',
      () => things.updateOne({ _id: -2 as never }, named, { upsert: true }),
    ],
    [
      'an upsert without the shard key',
      'findAndModify: _id',
      () => things.findOneAndUpdate({ _id: -3 as never }, named, { upsert: true }),
    ],
    [
      'an update of the shard key',
      'updateOne: owner',
      () => things.updateOne({ owner: -9 }, { $set: { owner: -8 } }),
    ],
  ])('%s is found, even where it is listed: %s', async (fault, command, work) => {
    const listed = watchShards(sharded(['owner'], { 'a reason': [command] }));
    expect(await faultsOf(work, listed)).toEqual([`${fault}: things ${command}`]);
  });

  test('a range of a key with several fields is on some shards; one document needs all fields', async () => {
    const ranged = watchShards(sharded(['owner', 'kind']));
    expect(await faultsOf(() => things.find({ owner: { $gt: 1, $lt: 3 } }).toArray(), ranged)).toEqual([]);
    expect(await faultsOf(() => things.find({ kind: 'x' }).toArray(), ranged)).toHaveLength(1);
    expect(await faultsOf(() => things.updateOne({ owner: -1 }, named), ranged)).toHaveLength(1);
    expect(await faultsOf(() => things.updateOne({ owner: -1, kind: 'x' }, named), ranged)).toEqual([]);
  });

  test('a collection without an entry is found', async () => {
    expect(await faultsOf(() => things.findOne({ owner: 1 }), watchShards({}))).toEqual([
      'things has no shard key',
    ]);
  });
});
