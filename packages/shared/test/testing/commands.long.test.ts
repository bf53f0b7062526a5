/** The plans of the commands of a service; commands.test.ts has the shards. */
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { type CommandWatch, monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import { FILLED, fillLike } from '@fitness/shared/testing/fill.ts';
import { dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import type { PlanException } from '@fitness/shared/testing/query-plans.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Collection, Connection } from 'mongoose';
import { connectMongo } from '../../src/mongo/connect.ts';

const config = monitored(testConfig('wallet'));
let connection: Connection;
let things: Collection;
let few: Collection;
let watch: CommandWatch;

beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  await ensureIndexes(connection);
  things = connection.collection('things');
  few = connection.collection('few');
  await things.createIndex({ owner: 1 });
  await things.createIndex({ kind: 1 });
  await things.insertOne({ _id: 0 as never, owner: 0, kind: 'common', name: 'thing' });
  await fillLike(connection, 'things', (n) => ({ _id: n, owner: Math.floor(n / 4) }));
  await few.insertOne({ owner: 1 });
  watch = watchCommands(config.MONGODB_DATABASE);
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

const faultsOf = async (work: () => Promise<unknown>, by = watch): Promise<string[]> =>
  by.faults(await by.during(work));
const oneFault = (start: string) => [expect.stringMatching(new RegExp(`^${start}`))];

test('a collection is filled with copies of its document', async () => {
  expect(await things.countDocuments()).toBe(FILLED + 1);
  expect(await things.findOne({ _id: 17 as never })).toEqual({
    _id: 17,
    owner: 4,
    kind: 'common',
    name: 'thing',
  });
  await expect(fillLike(connection, 'things', () => ({}), { owner: -1 })).rejects.toThrow('nothing to copy');
});

describe('a plan without a fault', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['a read by an index', () => things.find({ owner: { $in: [1, 2] } }).toArray()],
    ['a read by id', () => things.findOne({ _id: 5 as never })],
    ['an aggregation by an index', () => things.aggregate([{ $match: { owner: 1 } }]).toArray()],
    ['a count by an index', () => things.countDocuments({ owner: 1 })],
    ['an update by an index', () => things.updateMany({ owner: 1 }, { $set: { name: 'other' } })],
    ['an update by id', () => things.updateOne({ _id: 5 as never }, { $set: { name: 'other' } })],
    ['a deletion by an index', () => things.deleteMany({ owner: -1 })],
  ])('there is no fault in %s', async (_name, work) => {
    expect(await faultsOf(work)).toEqual([]);
  });
});

describe('a collection scan', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['find', () => things.find({ name: 'x' }).toArray()],
    ['find', () => things.find().sort({ name: 1 }).limit(1).toArray()],
    ['aggregate', () => things.aggregate([{ $match: { name: 'x' } }, { $count: 'n' }]).toArray()],
    ['distinct', () => things.distinct('kind', { name: 'x' })],
    ['update', () => things.updateOne({ name: 'x' }, { $set: { name: 'y' } })],
    ['delete', () => things.deleteMany({ name: 'x' })],
    ['findAndModify', () => things.findOneAndDelete({ name: 'x' })],
    ['bulkWrite', () => bulkUpdate({ name: 'x' })],
  ])('a scan is found in %s', async (name, work) => {
    expect(await faultsOf(work)).toEqual(oneFault(`COLLSCAN: ${name} things `));
  });

  test('a scan of a collection that an aggregation joins is found', async () => {
    const join = { from: 'things', localField: 'name', foreignField: 'name', as: 'same' };
    const work = () => things.aggregate([{ $match: { _id: -1 } }, { $lookup: join }]).toArray();
    expect(await faultsOf(work)).toEqual(oneFault('COLLSCAN: aggregate things {"name":"\\?"}'));
  });
});

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

describe('a sort in memory', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['find', () => things.find({ owner: 1 }).sort({ name: 1 }).toArray()],
    ['aggregate', () => things.aggregate([{ $match: { owner: 1 } }, { $sort: { name: 1 } }]).toArray()],
  ])('a sort in memory is found in %s', async (name, work) => {
    expect(await faultsOf(work)).toEqual(oneFault(`SORT: ${name} things `));
  });
});

test('an index that reads most of a collection is found', async () => {
  expect(await faultsOf(() => things.find({ kind: 'common' }).toArray())).toEqual(
    oneFault('a wide index scan: find things {"kind":"\\?"}'),
  );
});

test('an index hint is found', async () => {
  const work = () => things.find({ owner: 1 }).hint({ owner: 1 }).toArray();
  expect(await faultsOf(work)).toEqual(oneFault('a named index: find things {"owner":"\\?"}'));
});

test('a small collection is refused, unless it is listed', async () => {
  const work = () => few.findOne({ owner: 1 });
  await expect(faultsOf(work)).rejects.toThrow('few holds 1 documents');
  const listed = watchCommands(config.MONGODB_DATABASE, { small: { few: 'a reason' } });
  expect(await faultsOf(work, listed)).toEqual([]);
});

test('an exception applies to the stand-in that it names, and to no other server', async () => {
  const work = () => things.findOne({ name: 'x' });
  const fault = 'COLLSCAN: find things {"name":"?"} limit';
  const withException = (server: PlanException['server']) =>
    watchCommands(config.MONGODB_DATABASE, { exceptions: [{ server, fault, reason: 'a test' }] });
  expect(await faultsOf(work, withException('SecantusDB 0.0'))).toEqual(oneFault('COLLSCAN'));
  const build = await connection.db?.admin().command({ buildInfo: 1 });
  const isStandIn = build?.secantusVersion !== undefined;
  expect(await faultsOf(work, withException('SecantusDB'))).toHaveLength(isStandIn ? 0 : 1);
});
