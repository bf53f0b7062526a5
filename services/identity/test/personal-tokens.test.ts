import type { UserCaller } from '@fitness/shared/caller.ts';
import { DAY_MS } from '@fitness/shared/clock.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { callerOf, isLive, join, type Person, startWorld, type World } from './support.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const make = (as: UserCaller, body: Record<string, unknown> = {}) =>
  world.send('POST', '/auth/tokens', { as, body: { name: 'my script', ...body } });
const list = (as: UserCaller, query = '') => world.send('GET', `/auth/tokens${query}`, { as });

describe('a personal access token', () => {
  test('is shown once, carries what its maker may, and is listed without its secret', async () => {
    const person = await join(world);
    const { status, body } = await make(person.caller);
    expect(status).toBe(201);
    expect(body).toEqual({
      token: expect.stringMatching(/^fpp_[A-Za-z0-9_-]{40}[0-9a-f]{8}$/),
      data: {
        id: expect.any(Number),
        name: 'my script',
        permissions: null,
        created_at: expect.any(String),
        expires_at: expect.any(String),
      },
    });
    const caller = await callerOf(world, body.token);
    expect(caller.tokenKind).toBe('personal');
    expect(caller.permissions).toEqual(person.caller.permissions);
    const listed = await list(person.caller);
    expect(listed.body.data).toEqual([body.data]);
    expect(listed.text).not.toContain(body.token);
  });

  test('carries only the permissions it was given', async () => {
    const person = await join(world);
    const { body } = await make(person.caller, { permissions: ['posts.view', 'posts.view'] });
    expect(body.data.permissions).toEqual(['posts.view']);
    expect([...(await callerOf(world, body.token)).permissions]).toEqual(['posts.view']);
  });

  test('loses what its user loses', async () => {
    const person = await join(world);
    const { body } = await make(person.caller, { permissions: ['posts.view'] });
    await world.database
      .collection('users')
      .updateOne({ _id: person.id as never }, { $set: { role_ids: [] } });
    expect((await callerOf(world, body.token)).permissions.size).toBe(0);
  });

  test('ends after 30 days, or when it was told to, in UTC or with a zone', async () => {
    const person = await join(world);
    const { body } = await make(person.caller);
    expect(Date.parse(`${body.data.expires_at}Z`) - Date.parse(`${body.data.created_at}Z`)).toBe(30 * DAY_MS);
    const utc = await make(person.caller, { expires_at: '2090-01-01 12:00:00' });
    expect(utc.body.data.expires_at).toBe('2090-01-01 12:00:00');
    const iso = await make(person.caller, { expires_at: '2090-01-01T12:00:00+03:30' });
    expect(iso.body.data.expires_at).toBe('2090-01-01 08:30:00');
  });

  test.each([
    ['name', { name: undefined }],
    ['name', { name: ' ' }],
    ['name', { name: 'x'.repeat(101) }],
    ['name', { name: 'half \ud800' }],
    ['permissions', { permissions: ['users.view_all'] }],
    ['permissions', { permissions: ['posts.view', 'no.such_permission'] }],
    ['permissions', { permissions: 'posts.view' }],
    ['expires_at', { expires_at: '2020-01-01 00:00:00' }],
    ['expires_at', { expires_at: '2090-02-30 00:00:00' }],
    ['expires_at', { expires_at: 'tomorrow' }],
    ['expires_at', { expires_at: 5 }],
  ])('a bad %s is 422 under its name', async (field, bad) => {
    const person = await join(world);
    const { status, body } = await make(person.caller, bad);
    expect(status).toBe(422);
    expect(Object.keys(body.errors)).toEqual([field]);
    expect((await list(person.caller)).body.data).toEqual([]);
  });

  test('begets none stronger than itself, also when nothing is asked for', async () => {
    const person = await join(world);
    const parent = await make(person.caller, { permissions: ['posts.view'] });
    const as = await callerOf(world, parent.body.token);
    expect((await make(as, { permissions: ['posts.create'] })).status).toBe(422);
    const child = await make(as);
    expect(child.body.data.permissions).toEqual(['posts.view']);
    expect([...(await callerOf(world, child.body.token)).permissions]).toEqual(['posts.view']);
  });

  test('begets none that outlives it; a session token does not bind its children', async () => {
    const person = await join(world);
    const parent = await make(person.caller, { expires_at: '2090-01-01 12:00:00' });
    expect(parent.status).toBe(201);
    const brief = await make(person.caller, {
      expires_at: new Date(world.clock.now().getTime() + DAY_MS).toISOString(),
    });
    const as = await callerOf(world, brief.body.token);
    const child = await make(as);
    expect(child.body.data.expires_at).toBe(brief.body.data.expires_at);
    const same = await make(as, { expires_at: brief.body.data.expires_at });
    expect([same.status, same.body.data.expires_at]).toEqual([201, brief.body.data.expires_at]);
    const before = (await list(person.caller)).body.meta.total;
    const later = await make(as, { expires_at: '2090-01-01 12:00:00' });
    expect([later.status, later.body.errors]).toEqual([
      422,
      { expires_at: ['A token cannot outlive the one that it is made with.'] },
    ]);
    expect((await list(person.caller)).body.meta.total).toBe(before);
  });

  test('whose parent lives longer than the default ends at the default', async () => {
    const person = await join(world);
    const parent = await make(person.caller, { expires_at: '2090-01-01 12:00:00' });
    const child = await make(await callerOf(world, parent.body.token));
    const { created_at, expires_at } = child.body.data;
    expect(Date.parse(`${expires_at}Z`) - Date.parse(`${created_at}Z`)).toBe(30 * DAY_MS);
  });

  test('a dead token makes none', async () => {
    const person = await join(world);
    await world.send('POST', '/auth/logout', { as: person.caller });
    expect((await make(person.caller)).status).toBe(401);
  });
});

describe('revoking', () => {
  test('204, and it is dead at once; again: 404', async () => {
    const person = await join(world);
    const { body } = await make(person.caller);
    const revoke = () => world.send('DELETE', `/auth/tokens/${body.data.id}`, { as: person.caller });
    expect((await revoke()).status).toBe(204);
    expect(await isLive(world, body.token)).toBe(false);
    expect((await revoke()).status).toBe(404);
    expect((await list(person.caller)).body.data).toEqual([]);
  });

  test("another user's, an unknown and a malformed id: the same 404", async () => {
    const [owner, other] = [await join(world), await join(world)];
    const { body } = await make(owner.caller);
    const tries = [`${body.data.id}`, '999999999', 'abc', '0', '-1', '1.5'];
    const answers = await Promise.all(
      tries.map((id) => world.send('DELETE', `/auth/tokens/${id}`, { as: other.caller })),
    );
    expect(answers.map((answer) => [answer.status, answer.text])).toEqual(
      tries.map(() => [404, '{"message":"Not found."}']),
    );
    expect(await isLive(world, body.token)).toBe(true);
  });
});

describe('the list', () => {
  test('newest first, by page and by cursor, expired ones left out', async () => {
    const person = await join(world);
    const ids: number[] = [];
    for (let index = 0; index < 5; index += 1) ids.unshift((await make(person.caller)).body.data.id);
    const first = await list(person.caller, '?per_page=2');
    expect(first.body.data.map((row: { id: number }) => row.id)).toEqual(ids.slice(0, 2));
    expect(first.body.meta).toMatchObject({ total: 5, last_page: 3, current_page: 1 });
    const second = await list(person.caller, `?per_page=2&cursor=${first.body.meta.next_cursor}`);
    expect(second.body.data.map((row: { id: number }) => row.id)).toEqual(ids.slice(2, 4));
    const past = await list(person.caller, '?per_page=2&page=9');
    expect(past.body.data).toEqual([]);
    world.clock.advance(31 * DAY_MS);
    expect((await list(person.caller)).body.data).toEqual([]);
    world.clock.advance(-31 * DAY_MS);
  });

  test('shows nobody else his', async () => {
    const [owner, other] = [await join(world), await join(world)];
    await make(owner.caller);
    expect((await list(other.caller)).body.data).toEqual([]);
  });
});

describe('a third-party OAuth token', () => {
  const oauth = (person: Person): UserCaller => ({ ...person.caller, tokenKind: 'oauth' });

  test.each([
    ['GET', '/auth/tokens', undefined],
    ['POST', '/auth/tokens', { name: '' }],
    ['DELETE', '/auth/tokens/1', undefined],
  ])('%s %s: 403, before anything is read', async (method, path, body) => {
    const person = await join(world);
    const { status } = await world.send(method, path, {
      as: oauth(person),
      ...(body === undefined ? {} : { body }),
    });
    expect(status).toBe(403);
  });
});

test.each([
  ['GET', '/auth/tokens'],
  ['POST', '/auth/tokens'],
  ['DELETE', '/auth/tokens/1'],
])('%s %s without a token: 401', async (method, path) => {
  expect((await world.send(method, path)).status).toBe(401);
});

describe('a token that was cut down', () => {
  /** Makes a personal token with these permissions (undefined: whatever the maker may) and presents it. */
  const cutDown = async (maker: UserCaller, permissions?: string[]) => {
    const { body } = await make(maker, permissions === undefined ? {} : { permissions });
    return { id: body.data.id as number, caller: await callerOf(world, body.token), token: body.token };
  };
  const idsSeen = async (as: UserCaller, query = ''): Promise<number[]> =>
    (await list(as, query)).body.data.map((row: { id: number }) => row.id);
  const remove = (as: UserCaller, id: number) => world.send('DELETE', `/auth/tokens/${id}`, { as });

  test('sees and revokes the tokens that may no more than itself, and no others', async () => {
    const person = await join(world);
    const whole = await cutDown(person.caller);
    const wide = await cutDown(person.caller, ['posts.view', 'gyms.create']);
    const narrow = await cutDown(person.caller, ['posts.view']);
    const idle = await cutDown(person.caller, []);
    expect(await idsSeen(person.caller)).toEqual([idle.id, narrow.id, wide.id, whole.id]);
    expect(await idsSeen(whole.caller)).toEqual([idle.id, narrow.id, wide.id, whole.id]);
    expect(await idsSeen(wide.caller)).toEqual([idle.id, narrow.id, wide.id]);
    const seen = await list(narrow.caller, '?per_page=1');
    expect([seen.body.data[0].id, seen.body.meta.total]).toEqual([idle.id, 2]);
    const cursor = seen.body.meta.next_cursor;
    expect(await idsSeen(narrow.caller, `?per_page=1&cursor=${cursor}`)).toEqual([narrow.id]);

    const nothing = await remove(narrow.caller, 999_999_999);
    for (const stronger of [wide, whole]) {
      const refused = await remove(narrow.caller, stronger.id);
      expect([refused.status, refused.text]).toEqual([404, nothing.text]);
      expect(await isLive(world, stronger.token)).toBe(true);
    }
    expect((await remove(narrow.caller, idle.id)).status).toBe(204);
    expect((await remove(narrow.caller, narrow.id)).status).toBe(204);
    expect(await isLive(world, narrow.token)).toBe(false);
    expect((await remove(wide.caller, whole.id)).status).toBe(404);
    expect((await remove(whole.caller, wide.id)).status).toBe(204);
  });

  test('does not say where money goes; a log-in and a whole personal token do', async () => {
    const person = await join(world);
    const change = (as: UserCaller, bank_account_number: string | null) =>
      world.send('PUT', '/auth/me', { as, body: { bank_account_number, height: 180 } });
    const whole = await cutDown(person.caller);
    const narrow = await cutDown(person.caller, ['payments.view_own']);
    expect((await change(person.caller, 'IR1')).body.user.bank_account_number).toBe('IR1');
    expect((await change(whole.caller, 'IR2')).body.user.bank_account_number).toBe('IR2');
    for (const account of ['IR3', null]) {
      const { status, body } = await change(narrow.caller, account);
      expect([status, Object.keys(body)]).toEqual([403, ['message']]);
    }
    // The rest of the profile is not what this is about, nor what stays as it is.
    const unchanged = await change(narrow.caller, 'IR2');
    expect([unchanged.status, unchanged.body.user.height]).toEqual([200, 180]);
  });
});
