/** What a cold score costs the database: it follows who has referred others, and counts the rest. */
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import {
  type CommandWatch,
  monitored,
  type SentCommand,
  watchCommands,
} from '@fitness/shared/testing/commands.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Connection } from 'mongoose';
import { sumLevels } from '../src/domain/referral-score.ts';
import { createUserStore } from '../src/store/users.ts';
import { join, type Person, startWorld, type World } from './support.ts';

let world: World;
let connection: Connection;
let watch: CommandWatch;
let users: ReturnType<typeof createUserStore>;
beforeAll(async () => {
  world = await startWorld();
  const { MONGODB_URI, MONGODB_DATABASE } = monitored(world.config);
  connection = await connectMongo({ uri: MONGODB_URI, database: MONGODB_DATABASE });
  users = createUserStore(connection);
  watch = watchCommands(MONGODB_DATABASE);
});
afterAll(async () => {
  await connection.close();
  await world.close();
});

const invite = (referrer: Person) => join(world, { referral_code: referrer.user.referral_code });
const markOf = async (id: number): Promise<unknown> => {
  const row = await connection.collection('users').findOne({ _id: id as never });
  return row?.has_referrals;
};

let planted = 1_000_000_000;
/** Rows as they are stored; `marks` is what stands in each. */
const plant = async (referrer: number, marks: readonly boolean[]): Promise<number[]> => {
  const rows = marks.map((has_referrals) => {
    planted += 1;
    return { _id: planted, referrer_user_id: referrer, erased_at: null, has_referrals };
  });
  await connection.collection('users').insertMany(rows as never[]);
  return rows.map(({ _id }) => _id);
};

const score = async (id: number): Promise<{ score: number; sent: SentCommand[] }> => {
  let computed = 0;
  const sent = await watch.during(async () => {
    computed = await sumLevels(id, users);
  });
  return { score: computed, sent };
};

/** The users that these commands ask about. */
const askedAbout = (sent: readonly SentCommand[]): number[] =>
  sent.flatMap(({ command }) => {
    const pipeline = (command.pipeline ?? []) as { $match?: { referrer_user_id?: unknown } }[];
    const filter = (command.filter ?? pipeline[0]?.$match ?? {}) as { referrer_user_id?: unknown };
    const asked = filter.referrer_user_id;
    return typeof asked === 'number' ? [asked] : ((asked as { $in?: number[] })?.$in ?? []);
  });

describe('whether somebody has referred others', () => {
  test('is kept from his registration on, and set with the first whom he refers', async () => {
    const person = await join(world);
    expect(await markOf(person.id)).toBe(false);
    const friend = await invite(person);
    expect([await markOf(person.id), await markOf(friend.id)]).toEqual([true, false]);
  });

  test('is written once: later referrals leave his document alone', async () => {
    const person = await join(world);
    await invite(person);
    const before = await connection.collection('users').findOne({ _id: person.id as never });
    await Promise.all(Array.from({ length: 3 }, () => invite(person)));
    expect(await connection.collection('users').findOne({ _id: person.id as never })).toEqual(before);
  });

  test('is set by one of twenty who are the first at once, and none of them fails', async () => {
    const person = await join(world);
    const friends = await Promise.all(Array.from({ length: 20 }, () => invite(person)));
    const further = await invite(friends[7] as Person);
    expect([await markOf(person.id), await markOf(friends[7]?.id ?? 0)]).toEqual([true, true]);
    expect(await markOf(further.id)).toBe(false);
    expect((await score(person.id)).score).toBe(20.5);
  });

  test('is not set by a registration that is refused', async () => {
    const person = await join(world);
    const fields = { referral_code: person.user.referral_code, username: person.user.username };
    await expect(join(world, fields)).rejects.toThrow('422');
    expect(await markOf(person.id)).toBe(false);
  });

  test('outlives him: those below an erased account still count', async () => {
    const person = await join(world);
    const friend = await invite(person);
    await invite(await invite(friend));
    await inTransaction(connection, (session) => users.erase(session, friend.id, world.clock.now()));
    expect((await score(person.id)).score).toBe(1.75);
  });
});

describe('a cold score', () => {
  test('asks nothing about those who have referred nobody, however many they are', async () => {
    const costs: number[] = [];
    for (const leaves of [10, 1_000]) {
      const { id } = await join(world);
      const [followed = 0] = await plant(id, [true]);
      await plant(id, Array(leaves).fill(false));
      await plant(followed, Array(leaves).fill(false));
      const { score: computed, sent } = await score(id);
      expect(computed).toBe(1 + leaves + leaves / 2);
      expect(new Set(askedAbout(sent))).toEqual(new Set([id, followed]));
      costs.push(sent.length);
    }
    // Two commands a level, for ten as for a thousand.
    expect(costs).toEqual([4, 4]);
  });

  test('reads those who have referred others in pieces, more than one answer of the database holds', async () => {
    const { id } = await join(world);
    const ids = await plant(id, Array(6_000).fill(true));
    await plant(ids[5_999] ?? 0, [false, false]);
    expect((await score(id)).score).toBe(6_001);
  }, 300_000);
});
