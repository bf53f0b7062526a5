/** One account can always manage roles: the last one cannot be demoted or deleted, and keeps the permission. */
import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createUsers } from '../src/store/users.ts';
import {
  callerOf,
  giveRoles,
  type Harness,
  join,
  joinAs,
  type Person,
  revocations,
  startHarness,
} from './support.ts';

let harness: Harness;
let first: Person;
let seededRoles: object[];
const roles = () => harness.database.collection('roles');
beforeAll(async () => {
  harness = await startHarness();
  seededRoles = await roles().find().toArray();
});
beforeEach(async () => {
  await harness.database.collection('users').updateMany({}, { $set: { role_ids: [] } });
  await roles().deleteMany({});
  await roles().insertMany(seededRoles as never[]);
  first = await joinAs(harness, 'administrator');
});
afterAll(() => harness.close());

const demote = (person: Person, as: Person, role_ids = [1]) =>
  harness.send('PUT', `/users/${person.id}`, { as: as.caller, body: { role_ids } });
const editRole = (id: number, permissions: readonly string[], as = first) =>
  harness.send('PUT', `/roles/${id}`, { as: as.caller, body: { permissions } });
const managers = async (): Promise<number> => {
  const managing = await roles().find({ permissions: 'roles.manage' }).toArray();
  return harness.database.collection('users').countDocuments({
    role_ids: { $in: managing.map((role) => role._id) },
    erased_at: null,
  } as object);
};
const refused = (answer: { status: number; body: unknown }) =>
  expect([answer.status, answer.body]).toEqual([
    409,
    { message: 'This would leave nobody who can manage roles.' },
  ]);

describe('the last account that may manage roles', () => {
  test('the last role manager cannot be demoted, even by themselves, until there is another', async () => {
    refused(await demote(first, first));
    refused(await demote(first, first, []));
    // A change that keeps the permission is allowed.
    expect((await demote(first, first, [3, 2])).status).toBe(200);
    const second = await joinAs(harness, 'administrator');
    expect((await demote(first, second)).status).toBe(200);
    refused(await demote(second, second));
    expect(await managers()).toBe(1);
  });

  test('an account with a pending deletion does not replace the last role manager', async () => {
    const second = await joinAs(harness, 'administrator');
    await inTransaction(harness.database, (session) =>
      createUsers(harness.database, revocations).scheduleDeletion(session, second.id, {
        requestedAt: harness.clock.now(),
        scheduledAt: harness.clock.now(),
      }),
    );
    refused(await demote(first, second));
  });

  test('the last role manager cannot be deleted by an account that was demoted during the request', async () => {
    const second = await joinAs(harness, 'administrator');
    expect((await demote(second, first)).status).toBe(200);
    // The request carries the permissions that the caller had before.
    const answer = await harness.send('DELETE', `/users/${first.id}`, { as: second.caller });
    expect([answer.status, answer.body]).toEqual([
      409,
      {
        error: 'This would leave nobody who can manage roles.',
        code: 'account_deletion_blocked',
        blockers: [],
      },
    ]);
    expect(await managers()).toBe(1);
  });

  test('a change of a role cannot take the permission from the last role manager', async () => {
    expect((await editRole(3, [])).status).toBe(409);
    expect((await editRole(2, PERMISSIONS)).status).toBe(200);
    const second = await joinAs(harness, 'operator');
    expect((await demote(first, second)).status).toBe(200);
    refused(await editRole(2, ['users.view_all'], second));
    expect((await demote(first, second, [3])).status).toBe(200);
    expect((await editRole(2, ['users.view_all'], second)).status).toBe(200);
  });
});

describe('administrators who demote each other concurrently', () => {
  test('one of four administrators who demote each other always remains', async () => {
    const people = [
      first,
      ...(await Promise.all(Array.from({ length: 3 }, () => joinAs(harness, 'administrator')))),
    ];
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => {
        const person = people[index % people.length] as Person;
        const as = people[(index + 1) % people.length] as Person;
        return demote(person, as);
      }),
    );
    for (const { status } of answers) expect([200, 409]).toContain(status);
    expect(answers.some(({ status }) => status === 409)).toBe(true);
    expect(await managers()).toBe(1);
  });

  test('one of two administrators who demote each other remains in each of five rounds', async () => {
    const second = await join(harness);
    for (let round = 0; round < 5; round += 1) {
      await giveRoles(harness, first.id, [3]);
      await giveRoles(harness, second.id, [3]);
      const [one, other] = [
        { ...first, caller: await callerOf(harness, first.token) },
        { ...second, caller: await callerOf(harness, second.token) },
      ];
      const answers = await Promise.all([demote(other, one), demote(one, other)]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
      expect(await managers()).toBe(1);
    }
  });
});

describe('PUT /users/{id} for the caller’s own account', () => {
  test('operators cannot change their own contact and bank data, which require the password', async () => {
    const change = (body: Record<string, unknown>) =>
      harness.send('PUT', `/users/${first.id}`, { as: first.caller, body });
    for (const body of [
      { email: 'else@where.example' },
      { phone: '+989351112233' },
      { bank_account_number: 'IR820540102680020817909002' },
    ]) {
      expect((await change(body)).status).toBe(403);
    }
    const same = { email: first.user.email, phone: first.user.phone, height: 171 };
    expect((await change(same)).body.user.height).toBe(171);
  });
});
