/** Somebody can always give roles: the last account that may is not demoted, deleted, or left without the permission. */
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { PERMISSIONS } from '@fitness/shared/permissions.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createUserStore } from '../src/store/users.ts';
import { callerOf, giveRoles, join, joinAs, type Person, startWorld, type World } from './support.ts';

let world: World;
let first: Person;
let seededRoles: object[];
const roles = () => world.database.collection('roles');
beforeAll(async () => {
  world = await startWorld();
  seededRoles = await roles().find().toArray();
});
beforeEach(async () => {
  await world.database.collection('users').updateMany({}, { $set: { role_ids: [] } });
  await roles().deleteMany({});
  await roles().insertMany(seededRoles as never[]);
  first = await joinAs(world, 'administrator');
});
afterAll(() => world.close());

const demote = (whom: Person, as: Person, role_ids = [1]) =>
  world.send('PUT', `/users/${whom.id}`, { as: as.caller, body: { role_ids } });
const editRole = (id: number, permissions: readonly string[], as = first) =>
  world.send('PUT', `/roles/${id}`, { as: as.caller, body: { permissions } });
const managers = async (): Promise<number> => {
  const managing = await roles().find({ permissions: 'roles.manage' }).toArray();
  return world.database.collection('users').countDocuments({
    role_ids: { $in: managing.map((role) => role._id) },
    erased_at: null,
  } as object);
};
const refused = (answer: { status: number; body: unknown }) =>
  expect([answer.status, answer.body]).toEqual([
    409,
    { message: 'There would be nobody left who can manage roles.' },
  ]);

describe('the last account that may manage roles', () => {
  test('is not demoted, not even by itself; once there is another it is', async () => {
    refused(await demote(first, first));
    refused(await demote(first, first, []));
    // What keeps the permission is no demotion.
    expect((await demote(first, first, [3, 2])).status).toBe(200);
    const second = await joinAs(world, 'administrator');
    expect((await demote(first, second)).status).toBe(200);
    refused(await demote(second, second));
    expect(await managers()).toBe(1);
  });

  test('counts none that is on its way out', async () => {
    const second = await joinAs(world, 'administrator');
    await inTransaction(world.database, (session) =>
      createUserStore(world.database).scheduleDeletion(session, second.id, {
        requestedAt: world.clock.now(),
        scheduledAt: world.clock.now(),
      }),
    );
    refused(await demote(first, second));
  });

  test('is not deleted by one who was demoted a moment ago', async () => {
    const second = await joinAs(world, 'administrator');
    expect((await demote(second, first)).status).toBe(200);
    // The request was under way with what the caller held then.
    refused(await world.send('DELETE', `/users/${first.id}`, { as: second.caller }));
    expect(await managers()).toBe(1);
  });

  test('does not lose the permission with the only other role that has it', async () => {
    expect((await editRole(3, [])).status).toBe(409);
    expect((await editRole(2, PERMISSIONS)).status).toBe(200);
    const second = await joinAs(world, 'operator');
    expect((await demote(first, second)).status).toBe(200);
    refused(await editRole(2, ['users.view_all'], second));
    expect((await demote(first, second, [3])).status).toBe(200);
    expect((await editRole(2, ['users.view_all'], second)).status).toBe(200);
  });
});

describe('of administrators who demote each other at once', () => {
  test('one always remains', async () => {
    const people = [
      first,
      ...(await Promise.all(Array.from({ length: 5 }, () => joinAs(world, 'administrator')))),
    ];
    for (const person of people) person.caller = await callerOf(world, person.token);
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, index) => {
        const whom = people[index % people.length] as Person;
        const as = people[(index + 1) % people.length] as Person;
        return demote(whom, as);
      }),
    );
    for (const { status } of answers) expect([200, 409]).toContain(status);
    expect(answers.some(({ status }) => status === 409)).toBe(true);
    expect(await managers()).toBe(1);
  });

  test('one of two remains, in each of twenty rounds', async () => {
    const second = await join(world);
    for (let round = 0; round < 20; round += 1) {
      await giveRoles(world, first.id, [3]);
      await giveRoles(world, second.id, [3]);
      const [one, other] = [
        { ...first, caller: await callerOf(world, first.token) },
        { ...second, caller: await callerOf(world, second.token) },
      ];
      const answers = await Promise.all([demote(other, one), demote(one, other)]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
      expect(await managers()).toBe(1);
    }
  });
});

describe('the own account through the operators’ door', () => {
  test('does not get new contact or bank data: that is asked for with the password', async () => {
    const change = (body: Record<string, unknown>) =>
      world.send('PUT', `/users/${first.id}`, { as: first.caller, body });
    for (const body of [
      { email: 'else@where.example' },
      { phone: '+989351112233' },
      { bank_account_number: 'IR9' },
    ]) {
      expect((await change(body)).status).toBe(403);
    }
    const same = { email: first.user.email, phone: first.user.phone, height: 171 };
    expect((await change(same)).body.user.height).toBe(171);
  });
});
