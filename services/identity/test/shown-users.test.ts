/** Users inside other services' answers: the same resource that this service shows, for the same viewer. */
import { type Caller, GUEST } from '@fitness/shared/caller.ts';
import { HOUR_MS } from '@fitness/shared/clock.ts';
import { connectRedis, type Redis } from '@fitness/shared/redis.ts';
import {
  erasedUser,
  fromUserMessage,
  LIMITED_ACCESS_HIDDEN,
  userSchema,
} from '@fitness/shared/resources/user.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { join, joinAs, type Person, startWorld, type World } from './support.ts';

let world: World;
let person: Person;
let stranger: Person;
let operator: Person;
beforeAll(async () => {
  world = await startWorld();
  person = await join(world);
  stranger = await joinAs(world, 'member');
  operator = await joinAs(world, 'operator');
  const body = { height: 171, gender: 'male', birth_date: '1990-02-03', bank_account_number: 'IR1' };
  await world.send('PUT', '/auth/me', { as: person.caller, body });
  await world.identity.call('AttachLicense', { user_id: person.id, media_id: 9, filename: 'licence.pdf' });
  await world.send('PUT', `/users/${person.id}`, {
    as: operator.caller,
    body: { trainer_license_approved: false, trainer_license_rejection_reason: 'unreadable' },
  });
  await join(world, { referral_code: person.user.referral_code });
  world.outside.media = [{ id: 5, userId: person.id, filename: 'a.png' }];
  world.outside.subscriptions = [{ id: 6, userId: person.id }];
});
afterAll(() => world.close());

const shown = async (ids: number[], viewer: Caller) => {
  const { users } = await world.identity.call('ShowUsers', { ids }, { caller: viewer });
  return users.map(fromUserMessage);
};

describe('a user shown inside another resource', () => {
  test.each([
    ['a guest', () => GUEST, false],
    ['another member', () => stranger.caller, false],
    ['the user himself', () => person.caller, true],
    ['an operator', () => operator.caller, true],
  ])('is for %s what GET /users/{id} shows', async (_who, viewer, whole) => {
    const { body } = await world.send('GET', `/users/${person.id}`, { as: viewer() });
    const [user] = await shown([person.id], viewer());
    expect(user).toEqual(body.user);
    expect(LIMITED_ACCESS_HIDDEN.filter((field) => Object.hasOwn(body.user, field))).toHaveLength(
      whole ? LIMITED_ACCESS_HIDDEN.length : 0,
    );
    expect(body.user).toMatchObject({ height: 171, media: [{ id: 5 }], current_subscription: { id: 6 } });
  });

  test('costs one call to media and one to store-billing a page, whatever is on it', async () => {
    const ids = (await Promise.all(Array.from({ length: 4 }, () => join(world)))).map(({ id }) => id);
    for (const asked of [[person.id], [person.id, ...ids]]) {
      world.outside.calls = { media: 0, subscriptions: 0, blockers: 0 };
      expect(await shown(asked, operator.caller)).toHaveLength(asked.length);
      expect(world.outside.calls).toEqual({ media: 1, subscriptions: 1, blockers: 0 });
    }
  });

  test('once erased, is missing; or, where the answer needs one, well-formed and nobody', async () => {
    const gone = await join(world);
    await world.send('DELETE', `/users/${gone.id}`, { as: operator.caller });
    expect(await shown([gone.id], operator.caller)).toEqual([]);
    const asked = { ids: [gone.id, person.id, 999_999_999], with_erased: true };
    const { users } = await world.identity.call('ShowUsers', asked, { caller: operator.caller });
    const [living, nobody] = users.map(fromUserMessage);
    expect(living?.id).toBe(person.id);
    expect(nobody).toEqual(erasedUser(gone.id, gone.user.created_at));
    expect(userSchema.parse(nobody)).toEqual(nobody);
  });

  test('is missing when there is no such account', async () => {
    expect(await shown([person.id, 999_999_999], GUEST)).toHaveLength(1);
  });

  test('is asked for at most 200 at a time', async () => {
    const ids = Array.from({ length: 201 }, (_, index) => index + 1);
    await expect(shown(ids, GUEST)).rejects.toMatchObject({ kind: 'validation' });
  });
});

describe('a score that takes longer than a page waits', () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await connectRedis({ url: world.config.REDIS_URL });
  });
  afterAll(() => redis.disconnect());

  /** As if another process were at it, and did not come to an end. */
  const isBeingComputed = (userId: number) =>
    redis.set(`${world.config.EVENTS_NAMESPACE}:referral-score:${userId}`, 'another process', 'PX', 60_000);
  const isComputed = (userId: number) =>
    redis.del(`${world.config.EVENTS_NAMESPACE}:referral-score:${userId}`);
  const scoresOf = async (ids: number[]) =>
    new Map((await shown(ids, operator.caller)).map((user) => [user.id, user.referral_score]));
  const tree = async (): Promise<Person> => {
    const top = await join(world);
    const friend = await join(world, { referral_code: top.user.referral_code });
    await join(world, { referral_code: friend.user.referral_code });
    return top;
  };

  test('does not fail the page: the last known stands for it, else the direct referrals; the others are exact', async () => {
    const [quick, slow, known] = [await tree(), await tree(), await tree()];
    expect((await scoresOf([known.id])).get(known.id)).toBe(1.5);
    world.clock.advance(10 * HOUR_MS);
    await Promise.all([isBeingComputed(slow.id), isBeingComputed(known.id)]);
    const scores = await scoresOf([quick.id, slow.id, known.id]);
    expect([quick, slow, known].map(({ id }) => scores.get(id))).toEqual([1.5, 1, 1.5]);

    const list = await world.send('GET', '/users?per_page=100', { as: operator.caller });
    expect(list.status).toBe(200);
    expect(list.body.data.find((row: { id: number }) => row.id === slow.id).referral_score).toBe(1);

    // Whoever asks for this one user waits for the exact number, and the next page has it.
    const asked = world.send('GET', `/users/${slow.id}`, { as: operator.caller });
    await isComputed(slow.id);
    expect((await asked).body.user.referral_score).toBe(1.5);
    expect((await scoresOf([slow.id])).get(slow.id)).toBe(1.5);
    await isComputed(known.id);
  }, 30_000);
});
