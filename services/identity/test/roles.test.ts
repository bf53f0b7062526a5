import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startIdentity } from '../src/service.ts';
import {
  type Harness,
  identityConfig,
  join,
  joinAs,
  logIn,
  PASSWORD_COST,
  type Person,
  startHarness,
} from './support.ts';

let harness: Harness;
let administrator: Person;
beforeAll(async () => {
  harness = await startHarness();
  administrator = await joinAs(harness, 'administrator');
});
afterAll(() => harness.close());

const put = (id: number | string, body: unknown, as = administrator.caller) =>
  harness.send('PUT', `/roles/${id}`, { as, body });

describe('GET /roles', () => {
  test('the list has the seeded roles with their permissions', async () => {
    const { status, body } = await harness.send('GET', '/roles', { as: administrator.caller });
    expect(status).toBe(200);
    expect(body.data.map((role: { id: number; name: string }) => [role.id, role.name])).toEqual([
      [1, 'member'],
      [2, 'operator'],
      [3, 'administrator'],
    ]);
    const [, operator, all] = body.data;
    expect(all.permissions).toEqual([...PERMISSIONS]);
    expect(operator.permissions).toEqual(PERMISSIONS.filter((name) => name !== 'roles.manage'));
    expect(body.meta).toMatchObject({ total: 3, last_page: 1, next_cursor: null });
  });

  test('the list of roles supports pages and cursors', async () => {
    const first = await harness.send('GET', '/roles?per_page=2', { as: administrator.caller });
    expect(first.body.data).toHaveLength(2);
    const cursor = first.body.meta.next_cursor;
    const second = await harness.send('GET', `/roles?per_page=2&cursor=${cursor}`, {
      as: administrator.caller,
    });
    expect(second.body.data.map((role: { id: number }) => role.id)).toEqual([3]);
    const past = await harness.send('GET', '/roles?page=2', { as: administrator.caller });
    expect(past.body.data).toEqual([]);
  });

  test('listing and changing roles requires roles.manage', async () => {
    const member = await join(harness);
    expect((await harness.send('GET', '/roles')).status).toBe(401);
    expect((await harness.send('GET', '/roles', { as: member.caller })).status).toBe(403);
    expect((await put(1, { title: 'x' }, member.caller)).status).toBe(403);
  });
});

describe('PUT /roles/{id}', () => {
  test('new permissions of a role apply to the next request of every user with the role', async () => {
    const member = await join(harness);
    const permissions = async () =>
      (await harness.identity.call('Introspect', { token: member.token })).permissions;
    const { body: listed } = await harness.send('GET', '/roles', { as: administrator.caller });
    const before: string[] = listed.data[0].permissions;
    const { status, body } = await put(1, { title: 'Athlete', permissions: [...before, 'posts.view_all'] });
    expect([status, body]).toEqual([
      200,
      { data: { id: 1, name: 'member', title: 'Athlete', permissions: [...before, 'posts.view_all'] } },
    ]);
    expect(await permissions()).toContain('posts.view_all');
    await put(1, { permissions: before, name: 'renamed' });
    expect(await permissions()).not.toContain('posts.view_all');
    const after = await harness.send('GET', '/roles', { as: administrator.caller });
    expect(after.body.data[0]).toMatchObject({ name: 'member', title: 'Athlete' });
  });

  test('callers cannot grant permissions that they lack, or change roles that have them', async () => {
    const manager = caller(administrator.id, ['roles.manage', 'posts.view']);
    expect((await put(1, { permissions: ['posts.view', 'users.delete'] }, manager)).status).toBe(403);
    expect((await put(3, { permissions: [] }, manager)).status).toBe(403);
    expect((await put(3, { title: 'x' }, manager)).status).toBe(403);
  });

  test('administrators keep every permission, because nobody could give one back', async () => {
    for (const permissions of [[], ['roles.manage'], PERMISSIONS.filter((name) => name !== 'users.delete')]) {
      const { status, body } = await put(3, { permissions });
      expect([status, body]).toEqual([
        409,
        { message: 'Administrators keep every permission, because nobody else could give one back.' },
      ]);
    }
    const { status, body } = await put(3, { title: 'Chiefs', permissions: PERMISSIONS.toReversed() });
    expect([status, body.data.title, body.data.permissions.length]).toEqual([
      200,
      'Chiefs',
      PERMISSIONS.length,
    ]);
    await put(3, { title: 'Administrator', permissions: PERMISSIONS });
  });

  test.each([
    ['permissions.0', { permissions: ['no.such'] }],
    ['permissions', { permissions: 'all' }],
    ['title', { title: '' }],
    ['title', { title: 'half a pair \ud800' }],
  ])('an invalid %s is rejected with 422 under its name', async (field, body) => {
    const answer = await put(1, body);
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [field]]);
  });

  test('an unknown role is rejected with 404', async () => {
    expect((await put(99, { title: 'x' })).status).toBe(404);
    expect((await put('x', { title: 'x' })).status).toBe(404);
  });
});

describe('a start of the service', () => {
  test('a start of the service adds new permissions to the administrator role, and changes no edited role', async () => {
    await put(1, { title: 'Edited' });
    const roles = harness.database.collection('roles');
    for (const _id of [2, 3]) {
      await roles.updateOne({ _id: _id as never }, { $pull: { permissions: 'users.delete' as never } });
    }
    expect(
      (await harness.identity.call('Introspect', { token: administrator.token })).permissions,
    ).not.toContain('users.delete');
    const again = await startIdentity({ ...harness.config });
    await again.close();
    const { data } = (await harness.send('GET', '/roles', { as: administrator.caller })).body;
    const [member, operator, all] = data;
    expect([data.length, member.title]).toEqual([3, 'Edited']);
    expect(all.permissions.toSorted()).toEqual([...PERMISSIONS].sort());
    expect(operator.permissions).not.toContain('users.delete');
    expect((await put(2, { permissions: [...operator.permissions, 'users.delete'] })).status).toBe(200);
  });

  test('two replicas create one first administrator, and a later start creates no other', async () => {
    const first = {
      FIRST_ADMINISTRATOR_USERNAME: 'root.of.all',
      FIRST_ADMINISTRATOR_EMAIL: 'root@example.org',
      FIRST_ADMINISTRATOR_PHONE: '09121110000',
      FIRST_ADMINISTRATOR_PASSWORD: 'a password for root',
    };
    const config = identityConfig(first);
    const replicas = await Promise.all(
      [1, 2].map(() => startIdentity(config, { passwordCost: PASSWORD_COST })),
    );
    const url = replicas[0]?.url ?? '';
    const { apiClient, dropDatabase } = await import('@fitness/shared/testing/harness.ts');
    const send = apiClient('identity', url);
    const { status, body } = await send('POST', '/auth/login', {
      body: { login: '+989121110000', password: 'a password for root' },
    });
    expect(status).toBe(200);
    expect(body.user).toMatchObject({ username: 'root.of.all', roles: [{ name: 'administrator' }] });
    const { id } = body.user;
    const database = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
    const entries = await database.collection('audit_entries').find().toArray();
    await database.close();
    expect(entries).toMatchObject([
      { actor_id: null, action: 'user.assign_roles', subject_type: 'user', subject_id: id },
    ]);
    expect(JSON.parse(entries[0]?.after)).toMatchObject([{ field: 'role_ids' }]);
    // A different person, so that no unique field prevents the creation.
    const later = await startIdentity({
      ...config,
      FIRST_ADMINISTRATOR_USERNAME: 'another.root',
      FIRST_ADMINISTRATOR_EMAIL: 'another.root@example.org',
      FIRST_ADMINISTRATOR_PHONE: '+989121110001',
    });
    const wrong = await send('POST', '/auth/login', {
      body: { login: 'another.root', password: 'a password for root' },
    });
    expect(wrong.status).toBe(422);
    for (const running of [...replicas, later]) await running.close();
    await dropDatabase(config);
  });

  test('an incomplete first administrator is refused with the names of the missing variables', () => {
    expect(() => identityConfig({ FIRST_ADMINISTRATOR_USERNAME: 'root' })).toThrow(
      'FIRST_ADMINISTRATOR_EMAIL, FIRST_ADMINISTRATOR_PHONE, FIRST_ADMINISTRATOR_PASSWORD: needed',
    );
    expect(() => identityConfig({ TOKEN_LIFETIME_DAYS: '0' })).toThrow('TOKEN_LIFETIME_DAYS');
  });
});

test('is_trainer and is_gym_owner authorize nothing', async () => {
  const plain = await join(harness);
  const before = (await harness.identity.call('Introspect', { token: plain.token })).permissions;
  await harness.send('PUT', '/auth/me', { as: plain.caller, body: { is_trainer: true, is_gym_owner: true } });
  const after = (await harness.identity.call('Introspect', { token: plain.token })).permissions;
  expect(after).toEqual(before);
  expect((await logIn(harness, plain.user.username)).body.user.roles).toEqual(plain.user.roles);
});
