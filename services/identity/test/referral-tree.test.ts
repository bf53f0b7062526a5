/** The database commands of a referral score: it follows users with referrals and only counts the others. */
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { type CommandWatch, monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import type { SentCommand } from '@fitness/shared/testing/lookups.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Connection } from 'mongoose';
import { computeScore } from '../src/domain/referral-score.ts';
import { createUsers } from '../src/store/users.ts';
import { type Harness, join, type Person, revocations, startHarness } from './support.ts';

let harness: Harness;
let connection: Connection;
let watch: CommandWatch;
let users: ReturnType<typeof createUsers>;
beforeAll(async () => {
  harness = await startHarness();
  const { MONGODB_URI, MONGODB_DATABASE } = monitored(harness.config);
  connection = await connectMongo({ uri: MONGODB_URI, database: MONGODB_DATABASE });
  users = createUsers(connection, revocations);
  watch = watchCommands(MONGODB_DATABASE);
});
afterAll(async () => {
  await connection.close();
  await harness.close();
});

const invite = (referrer: Person) => join(harness, { referral_code: referrer.user.referral_code });
const markOf = async (id: number): Promise<unknown> => {
  const row = await connection.collection('users').findOne({ _id: id as never });
  return row?.has_referrals;
};

let insertedId = 1_000_000_000;
/** Inserts a referral of `referrer` for each value of `has_referrals`. Returns the ids. */
const insertRows = async (referrer: number, values: readonly boolean[]): Promise<number[]> => {
  const rows = values.map((has_referrals) => {
    insertedId += 1;
    return { _id: insertedId, referrer_user_id: referrer, erased_at: null, has_referrals };
  });
  await connection.collection('users').insertMany(rows as never[]);
  return rows.map(({ _id }) => _id);
};

const score = async (id: number): Promise<{ score: number; sent: SentCommand[] }> => {
  let computed = 0;
  const sent = await watch.during(async () => {
    computed = await computeScore(id, users);
  });
  return { score: computed, sent };
};

/** The users whose referrals these commands read. */
const referrersIn = (sent: readonly SentCommand[]): number[] =>
  sent.flatMap(({ command }) => {
    const pipeline = (command.pipeline ?? []) as { $match?: { referrer_user_id?: unknown } }[];
    const filter = (command.filter ?? pipeline[0]?.$match ?? {}) as { referrer_user_id?: unknown };
    const referrer = filter.referrer_user_id;
    return typeof referrer === 'number' ? [referrer] : ((referrer as { $in?: number[] })?.$in ?? []);
  });

describe('the field has_referrals', () => {
  test('has_referrals is stored at registration and set by the first referral', async () => {
    const person = await join(harness);
    expect(await markOf(person.id)).toBe(false);
    const friend = await invite(person);
    expect([await markOf(person.id), await markOf(friend.id)]).toEqual([true, false]);
  });

  test('later referrals do not write the document of the referrer', async () => {
    const person = await join(harness);
    await invite(person);
    const before = await connection.collection('users').findOne({ _id: person.id as never });
    await Promise.all(Array.from({ length: 3 }, () => invite(person)));
    expect(await connection.collection('users').findOne({ _id: person.id as never })).toEqual(before);
  });

  test('twenty concurrent first referrals set has_referrals, and none of them fails', async () => {
    const person = await join(harness);
    const friends = await Promise.all(Array.from({ length: 20 }, () => invite(person)));
    const further = await invite(friends[7] as Person);
    expect([await markOf(person.id), await markOf(friends[7]?.id ?? 0)]).toEqual([true, true]);
    expect(await markOf(further.id)).toBe(false);
    expect((await score(person.id)).score).toBe(20.5);
  });

  test('a refused registration does not set has_referrals', async () => {
    const person = await join(harness);
    const fields = { referral_code: person.user.referral_code, username: person.user.username };
    await expect(join(harness, fields)).rejects.toThrow('422');
    expect(await markOf(person.id)).toBe(false);
  });

  test('has_referrals survives an erasure, so that users below the account still count', async () => {
    const person = await join(harness);
    const friend = await invite(person);
    await invite(await invite(friend));
    await inTransaction(connection, (session) => users.erase(session, friend.id, harness.clock.now()));
    expect((await score(person.id)).score).toBe(1.75);
  });
});

describe('computing a score', () => {
  test('computing a score does not query users without referrals', async () => {
    const costs: number[] = [];
    for (const leaves of [10, 300]) {
      const { id } = await join(harness);
      const [followed = 0] = await insertRows(id, [true]);
      await insertRows(id, Array(leaves).fill(false));
      await insertRows(followed, Array(leaves).fill(false));
      const { score: computed, sent } = await score(id);
      expect(computed).toBe(1 + leaves + leaves / 2);
      expect(new Set(referrersIn(sent))).toEqual(new Set([id, followed]));
      costs.push(sent.length);
    }
    // Two commands for each level, independent of the number of users without referrals.
    expect(costs).toEqual([4, 4]);
  });

  test('a score includes more users with referrals than a batch of the cursor contains', async () => {
    const { id } = await join(harness);
    const ids = await insertRows(id, Array(6_000).fill(true));
    await insertRows(ids[5_999] ?? 0, [false, false]);
    expect((await score(id)).score).toBe(6_001);
  }, 300_000);
});
