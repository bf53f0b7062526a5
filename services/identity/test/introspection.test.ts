import { DAY_MS } from '@fitness/shared/clock.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { buildToken, hashToken } from '../src/domain/token.ts';
import { createTokenStore } from '../src/store/tokens.ts';
import { callerOf, giveRoles, isLive, join, logIn, PASSWORD, startWorld, type World } from './support.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const introspect = (token: string) => world.identity.call('Introspect', { token });
const refusal = expect.objectContaining({ kind: 'unauthenticated' });

describe('introspection', () => {
  test('says who it is, and what the token carries', async () => {
    const person = await join(world);
    const answer = await introspect(person.token);
    expect(answer).toEqual({
      user_id: person.id,
      permissions: expect.arrayContaining(['posts.view']),
      token_id: hashToken(person.token),
      token_kind: 'session',
    });
  });

  test.each([
    ['empty', () => ''],
    ['something else', () => 'Bearer xyz'],
    ['unknown', () => buildToken('session', Buffer.alloc(30, 7))],
    ['long', () => 'fps_'.repeat(50_000)],
  ])('%s: unauthenticated', async (_name, token) => {
    await expect(introspect(token())).rejects.toEqual(refusal);
  });

  test('a token with one letter changed is unauthenticated', async () => {
    const { token } = await join(world);
    const last = token.at(-1) === '0' ? '1' : '0';
    await expect(introspect(token.slice(0, -1) + last)).rejects.toEqual(refusal);
  });

  test('a token is valid for 30 days and not a moment longer', async () => {
    const { token } = await join(world);
    world.clock.advance(30 * DAY_MS - 1);
    expect(await isLive(world, token)).toBe(true);
    world.clock.advance(1);
    expect(await isLive(world, token)).toBe(false);
    world.clock.advance(-30 * DAY_MS);
  });

  test('a change of roles, or of what a role allows, holds at the next question', async () => {
    const person = await join(world);
    await giveRoles(world, person.id, [2]);
    expect((await introspect(person.token)).permissions).toContain('users.view_all');
    const roles = world.database.collection('roles');
    await roles.updateOne({ _id: 2 as never }, { $pull: { permissions: 'users.view_all' as never } });
    expect((await introspect(person.token)).permissions).not.toContain('users.view_all');
    await roles.updateOne({ _id: 2 as never }, { $push: { permissions: 'users.view_all' as never } });
    await giveRoles(world, person.id, []);
    expect((await introspect(person.token)).permissions).toEqual([]);
  });

  test('an unsigned call is refused', async () => {
    const { createGrpcClient } = await import('@fitness/shared/grpc/client.ts');
    const { createCallerSigner } = await import('@fitness/shared/caller.ts');
    const { systemClock } = await import('@fitness/shared/clock.ts');
    const { grpcDefinitions } = await import('@fitness/shared/grpc/load.ts');
    const person = await join(world);
    const stranger = createGrpcClient({
      definition: grpcDefinitions.identity(),
      address: world.grpcAddress,
      target: 'identity',
      from: 'gateway',
      signer: createCallerSigner('another secret of thirty-two characters', systemClock),
    });
    await expect(stranger.call('Introspect', { token: person.token })).rejects.toThrow('unsigned call');
    stranger.close();
  });
});

describe('revocation', () => {
  const revokeAll = (userId: number) => {
    const tokens = createTokenStore(world.database);
    return inTransaction(world.database, (session) => tokens.revokeAll(session, userId));
  };

  test('once it is answered no introspection lets anyone in, under the load of twenty askers', async () => {
    const person = await join(world);
    const others = await Promise.all([1, 2, 3].map(() => logIn(world, person.user.username)));
    const all = [person.token, ...others.map((answer) => answer.body.token as string)];
    let revokedAt = Number.POSITIVE_INFINITY;
    let stop = false;
    let letInBefore = 0;
    let answeredAfter = 0;
    const letInAfter: number[] = [];
    const asker = async (index: number): Promise<void> => {
      while (!stop) {
        const startedAt = performance.now();
        const live = await isLive(world, all[index % all.length] ?? '');
        if (live && startedAt > revokedAt) letInAfter.push(startedAt - revokedAt);
        if (live) letInBefore += 1;
        if (startedAt > revokedAt) answeredAfter += 1;
      }
    };
    const askers = Array.from({ length: 20 }, (_, index) => asker(index));
    try {
      await eventually(() => letInBefore >= 20);
      await revokeAll(person.id);
      revokedAt = performance.now();
      await eventually(() => answeredAfter >= 200);
    } finally {
      stop = true;
    }
    await Promise.all(askers);
    expect(letInAfter).toEqual([]);
    expect(await world.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(0);
  });

  test('a login that races with a change of the password leaves no live token of the old one', async () => {
    const person = await join(world);
    const change = () =>
      world.send('PUT', '/auth/change-password', {
        as: person.caller,
        body: { current_password: PASSWORD, password: 'another password' },
      });
    const [changed, ...logins] = await Promise.all([
      change(),
      ...Array.from({ length: 20 }, () => logIn(world, person.user.username)),
    ]);
    expect(changed?.status).toBe(200);
    for (const login of logins) expect([200, 422]).toContain(login.status);
    const issued = logins.filter((login) => login.status === 200).map((login) => login.body.token as string);
    const live = await Promise.all(issued.map((token) => isLive(world, token)));
    expect(live).toEqual(issued.map(() => false));
    expect(await isLive(world, person.token)).toBe(true);
    expect((await logIn(world, person.user.username, 'another password')).status).toBe(200);
  });

  test('a token whose user was revoked since the password was looked at is not issued', async () => {
    const person = await join(world);
    const tokens = createTokenStore(world.database);
    const user = await world.database.collection('users').findOne({ _id: person.id as never });
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
      inTransaction(world.database, (session) => tokens.insert(session, row, at));
    expect(await insert(epoch)).toBe(false);
    expect(await world.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(0);
    expect(await insert(epoch + 1)).toBe(true);
  });

  test('twenty personal tokens made while all credentials are revoked: none is left', async () => {
    const person = await join(world);
    const make = (index: number) =>
      world.send('POST', '/auth/tokens', { as: person.caller, body: { name: `token ${index}` } });
    const makers = Array.from({ length: 20 }, (_, index) => make(index));
    await new Promise((resolve) => setTimeout(resolve, 15));
    await revokeAll(person.id);
    const answers = await Promise.all(makers);
    for (const answer of answers) expect([201, 401]).toContain(answer.status);
    expect(await world.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(0);
    await expect(callerOf(world, person.token)).rejects.toEqual(refusal);
  });
});

describe('users for other services', () => {
  test('come in one call, whole, without those that do not exist', async () => {
    const person = await join(world);
    const { users } = await world.identity.call('GetUsers', { ids: [person.id, 999_999_999] });
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
      },
    ]);
  });

  test('more than 200 ids are refused', async () => {
    const ids = Array.from({ length: 201 }, (_, index) => index + 1);
    const refused = expect.objectContaining({ kind: 'validation' });
    await expect(world.identity.call('GetUsers', { ids })).rejects.toEqual(refused);
    await expect(world.identity.call('GetHiddenUsers', { ids })).rejects.toEqual(refused);
  });

  test('hidden ones are told apart: pending, and gone', async () => {
    const [active, pending, erased] = [await join(world), await join(world), await join(world)];
    const { createUserStore } = await import('../src/store/users.ts');
    const users = createUserStore(world.database);
    const now = world.clock.now();
    await inTransaction(world.database, async (session) => {
      await users.scheduleDeletion(session, pending.id, { requestedAt: now, scheduledAt: now });
      await users.erase(session, erased.id, now);
    });
    const ids = [active.id, pending.id, erased.id, 999_999_999];
    const answer = await world.identity.call('GetHiddenUsers', { ids });
    expect(answer).toEqual({ pending_ids: [pending.id], gone_ids: [erased.id, 999_999_999] });
    const { users: found } = await world.identity.call('GetUsers', { ids });
    expect(new Set(found.map((user) => user.id))).toEqual(new Set([active.id, pending.id]));
    expect(await isLive(world, erased.token)).toBe(false);
  });
});
