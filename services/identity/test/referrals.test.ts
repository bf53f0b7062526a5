import { HOUR_MS, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { createRequestScope, runInScope } from '@fitness/shared/kernel/request-scope.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { connectRedis, type Redis } from '@fitness/shared/runtime/redis.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createReferralsReader } from '../src/app/accounts/referrals-reader.ts';
import { createScoreLocks, type ScoreLocks } from '../src/clients/score-locks.ts';
import { createStore, type Store } from '../src/store/store.ts';
import { createUsers } from '../src/store/users.ts';
import { type Harness, join, joinAs, noEpochs, type Person, revocations, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const invite = (referrer: Person) => join(harness, { referral_code: referrer.user.referral_code });
const referralsOf = async (person: Person): Promise<[number, number]> => {
  const { body } = await harness.send('GET', '/auth/me', { as: person.caller });
  return [body.user.referrals_count, body.user.referral_score];
};

describe('referral_score', () => {
  test('the score is 3.5 for three referrals, one of whom referred another user', async () => {
    const person = await join(harness);
    const friends = [await invite(person), await invite(person), await invite(person)];
    await invite(friends[1] as Person);
    expect(await referralsOf(person)).toEqual([3, 3.5]);
  });

  test('the score is 0 without referrals, and the 0 is not cached', async () => {
    const person = await join(harness);
    expect(await referralsOf(person)).toEqual([0, 0]);
    await invite(person);
    expect(await referralsOf(person)).toEqual([1, 1]);
  });

  test('the score is cached for ten hours, while the count is always current', async () => {
    const person = await join(harness);
    await invite(person);
    expect(await referralsOf(person)).toEqual([1, 1]);
    await invite(person);
    expect(await referralsOf(person)).toEqual([2, 1]);
    harness.clock.advance(10 * HOUR_MS - 1);
    expect(await referralsOf(person)).toEqual([2, 1]);
    harness.clock.advance(1);
    expect(await referralsOf(person)).toEqual([2, 2]);
  });

  test('the score includes every level, unrounded', async () => {
    const person = await join(harness);
    let last = person;
    for (let depth = 0; depth < 4; depth += 1) last = await invite(last);
    const [count, score] = await referralsOf(person);
    expect(count).toBe(1);
    expect(score).toBe(2 - 2 ** -3);
  });

  test('the score includes erased referrals', async () => {
    const person = await join(harness);
    const friend = await invite(person);
    await inTransaction(harness.database, (session) =>
      createUsers(harness.database, revocations).erase(session, friend.id, harness.clock.now()),
    );
    expect(await referralsOf(person)).toEqual([1, 1]);
  });

  test('a list shows the score of each user to a viewer who may see it', async () => {
    const operator = await joinAs(harness, 'operator');
    const name = `tree${operator.id}`;
    const person = await join(harness, { last_name: name });
    const friend = await join(harness, { last_name: name, referral_code: person.user.referral_code });
    await invite(friend);
    const { body } = await harness.send('GET', `/users?search=${name}`, { as: operator.caller });
    expect(
      body.data.map((row: Record<string, unknown>) => [row.id, row.referrals_count, row.referral_score]),
    ).toEqual([
      [friend.id, 1, 1],
      [person.id, 1, 1.5],
    ]);
  });

  test('twenty concurrent requests return the same score', async () => {
    const person = await join(harness);
    await invite(await invite(person));
    const answers = await Promise.all(Array.from({ length: 20 }, () => referralsOf(person)));
    expect(answers).toEqual(Array(20).fill([1, 1.5]));
  });
});

describe('a score that is not cached', () => {
  const log = createLog({ service: 'test', level: 'silent' });
  const openStore = (): Store => createStore(harness.database, log, noEpochs);
  let redis: Redis;
  beforeAll(async () => {
    redis = await connectRedis({ url: harness.config.REDIS_URL });
  });
  afterAll(() => redis.disconnect());

  /** The score reader of another process. It adds the user to `computed` whenever it queries the database. */
  const replica = (computed: number[], scoreLocks?: ScoreLocks) => {
    const store = openStore();
    const users: Store['users'] = {
      ...store.users,
      countReferralsOfAll: (ids) => {
        const [first = 0] = ids;
        computed.push(first);
        return store.users.countReferralsOfAll(ids);
      },
    };
    const keyPrefix = harness.config.EVENTS_NAMESPACE;
    return createReferralsReader({
      store: { ...store, users },
      scoreLocks: scoreLocks ?? createScoreLocks(redis, { keyPrefix, random: systemRandom, log }),
      clock: harness.clock,
    });
  };

  const joinWithReferrals = async (): Promise<Person> => {
    const person = await join(harness);
    await invite(await invite(person));
    return person;
  };

  test('a score is computed once for twenty concurrent requests to two replicas', async () => {
    const { id } = await joinWithReferrals();
    const computed: number[] = [];
    const replicas = [replica(computed), replica(computed)];
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => replicas[index % 2]?.read([id])),
    );
    expect(answers.map((answer) => answer?.get(id))).toEqual(Array(20).fill({ count: 1, score: 1.5 }));
    expect(computed.filter((first) => first === id)).toHaveLength(1);
  });

  test('the lock of a score is renewed while its holder lives, and only its holder releases it', async () => {
    const options = { keyPrefix: 'z', random: systemRandom, log, renewIntervalMs: 50 };
    const scoreLocks = createScoreLocks(redis, options);
    const [release, refused] = [await scoreLocks.acquire(7), await scoreLocks.acquire(7)];
    expect([typeof release, refused]).toEqual(['function', undefined]);
    await redis.pexpire('z:referral-score:7', 9_000);
    await eventually(async () => (await redis.pttl('z:referral-score:7')) > 9_000);
    expect(await scoreLocks.acquire(7)).toBeUndefined();
    await release?.();
    const releaseNext = await scoreLocks.acquire(7);
    expect(releaseNext).toBeDefined();
    // A late release does not release the lock of the next holder.
    await release?.();
    expect(await scoreLocks.acquire(7)).toBeUndefined();
    await releaseNext?.();
  });

  test('another process computes the score after the holder of the lock has crashed', async () => {
    const { id } = await joinWithReferrals();
    const key = `${harness.config.EVENTS_NAMESPACE}:referral-score:${id}`;
    await redis.set(key, 'a crashed process', 'PX', 300);
    expect((await replica([]).read([id])).get(id)).toEqual({ count: 1, score: 1.5 });
  });

  test('a score is computed without Redis', async () => {
    const unreachable = await connectRedis({ url: 'redis://127.0.0.1:1' });
    const scoreLocks = createScoreLocks(unreachable, { keyPrefix: 'x', random: systemRandom, log });
    const { id } = await joinWithReferrals();
    expect((await replica([], scoreLocks).read([id])).get(id)).toEqual({ count: 1, score: 1.5 });
    unreachable.disconnect();
  });

  test('a score is computed again after a failure', async () => {
    const { id } = await joinWithReferrals();
    const store = openStore();
    let failing = true;
    const users: Store['users'] = {
      ...store.users,
      countReferralsOfAll: async (ids) => {
        if (failing) throw new Error('the database is gone');
        return store.users.countReferralsOfAll(ids);
      },
    };
    const reader = createReferralsReader({
      store: { ...store, users },
      scoreLocks: createScoreLocks(redis, { keyPrefix: 'y', random: systemRandom, log }),
      clock: harness.clock,
    });
    await expect(reader.read([id])).rejects.toThrow('the database is gone');
    failing = false;
    expect((await reader.read([id])).get(id)).toEqual({ count: 1, score: 1.5 });
  });

  test('a score is computed for all waiting requests, even if the first one times out', async () => {
    const { id } = await joinWithReferrals();
    const store = openStore();
    const scope = createRequestScope();
    const started = Promise.withResolvers<void>();
    const users: Store['users'] = {
      ...store.users,
      countReferralsOfAll: (ids) => {
        scope.deadline = Number.NEGATIVE_INFINITY;
        started.resolve();
        return store.users.countReferralsOfAll(ids);
      },
    };
    const reader = createReferralsReader({
      store: { ...store, users },
      scoreLocks: createScoreLocks(redis, { keyPrefix: 'w', random: systemRandom, log }),
      clock: harness.clock,
    });
    const first = runInScope(scope, () => reader.read([id]));
    await started.promise;
    const answers = await Promise.all([first, reader.read([id])]);
    expect(answers.map((answer) => answer.get(id))).toEqual(Array(2).fill({ count: 1, score: 1.5 }));
  });

  test('a score is computed for each user of a page', async () => {
    const people = await Promise.all(Array.from({ length: 3 }, joinWithReferrals));
    const ids = people.map(({ id }) => id);
    const read = await replica([]).read(ids);
    expect(ids.map((id) => read.get(id))).toEqual(ids.map(() => ({ count: 1, score: 1.5 })));
  });
});

describe('the referrer', () => {
  test('neither users nor operators can change the referrer, so there are no cycles', async () => {
    const operator = await joinAs(harness, 'operator');
    const [person, friend] = [await join(harness), await join(harness)];
    const body = { referrer_user_id: friend.id, referral_code: friend.user.referral_code, height: 170 };
    const own = await harness.send('PUT', '/auth/me', { as: person.caller, body });
    const other = await harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body });
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
