import { HOUR_MS, systemRandom } from '@fitness/shared/clock.ts';
import { createLog } from '@fitness/shared/log.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { connectRedis, type Redis } from '@fitness/shared/redis.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createReferralsReader } from '../src/app/referral-score.ts';
import { createScoreTurns, type ScoreTurns } from '../src/clients/score-turns.ts';
import { createReferralScoreStore } from '../src/store/referral-scores.ts';
import { createUserStore } from '../src/store/users.ts';
import { join, joinAs, type Person, startWorld, type World } from './support.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const invite = (referrer: Person) => join(world, { referral_code: referrer.user.referral_code });
const referralsOf = async (person: Person): Promise<[number, number]> => {
  const { body } = await world.send('GET', '/auth/me', { as: person.caller });
  return [body.user.referrals_count, body.user.referral_score];
};

describe('referral_score', () => {
  test('three invited, one of whom invited one more: count 3, score 3.5', async () => {
    const person = await join(world);
    const friends = [await invite(person), await invite(person), await invite(person)];
    await invite(friends[1] as Person);
    expect(await referralsOf(person)).toEqual([3, 3.5]);
  });

  test('a user without referrals is 0 at once, and that is not kept', async () => {
    const person = await join(world);
    expect(await referralsOf(person)).toEqual([0, 0]);
    await invite(person);
    expect(await referralsOf(person)).toEqual([1, 1]);
  });

  test('is kept for ten hours while the count is live; then it is computed anew', async () => {
    const person = await join(world);
    await invite(person);
    expect(await referralsOf(person)).toEqual([1, 1]);
    await invite(person);
    expect(await referralsOf(person)).toEqual([2, 1]);
    world.clock.advance(10 * HOUR_MS - 1);
    expect(await referralsOf(person)).toEqual([2, 1]);
    world.clock.advance(1);
    expect(await referralsOf(person)).toEqual([2, 2]);
  });

  test('goes to any depth, unrounded, as a number', async () => {
    const person = await join(world);
    let last = person;
    for (let depth = 0; depth < 12; depth += 1) last = await invite(last);
    const [count, score] = await referralsOf(person);
    expect(count).toBe(1);
    expect(score).toBe(2 - 2 ** -11);
  });

  test('agrees with the recursive definition on a random tree', async () => {
    const people = [await join(world)];
    const children = new Map<number, Person[]>();
    for (let index = 0; index < 25; index += 1) {
      const parent = people[(index * 7) % people.length] as Person;
      const child = await invite(parent);
      children.set(parent.id, [...(children.get(parent.id) ?? []), child]);
      people.push(child);
    }
    const scoreOf = (person: Person): number =>
      (children.get(person.id) ?? []).reduce((sum, child) => sum + 1 + scoreOf(child) / 2, 0);
    for (const person of people.slice(0, 6)) {
      expect(await referralsOf(person)).toEqual([children.get(person.id)?.length ?? 0, scoreOf(person)]);
    }
  });

  test('an erased referral still counts', async () => {
    const person = await join(world);
    const friend = await invite(person);
    await inTransaction(world.database, (session) =>
      createUserStore(world.database).erase(session, friend.id, world.clock.now()),
    );
    expect(await referralsOf(person)).toEqual([1, 1]);
  });

  test('is in a list of users for who may see it, each his own', async () => {
    const operator = await joinAs(world, 'operator');
    const name = `tree${operator.id}`;
    const person = await join(world, { last_name: name });
    const friend = await join(world, { last_name: name, referral_code: person.user.referral_code });
    await invite(friend);
    const { body } = await world.send('GET', `/users?search=${name}`, { as: operator.caller });
    expect(
      body.data.map((row: Record<string, unknown>) => [row.id, row.referrals_count, row.referral_score]),
    ).toEqual([
      [friend.id, 1, 1],
      [person.id, 1, 1.5],
    ]);
  });

  test('twenty who ask at once all get the same', async () => {
    const person = await join(world);
    await invite(await invite(person));
    const answers = await Promise.all(Array.from({ length: 20 }, () => referralsOf(person)));
    expect(answers).toEqual(Array(20).fill([1, 1.5]));
  });
});

describe('a cold score', () => {
  const log = createLog({ service: 'test', level: 'silent' });
  const scores = () => createReferralScoreStore(world.database);
  let redis: Redis;
  beforeAll(async () => {
    redis = await connectRedis({ url: world.config.REDIS_URL });
  });
  afterAll(() => redis.disconnect());

  /** A process of its own, as far as scores go, that counts how often it began to compute. */
  const replica = (began: number[], turns?: ScoreTurns) => {
    const users = createUserStore(world.database);
    const keyPrefix = world.config.EVENTS_NAMESPACE;
    return createReferralsReader({
      users: {
        ...users,
        countReferred: (ids) => {
          const [first = 0] = ids;
          began.push(first);
          return users.countReferred(ids);
        },
      },
      scores: scores(),
      turns: turns ?? createScoreTurns(redis, { keyPrefix, random: systemRandom, log }),
      clock: world.clock,
    });
  };

  const inviter = async (): Promise<Person> => {
    const person = await join(world);
    await invite(await invite(person));
    return person;
  };

  test('is computed once for twenty who ask at once, ten in each of two replicas', async () => {
    const { id } = await inviter();
    const began: number[] = [];
    const replicas = [replica(began), replica(began)];
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => replicas[index % 2]?.read([id])),
    );
    expect(answers.map((answer) => answer?.get(id))).toEqual(Array(20).fill({ count: 1, score: 1.5 }));
    expect(began.filter((first) => first === id)).toHaveLength(1);
  });

  test('is waited for as long as it takes: a turn is renewed while its holder lives, and free when it is done', async () => {
    const turns = createScoreTurns(redis, { keyPrefix: 'z', random: systemRandom, log });
    const [mine, others] = [await turns.take(7), await turns.take(7)];
    expect([typeof mine, others]).toEqual(['function', undefined]);
    await redis.pexpire('z:referral-score:7', 9_000);
    await eventually(async () => (await redis.pttl('z:referral-score:7')) > 9_000);
    expect(await turns.take(7)).toBeUndefined();
    await mine?.();
    const next = await turns.take(7);
    expect(next).toBeDefined();
    // Whoever is late does not end another's turn.
    await mine?.();
    expect(await turns.take(7)).toBeUndefined();
    await next?.();
  });

  test('is computed by another when the one whose turn it was has died', async () => {
    const { id } = await inviter();
    const key = `${world.config.EVENTS_NAMESPACE}:referral-score:${id}`;
    await redis.set(key, 'one that died', 'PX', 300);
    expect((await replica([]).read([id])).get(id)).toEqual({ count: 1, score: 1.5 });
  });

  test('is computed without Redis', async () => {
    const gone = await connectRedis({ url: 'redis://127.0.0.1:1' });
    const turns = createScoreTurns(gone, { keyPrefix: 'x', random: systemRandom, log });
    const { id } = await inviter();
    expect((await replica([], turns).read([id])).get(id)).toEqual({ count: 1, score: 1.5 });
    gone.disconnect();
  });

  test('that cannot be computed is not kept, and the next who asks tries again', async () => {
    const { id } = await inviter();
    const users = createUserStore(world.database);
    let broken = true;
    const reader = createReferralsReader({
      users: {
        ...users,
        countReferred: async (ids) => {
          if (broken) throw new Error('the database is gone');
          return users.countReferred(ids);
        },
      },
      scores: scores(),
      turns: createScoreTurns(redis, { keyPrefix: 'y', random: systemRandom, log }),
      clock: world.clock,
    });
    await expect(reader.read([id])).rejects.toThrow('the database is gone');
    broken = false;
    expect((await reader.read([id])).get(id)).toEqual({ count: 1, score: 1.5 });
  });

  test('of many on one page comes for each', async () => {
    const people = await Promise.all(Array.from({ length: 8 }, inviter));
    const ids = people.map(({ id }) => id);
    const read = await replica([]).read(ids);
    expect(ids.map((id) => read.get(id))).toEqual(ids.map(() => ({ count: 1, score: 1.5 })));
  });

  test('of somebody who invited more than one answer of the database holds is as many', async () => {
    const { id } = await join(world);
    const rows = Array.from({ length: 6_000 }, (_, index) => ({
      _id: 1_000_000_000 + index,
      referrer_user_id: id,
      erased_at: world.clock.now(),
    }));
    await world.database.collection('users').insertMany(rows as never[]);
    expect((await replica([]).read([id])).get(id)).toEqual({ count: 6_000, score: 6_000 });
  });
});

describe('who referred whom', () => {
  test('is never changed, by oneself or by an operator: there can be no circle', async () => {
    const operator = await joinAs(world, 'operator');
    const [person, friend] = [await join(world), await join(world)];
    const body = { referrer_user_id: friend.id, referral_code: friend.user.referral_code, height: 170 };
    const own = await world.send('PUT', '/auth/me', { as: person.caller, body });
    const other = await world.send('PUT', `/users/${person.id}`, { as: operator.caller, body });
    for (const answer of [own, other]) {
      expect(answer.status).toBe(200);
      expect(answer.body.user).toMatchObject({
        height: 170,
        referrer_user_id: null,
        referral_code: person.user.referral_code,
      });
    }
  });
});
