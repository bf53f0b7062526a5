/** Where staff needs a second factor, roles with an operator's permission cannot be used without one. */
import { createPkce } from '@fitness/contracts/testing/oauth-client.ts';
import { MEMBER_PERMISSIONS, OPERATOR_PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { oauthOf } from './oauth-support.ts';
import { codeOf, disarm, logInWith, setUp } from './second-factor-support.ts';
import {
  callerOf,
  giveRoles,
  type Harness,
  isLive,
  join,
  joinAs,
  logIn,
  PASSWORD,
  type Person,
  startHarness,
} from './support.ts';

const FIRST = {
  FIRST_ADMINISTRATOR_USERNAME: 'root.of.all',
  FIRST_ADMINISTRATOR_EMAIL: 'root@example.org',
  FIRST_ADMINISTRATOR_PHONE: '09121110000',
  FIRST_ADMINISTRATOR_PASSWORD: PASSWORD,
};

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ STAFF_SECOND_FACTOR: 'required', ...FIRST });
});
afterAll(() => harness.close());

const OPERATORS = [...OPERATOR_PERMISSIONS];
const sorted = (permissions: Iterable<string> | undefined): string[] => [...(permissions ?? [])].sort();
/** The person with their current permissions. */
const again = async (person: Person): Promise<Person> => ({
  ...person,
  caller: await callerOf(harness, person.token),
});
const listRoles = ({ caller: as }: Person) => harness.send('GET', '/roles', { as });
const CODE = 'auth.second_factor_required';

describe('staff without a second factor', () => {
  test('staff without a second factor acts as a member, and sees the withheld permissions', async () => {
    for (const role of ['operator', 'administrator'] as const) {
      const { caller } = await joinAs(harness, role);
      expect(sorted(caller.permissions)).toEqual(sorted(MEMBER_PERMISSIONS));
      const isManager = role === 'administrator';
      expect(sorted(caller.withheld)).toEqual(
        sorted(OPERATORS.filter((permission) => isManager || permission !== 'roles.manage')),
      );
    }
  });

  test('operators’ routes return 403 with a code and a remedy to staff without a second factor', async () => {
    const [operator, target] = [await joinAs(harness, 'administrator'), await join(harness)];
    const routes = [
      ['GET', '/roles'],
      ['PUT', '/roles/1'],
      ['PUT', `/users/${target.id}`],
      ['DELETE', `/users/${target.id}`],
    ];
    for (const [method = '', path = ''] of routes) {
      const { status, body } = await harness.send(method, path, {
        as: operator.caller,
        ...(method === 'PUT' ? { body: {} } : {}),
      });
      expect([method, path, status, body.code]).toEqual([method, path, 403, CODE]);
      expect(body.message).toContain('POST /auth/second-factor');
    }
    const headers = { 'accept-language': 'fa' };
    const persian = await harness.send('GET', '/roles', { as: operator.caller, headers });
    expect(persian.body.message).toContain('ورود دومرحله‌ای');
    const { status, body } = await listRoles(target);
    expect([status, body]).toEqual([403, { message: 'You do not have permission to do this.' }]);
  });

  test('staff without a second factor sees other users as a member does', async () => {
    const [operator, target] = [await joinAs(harness, 'operator'), await join(harness)];
    const seen = await harness.send('GET', `/users/${target.id}`, { as: operator.caller });
    expect([seen.status, 'email' in seen.body.user]).toEqual([200, false]);
    const own = await harness.send('GET', '/auth/me', { as: operator.caller });
    expect(own.body.user.roles).toMatchObject([{ name: 'operator' }]);
  });

  test('withheld permissions cannot be given to a token or an app', async () => {
    const operator = await joinAs(harness, 'operator');
    const createToken = (permissions?: string[]) =>
      harness.send('POST', '/auth/tokens', { as: operator.caller, body: { name: 'x', permissions } });
    expect((await createToken(['users.view_all'])).status).toBe(422);
    const whole = await callerOf(harness, (await createToken()).body.token);
    expect(sorted(whole.permissions)).toEqual(sorted(MEMBER_PERMISSIONS));

    const oauth = oauthOf(harness);
    const scope = 'users.view_all payments.view_own';
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge, scope };
    const credentials = { login: operator.user.username, password: PASSWORD };
    const { html } = await oauth.signIn(oauth.browse(), params, credentials);
    expect(html).toContain('see your balance');
    expect(html).not.toContain('everything about every user');
  });
});

describe('staff with a second factor', () => {
  test('staff gets all permissions with a second factor, in every session, and loses them with it', async () => {
    const operator = await joinAs(harness, 'operator');
    const { secret } = await setUp(harness, operator);
    const signedIn = await logInWith(harness, operator, codeOf(harness, secret));
    const other = { ...operator, token: signedIn.body.token };
    for (const session of [operator, other]) {
      const { caller } = await again(session);
      expect([caller.permissions.has('users.view_all'), caller.withheld]).toEqual([true, undefined]);
    }
    const armed = await again(operator);
    const body = { name: 'script', permissions: ['users.view_all'] };
    const created = await harness.send('POST', '/auth/tokens', { as: armed.caller, body });
    expect(sorted((await callerOf(harness, created.body.token)).permissions)).toEqual(['users.view_all']);

    expect((await disarm(harness, armed, codeOf(harness, secret, 1))).status).toBe(204);
    expect(sorted((await again(other)).caller.permissions)).toEqual(sorted(MEMBER_PERMISSIONS));
    const restricted = await callerOf(harness, created.body.token);
    expect([sorted(restricted.permissions), sorted(restricted.withheld)]).toEqual([[], ['users.view_all']]);
  });

  test('credentials that were issued with the password only never get staff permissions', async () => {
    const operator = await joinAs(harness, 'operator');
    const stolen = (await logIn(harness, operator.user.username)).body.token;
    const as = await callerOf(harness, stolen);
    const created = await harness.send('POST', '/auth/tokens', { as, body: { name: 'for later' } });
    const app = await oauthOf(harness).connect(
      { login: operator.user.username, password: PASSWORD },
      { scope: 'payments.view_own' },
    );
    await setUp(harness, operator);
    const issued = [stolen, created.body.token, app.accessToken];
    expect(await Promise.all(issued.map((token) => isLive(harness, token)))).toEqual([false, false, false]);
    expect((await again(operator)).caller.permissions.has('users.view_all')).toBe(true);
  });

  test('a member who becomes staff gets the permissions only with a second factor', async () => {
    const [one, other] = [await join(harness), await join(harness)];
    await setUp(harness, one);
    for (const { id } of [one, other]) await giveRoles(harness, id, [2]);
    expect((await again(one)).caller.withheld).toBeUndefined();
    expect((await again(other)).caller.withheld?.has('users.view_all')).toBe(true);
  });
});

test('the first administrator signs in, sets up a second factor, and then administers', async () => {
  const root = async (token: string, user: unknown): Promise<Person> => {
    const caller = await callerOf(harness, token);
    return { id: caller.userId, token, caller, user } as Person;
  };
  const { status, body } = await logIn(harness, FIRST.FIRST_ADMINISTRATOR_USERNAME);
  expect(status).toBe(200);
  const first = await root(body.token, body.user);
  expect((await listRoles(first)).body.code).toBe(CODE);
  const { secret } = await setUp(harness, first);
  expect((await listRoles(await root(body.token, body.user))).status).toBe(200);
  const signedIn = await logInWith(harness, first, codeOf(harness, secret));
  expect(signedIn.status).toBe(200);
  expect((await listRoles(await root(signedIn.body.token, body.user))).status).toBe(200);
});

test('members need no second factor', async () => {
  const { caller } = await join(harness);
  expect([sorted(caller.permissions), caller.withheld]).toEqual([sorted(MEMBER_PERMISSIONS), undefined]);
});
