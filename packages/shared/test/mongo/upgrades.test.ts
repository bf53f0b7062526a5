import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Connection } from 'mongoose';
import { ManualClock } from '../../src/clock.ts';
import { type Upgrade, upgradeData } from '../../src/mongo/upgrades.ts';
import { log, openDatabase } from '../events/support.ts';

let connection: Connection;
beforeAll(async () => {
  connection = await openDatabase();
});
afterAll(() => connection.close());

const run = (upgrades: Upgrade[]): Promise<void> =>
  upgradeData({ connection, clock: new ManualClock(), log }, upgrades);

test('each runs once, in the order in which they stand, and new ones when they come', async () => {
  const ran: string[] = [];
  const named = (name: string): Upgrade => ({ name, run: async () => ran.push(name) });
  await run([named('one'), named('two')]);
  await run([named('one'), named('two'), named('three')]);
  expect(ran).toEqual(['one', 'two', 'three']);
});

test('one that fails is not taken for done, what stands behind it waits, and the start fails', async () => {
  const ran: string[] = [];
  let fails = true;
  const broken: Upgrade = {
    name: 'broken',
    run: async () => {
      if (fails) throw new Error('the database is full');
      return ran.push('broken');
    },
  };
  const behind: Upgrade = { name: 'behind', run: async () => ran.push('behind') };
  await expect(run([broken, behind])).rejects.toThrow('the database is full');
  expect(ran).toEqual([]);
  fails = false;
  await run([broken, behind]);
  expect(ran).toEqual(['broken', 'behind']);
});

test('ten replicas that start at once all wait until it is done', async () => {
  const documents = connection.collection<{ _id: number; form: string }>('upgraded');
  await documents.insertMany(Array.from({ length: 50 }, (_, _id) => ({ _id, form: 'old' })));
  const upgrade: Upgrade = {
    name: 'forms',
    run: async () => (await documents.updateMany({ form: 'old' }, { $set: { form: 'new' } })).modifiedCount,
  };
  const left = await Promise.all(
    Array.from({ length: 10 }, () => run([upgrade]).then(() => documents.countDocuments({ form: 'old' }))),
  );
  expect(left).toEqual(Array(10).fill(0));
});
