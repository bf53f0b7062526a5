/** Users embedded by other services are the same resource that GET /users/{id} returns to the same viewer. */
import { erasedUser, fromUserMessage, LIMITED_ACCESS_FIELDS, userSchema } from '@fitness/contracts/user.ts';
import { subscriptionStarted } from '@fitness/proto/events/store-billing.ts';
import { type Caller, GUEST } from '@fitness/shared/kernel/caller.ts';
import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { connectRedis, type Redis } from '@fitness/shared/runtime/redis.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createUsers } from '../src/store/users.ts';
import { openPublisher } from './events.ts';
import {
  type Harness,
  join,
  joinAs,
  mediaCopy,
  PASSWORD,
  type Person,
  revocations,
  SUBSCRIBED,
  startHarness,
} from './support.ts';

let harness: Harness;
let person: Person;
let stranger: Person;
let operator: Person;
beforeAll(async () => {
  harness = await startHarness();
  person = await join(harness);
  stranger = await joinAs(harness, 'member');
  operator = await joinAs(harness, 'operator');
  const body = {
    height: 171,
    gender: 'male',
    birth_date: '1990-02-03',
    bank_account_number: 'IR820540102680020817909002',
    current_password: PASSWORD,
  };
  await harness.send('PUT', '/auth/me', { as: person.caller, body });
  await harness.identity.call('AttachLicense', { user_id: person.id, media_id: 9, filename: 'license.pdf' });
  await harness.send('PUT', `/users/${person.id}`, {
    as: operator.caller,
    body: { trainer_license_approved: false, trainer_license_rejection_reason: 'unreadable' },
  });
  await join(harness, { referral_code: person.user.referral_code });
  await harness.saveMedia(mediaCopy(person.id, [{ id: 5, filename: 'a.png' }], 1));
  harness.standIns.subscriptions = [{ id: 6, userId: person.id }];
  const publisher = await openPublisher(harness);
  const subscription = { subscription_id: 6, user_id: person.id, type: 'plus', ...SUBSCRIBED };
  await publisher.publish(subscriptionStarted, subscription);
  const users = harness.database.collection<{ _id: number }>('users');
  await eventually(async () => (await users.countDocuments({ _id: person.id, 'subscription.id': 6 })) === 1);
  await publisher.close();
});
afterAll(() => harness.close());

const shown = async (ids: number[], viewer: Caller) => {
  const { users } = await harness.identity.call('ShowUsers', { ids }, { caller: viewer });
  return users.map(fromUserMessage);
};

describe('a user shown inside another resource', () => {
  test.each([
    ['a guest', () => GUEST, false],
    ['another member', () => stranger.caller, false],
    ['the user', () => person.caller, true],
    ['an operator', () => operator.caller, true],
  ])('an embedded user equals the response of GET /users/{id} to %s', async (_who, viewer, whole) => {
    const { body } = await harness.send('GET', `/users/${person.id}`, { as: viewer() });
    const [user] = await shown([person.id], viewer());
    expect(user).toEqual(body.user);
    expect(LIMITED_ACCESS_FIELDS.filter((field) => Object.hasOwn(body.user, field))).toHaveLength(
      whole ? LIMITED_ACCESS_FIELDS.length : 0,
    );
    expect(body.user).toMatchObject({ height: 171, media: [{ id: 5 }], current_subscription: { id: 6 } });
  });

  test('a page of embedded users causes no call to another service', async () => {
    const ids = (await Promise.all(Array.from({ length: 4 }, () => join(harness)))).map(({ id }) => id);
    for (const page of [[person.id], [person.id, ...ids]]) {
      harness.standIns.calls = { media: 0, subscriptions: 0, blockers: 0 };
      expect(await shown(page, operator.caller)).toHaveLength(page.length);
      expect(harness.standIns.calls).toEqual({ media: 0, subscriptions: 0, blockers: 0 });
    }
  });

  test('an erased user is missing, or replaced by an anonymous user on request', async () => {
    const gone = await join(harness);
    await harness.send('DELETE', `/users/${gone.id}`, { as: operator.caller });
    expect(await shown([gone.id], operator.caller)).toEqual([]);
    const request = { ids: [gone.id, person.id, 999_999_999], with_erased: true };
    const { users } = await harness.identity.call('ShowUsers', request, { caller: operator.caller });
    const [live, erased] = users.map(fromUserMessage);
    expect(live?.id).toBe(person.id);
    expect(erased).toEqual(erasedUser(gone.id, gone.user.created_at));
    expect(userSchema.parse(erased)).toEqual(erased);
  });

  test('a user with a pending deletion is missing on request, even for themselves', async () => {
    const leaving = await join(harness);
    const now = harness.clock.now();
    await inTransaction(harness.database, (session) =>
      createUsers(harness.database, revocations).scheduleDeletion(session, leaving.id, {
        requestedAt: now,
        scheduledAt: now,
      }),
    );
    const ids = [leaving.id, person.id];
    for (const viewer of [GUEST, leaving.caller, operator.caller]) {
      expect(await shown(ids, viewer)).toHaveLength(2);
      const request = { ids, without_pending: true };
      const { users } = await harness.identity.call('ShowUsers', request, { caller: viewer });
      expect(users.map(({ id }) => id)).toEqual([person.id]);
    }
  });

  test('an unknown user is missing', async () => {
    expect(await shown([person.id, 999_999_999], GUEST)).toHaveLength(1);
  });

  test('at most 200 users can be requested at once', async () => {
    const ids = Array.from({ length: 201 }, (_, index) => index + 1);
    await expect(shown(ids, GUEST)).rejects.toMatchObject({ kind: 'validation' });
  });
});

describe('a referral score that takes too long', () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await connectRedis({ url: harness.config.REDIS_URL });
  });
  afterAll(() => redis.disconnect());

  /** Acts as another process that holds the lock and never finishes. */
  const lockScore = (userId: number) =>
    redis.set(`${harness.config.EVENTS_NAMESPACE}:referral-score:${userId}`, 'another process', 'PX', 60_000);
  const unlockScore = (userId: number) =>
    redis.del(`${harness.config.EVENTS_NAMESPACE}:referral-score:${userId}`);
  const scoresOf = async (ids: number[]) =>
    new Map((await shown(ids, operator.caller)).map((user) => [user.id, user.referral_score]));
  const tree = async (): Promise<Person> => {
    const top = await join(harness);
    const friend = await join(harness, { referral_code: top.user.referral_code });
    await join(harness, { referral_code: friend.user.referral_code });
    return top;
  };

  test('a slow score is replaced in lists by the last known score or the number of referrals', async () => {
    const [quick, slow, cached] = [await tree(), await tree(), await tree()];
    expect((await scoresOf([cached.id])).get(cached.id)).toBe(1.5);
    harness.clock.advance(10 * HOUR_MS);
    await Promise.all([lockScore(slow.id), lockScore(cached.id)]);
    const [scores, list] = await Promise.all([
      scoresOf([quick.id, slow.id, cached.id]),
      harness.send('GET', '/users?per_page=100', { as: operator.caller }),
    ]);
    expect([quick, slow, cached].map(({ id }) => scores.get(id))).toEqual([1.5, 1, 1.5]);
    expect(list.status).toBe(200);
    expect(list.body.data.find((row: { id: number }) => row.id === slow.id).referral_score).toBe(1);

    // A request for a single user waits for the exact score, and later lists contain it.
    const single = harness.send('GET', `/users/${slow.id}`, { as: operator.caller });
    await unlockScore(slow.id);
    expect((await single).body.user.referral_score).toBe(1.5);
    expect((await scoresOf([slow.id])).get(slow.id)).toBe(1.5);
    await unlockScore(cached.id);
  });
});
