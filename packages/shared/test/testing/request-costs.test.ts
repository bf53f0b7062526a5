/** A request's cost includes every command that belongs to it, however it is sent, and nothing else. */
import { setImmediate } from 'node:timers/promises';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { createTickBatch } from '@fitness/shared/kernel/tick-batch.ts';
import { runWithTrace } from '@fitness/shared/kernel/trace.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import { type Answer, dropDatabase, type Send, testConfig } from '@fitness/shared/testing/harness.ts';
import { openCostMeter } from '@fitness/shared/testing/request-costs.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Connection } from 'mongoose';

const config = monitored(testConfig('wallet'));
const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
let connection: Connection;
let meter: Awaited<ReturnType<typeof openCostMeter>>;
let handle: () => Promise<unknown>;

/** Stands in for the server: runs `handle` in the async context of the request. */
const send: Send = async (_method, _path, options) => {
  const requestId = options?.headers?.['x-request-id'];
  await runWithTrace({ traceparent, requestId }, handle);
  return { status: 200 } as Answer;
};

const things = () => connection.collection('things');
const read = () => things().findOne({});

beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  await ensureIndexes(connection);
  await things().insertOne({});
  const shards = { things: { key: ['owner'], because: 'a test' } };
  meter = await openCostMeter(connection.name, { send, url: '' }, shards, 300);
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

const costs = async (work: () => Promise<unknown>, commands: readonly string[]): Promise<unknown[]> => {
  handle = work;
  return meter.faults({ route: 'GET /things', as: GUEST, commands });
};

test('commands outside of the request are not counted, even if they read the same data', async () => {
  const other = setInterval(() => void read(), 1);
  const work = async () => {
    for (let index = 0; index < 5; index += 1) await read();
  };
  const five = Array.from({ length: 5 }, () => 'find things');
  const faults = await costs(work, five);
  clearInterval(other);
  expect(faults).toEqual([]);
});

test('commands of a request are counted even in a transaction, in a shared read, or after the response', async () => {
  const batch = createTickBatch(async () => read());
  const sequences = createSequences(connection);
  await sequences.next('a');
  const many = Array.from({ length: 20 }, () => read);
  const work = async () => {
    await Promise.all(many.map((one) => one()));
    await inTransaction(connection, (session) => things().updateOne({}, { $set: { a: 1 } }, { session }));
    await batch([1]);
    await sequences.next('a');
    void setImmediate().then(() => things().countDocuments({}));
  };
  const finds = Array.from({ length: 21 }, () => 'find things');
  expect(
    await costs(work, [
      'aggregate things',
      'commitTransaction',
      ...finds,
      'findAndModify sequences',
      'update things',
    ]),
  ).toEqual([]);
});

test('a single run that costs more is a fault, and so is a row that states too high a cost', async () => {
  let runs = 0;
  const unsteady = async () => {
    runs += 1;
    await read();
    if (runs === 3) await read();
  };
  expect(await costs(unsteady, ['find things'])).toEqual([
    { commands: ['find things', 'find things'], calls: [] },
  ]);
  expect(await costs(read, ['find things', 'find things'])).toHaveLength(3);
});

test('a command that queries every shard is reported, inside and outside of requests', async () => {
  await things().findOne({ owner: 1 });
  expect(meter.shardFaults()).not.toContain('every shard is asked: things find: name');
  await things().findOne({ name: 'x' });
  expect(meter.shardFaults()).toContain('every shard is asked: things find: name');
});
