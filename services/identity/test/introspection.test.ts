import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { OPERATOR_PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import type { CallerSigner } from '@fitness/shared/process-identity/caller-context.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { buildToken, hashToken } from '../src/domain/token.ts';
import { createTokens } from '../src/store/tokens.ts';
import {
  callerOf,
  giveRoles,
  type Harness,
  isLive,
  join,
  joinAs,
  logIn,
  PASSWORD,
  revocations,
  startHarness,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const introspect = (token: string) => harness.identity.call('Introspect', { token });
const refusal = expect.objectContaining({ kind: 'unauthenticated' });

describe('introspection', () => {
  test('introspection returns the user, the token and its permissions', async () => {
    const person = await join(harness);
    // A process may not know its store id at the first call.
    const answer = await eventually(async () => {
      const introspected = await introspect(person.token);
      return introspected.epoch_store_id !== '' && introspected;
    });
    expect(answer).toEqual({
      user_id: person.id,
      permissions: expect.arrayContaining(['posts.view']),
      withheld: [],
      page: '',
      second_factor: false,
      grantable: [],
      audience: '',
      token_id: hashToken(person.token),
      token_kind: 'session',
      valid_for_ms: 30 * DAY_MS,
      epoch_store_id: expect.any(String),
    });
  });

  test.each([
    ['empty', () => ''],
    ['something else', () => 'Bearer xyz'],
    ['unknown', () => buildToken('session', Buffer.alloc(30, 7))],
    ['long', () => 'fps_'.repeat(50_000)],
  ])('an invalid token (%s) is unauthenticated', async (_name, token) => {
    await expect(introspect(token())).rejects.toEqual(refusal);
  });

  test('a token with one changed character is unauthenticated', async () => {
    const { token } = await join(harness);
    const last = token.at(-1) === '0' ? '1' : '0';
    await expect(introspect(token.slice(0, -1) + last)).rejects.toEqual(refusal);
  });

  test('a session token is accepted for exactly 30 days', async () => {
    const { token } = await join(harness);
    harness.clock.advance(30 * DAY_MS - 1);
    expect(await isLive(harness, token)).toBe(true);
    harness.clock.advance(1);
    expect(await isLive(harness, token)).toBe(false);
    harness.clock.advance(-30 * DAY_MS);
  });

  test('a change of roles or of their permissions applies to the next introspection', async () => {
    const person = await join(harness);
    await giveRoles(harness, person.id, [2]);
    expect((await introspect(person.token)).permissions).toContain('users.view_all');
    const roles = harness.database.collection('roles');
    await roles.updateOne({ _id: 2 as never }, { $pull: { permissions: 'users.view_all' as never } });
    expect((await introspect(person.token)).permissions).not.toContain('users.view_all');
    await roles.updateOne({ _id: 2 as never }, { $push: { permissions: 'users.view_all' as never } });
    await giveRoles(harness, person.id, []);
    expect((await introspect(person.token)).permissions).toEqual([]);
  });

  test('only calls that the gateway has signed get a result', async () => {
    const { createGrpcClient } = await import('@fitness/shared/grpc/client.ts');
    const { grpcDefinitions } = await import('@fitness/shared/grpc/load.ts');
    const { strangerSigner, testSigner } = await import('@fitness/shared/testing/harness.ts');
    const person = await join(harness);
    const introspectAs = async (signer: CallerSigner): Promise<void> => {
      const client = createGrpcClient({
        definition: grpcDefinitions.identity(),
        address: harness.grpcAddress,
        target: 'identity',
        signer,
      });
      try {
        await client.call('Introspect', { token: person.token });
      } finally {
        client.close();
      }
    };
    await expect(introspectAs(strangerSigner('gateway'))).rejects.toThrow('unsigned call');
    // A compromised process could try out tokens.
    await expect(introspectAs(testSigner('content'))).rejects.toThrow('not for content');
    await introspectAs(testSigner('gateway'));
  });
});

describe('revocation', () => {
  const revokeAll = (userId: number) => {
    const tokens = createTokens(harness.database, revocations);
    return inTransaction(harness.database, (session) => tokens.revokeAll(session, userId));
  };

  test('a revocation takes effect before it returns, even with twenty concurrent callers', async () => {
    const person = await join(harness);
    const others = await Promise.all([1, 2, 3].map(() => logIn(harness, person.user.username)));
    const all = [person.token, ...others.map((answer) => answer.body.token as string)];
    let revokedAt = Number.POSITIVE_INFINITY;
    let stop = false;
    let accepted = 0;
    let answeredAfter = 0;
    const acceptedAfterMs: number[] = [];
    const call = async (index: number): Promise<void> => {
      while (!stop) {
        const startedAt = performance.now();
        const live = await isLive(harness, all[index % all.length] ?? '');
        if (live && startedAt > revokedAt) acceptedAfterMs.push(startedAt - revokedAt);
        if (live) accepted += 1;
        if (startedAt > revokedAt) answeredAfter += 1;
      }
    };
    const callers = Array.from({ length: 20 }, (_, index) => call(index));
    try {
      await eventually(() => accepted >= 20);
      await revokeAll(person.id);
      revokedAt = performance.now();
      await eventually(() => answeredAfter >= 60);
    } finally {
      stop = true;
    }
    await Promise.all(callers);
    expect(acceptedAfterMs).toEqual([]);
    expect(await harness.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(0);
  });

  test('a password change revokes tokens of concurrent sign-ins with the old password', async () => {
    const person = await join(harness);
    const change = () =>
      harness.send('PUT', '/auth/change-password', {
        as: person.caller,
        body: { current_password: PASSWORD, password: 'another password' },
      });
    const [changed, ...logins] = await Promise.all([
      change(),
      ...Array.from({ length: 20 }, () => logIn(harness, person.user.username)),
    ]);
    expect(changed?.status).toBe(200);
    for (const login of logins) expect([200, 422]).toContain(login.status);
    const issued = logins.filter((login) => login.status === 200).map((login) => login.body.token as string);
    const live = await Promise.all(issued.map((token) => isLive(harness, token)));
    expect(live).toEqual(issued.map(() => false));
    expect(await isLive(harness, person.token)).toBe(true);
    expect((await logIn(harness, person.user.username, 'another password')).status).toBe(200);
  });

  test('after a revocation, no token is issued for a password that was checked before', async () => {
    const person = await join(harness);
    const tokens = createTokens(harness.database, revocations);
    const user = await harness.database.collection('users').findOne({ _id: person.id as never });
    const epoch = Number(user?.credential_epoch);
    await revokeAll(person.id);
    const row = {
      _id: hashToken('x'),
      user_id: person.id,
      kind: 'session' as const,
      token_number: null,
      name: null,
      permissions: null,
      created_at: new Date(0),
      expires_at: new Date('2100-01-01T00:00:00Z'),
    };
    const insert = (at: number) =>
      inTransaction(harness.database, (session) => tokens.insert(session, row, at));
    expect(await insert(epoch)).toBe(false);
    expect(await harness.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(0);
    expect(await insert(epoch + 1)).toBe(true);
  });

  test('a revocation leaves none of twenty personal tokens that are created concurrently', async () => {
    const person = await join(harness);
    const make = (index: number) =>
      harness.send('POST', '/auth/tokens', { as: person.caller, body: { name: `token ${index}` } });
    const makers = Array.from({ length: 20 }, (_, index) => make(index));
    await new Promise((resolve) => setTimeout(resolve, 15));
    await revokeAll(person.id);
    const answers = await Promise.all(makers);
    for (const answer of answers) expect([201, 401]).toContain(answer.status);
    expect(await harness.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(0);
    await expect(callerOf(harness, person.token)).rejects.toEqual(refusal);
  });
});

describe('GetUsers and GetHiddenUsers', () => {
  test('GetUsers returns existing users with every field', async () => {
    const person = await join(harness);
    const { users } = await harness.identity.call('GetUsers', { ids: [person.id, 999_999_999] });
    expect(users).toEqual([
      {
        id: person.id,
        email: person.user.email,
        phone: person.user.phone,
        username: person.user.username,
        first_name: 'Nima',
        last_name: 'Yushij',
        created_at: person.user.created_at,
        referral_code: person.user.referral_code,
        is_trainer: false,
        is_gym_owner: false,
        operator_permissions: [],
      },
    ]);
  });

  test('GetUsers returns the operator permissions of an account’s roles, usable or not', async () => {
    const people = [await join(harness), await joinAs(harness, 'operator'), await join(harness)];
    const [member, operator, raised] = people.map(({ id }) => id) as [number, number, number];
    const roles = harness.database.collection('roles');
    await roles.insertOne({
      _id: 70 as never,
      name: 'cashier',
      title: 'Cashier',
      permissions: ['posts.view', 'payments.view_all'],
    });
    await giveRoles(harness, raised, [1, 70]);
    const operatorPermissions = async () => {
      const { users } = await harness.identity.call('GetUsers', { ids: [member, operator, raised] });
      return new Map(users.map((user) => [user.id, user.operator_permissions]));
    };
    const permissions = await operatorPermissions();
    expect(permissions.get(member)).toEqual([]);
    expect(permissions.get(raised)).toEqual(['payments.view_all']);
    const ofOperators = [...OPERATOR_PERMISSIONS].filter((permission) => permission !== 'roles.manage');
    expect(permissions.get(operator)?.toSorted()).toEqual(ofOperators.toSorted());
    await roles.updateOne({ _id: 1 as never }, { $push: { permissions: 'users.view_all' as never } });
    try {
      expect((await operatorPermissions()).get(member)).toEqual(['users.view_all']);
    } finally {
      await roles.updateOne({ _id: 1 as never }, { $pull: { permissions: 'users.view_all' as never } });
    }
  });

  test('GetUsers and GetHiddenUsers refuse more than 200 ids', async () => {
    const ids = Array.from({ length: 201 }, (_, index) => index + 1);
    const refused = expect.objectContaining({ kind: 'validation' });
    await expect(harness.identity.call('GetUsers', { ids })).rejects.toEqual(refused);
    await expect(harness.identity.call('GetHiddenUsers', { ids })).rejects.toEqual(refused);
  });

  test('GetHiddenUsers distinguishes pending accounts from erased and unknown ones', async () => {
    const [active, pending, erased] = [await join(harness), await join(harness), await join(harness)];
    const { createUsers } = await import('../src/store/users.ts');
    const users = createUsers(harness.database, revocations);
    const now = harness.clock.now();
    await inTransaction(harness.database, async (session) => {
      await users.scheduleDeletion(session, pending.id, { requestedAt: now, scheduledAt: now });
      await users.erase(session, erased.id, now);
    });
    const ids = [active.id, pending.id, erased.id, 999_999_999];
    const answer = await harness.identity.call('GetHiddenUsers', { ids });
    expect(answer).toEqual({ pending_ids: [pending.id], gone_ids: [erased.id, 999_999_999] });
    const { users: visible } = await harness.identity.call('GetUsers', { ids });
    expect(new Set(visible.map((user) => user.id))).toEqual(new Set([active.id, pending.id]));
    expect(await isLive(harness, erased.token)).toBe(false);
  });
});
