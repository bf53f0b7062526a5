import { HOUR_MS } from '@fitness/shared/clock.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
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
