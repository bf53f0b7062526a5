import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { callerOf, type Harness, isLive, join, PASSWORD, type Person, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const make = (as: UserCaller, body: Record<string, unknown> = {}) =>
  harness.send('POST', '/auth/tokens', { as, body: { name: 'my script', ...body } });
const list = (as: UserCaller, query = '') => harness.send('GET', `/auth/tokens${query}`, { as });

describe('a personal access token', () => {
  test('is returned once, has the permissions of its creator, and is listed without its secret', async () => {
    const person = await join(harness);
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
    const caller = await callerOf(harness, body.token);
    expect(caller.tokenKind).toBe('personal');
    expect(caller.permissions).toEqual(person.caller.permissions);
    const listed = await list(person.caller);
    expect(listed.body.data).toEqual([body.data]);
    expect(listed.text).not.toContain(body.token);
  });

  test('can be restricted to some permissions', async () => {
    const person = await join(harness);
    const { body } = await make(person.caller, { permissions: ['posts.view', 'posts.view'] });
    expect(body.data.permissions).toEqual(['posts.view']);
    expect([...(await callerOf(harness, body.token)).permissions]).toEqual(['posts.view']);
  });

  test('loses the permissions that its user loses', async () => {
    const person = await join(harness);
    const { body } = await make(person.caller, { permissions: ['posts.view'] });
    await harness.database
      .collection('users')
      .updateOne({ _id: person.id as never }, { $set: { role_ids: [] } });
    expect((await callerOf(harness, body.token)).permissions.size).toBe(0);
  });

  test('expires after 30 days or at the given time, which may have a time zone', async () => {
    const person = await join(harness);
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
  ])('with an invalid %s is answered with 422 under its name', async (field, invalid) => {
    const person = await join(harness);
    const { status, body } = await make(person.caller, invalid);
    expect(status).toBe(422);
    expect(Object.keys(body.errors)).toEqual([field]);
    expect((await list(person.caller)).body.data).toEqual([]);
  });

  test('cannot create a token with more permissions, not even by default', async () => {
    const person = await join(harness);
    const parent = await make(person.caller, { permissions: ['posts.view'] });
    const as = await callerOf(harness, parent.body.token);
    expect((await make(as, { permissions: ['posts.create'] })).status).toBe(422);
    const child = await make(as);
    expect(child.body.data.permissions).toEqual(['posts.view']);
    expect([...(await callerOf(harness, child.body.token)).permissions]).toEqual(['posts.view']);
  });

  test('cannot create a token that expires later; a session token can', async () => {
    const person = await join(harness);
    const bySession = await make(person.caller, { expires_at: '2090-01-01 12:00:00' });
    expect(bySession.status).toBe(201);
    const brief = await make(person.caller, {
      expires_at: new Date(harness.clock.now().getTime() + DAY_MS).toISOString(),
    });
    const as = await callerOf(harness, brief.body.token);
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

  test('created by a token with a longer lifetime has the default lifetime', async () => {
    const person = await join(harness);
    const parent = await make(person.caller, { expires_at: '2090-01-01 12:00:00' });
    const child = await make(await callerOf(harness, parent.body.token));
    const { created_at, expires_at } = child.body.data;
    expect(Date.parse(`${expires_at}Z`) - Date.parse(`${created_at}Z`)).toBe(30 * DAY_MS);
  });

  test('cannot be created by a revoked token', async () => {
    const person = await join(harness);
    await harness.send('POST', '/auth/logout', { as: person.caller });
    expect((await make(person.caller)).status).toBe(401);
  });
});

describe('revoking a personal token', () => {
  test('takes effect at once; a repetition answers 404', async () => {
    const person = await join(harness);
    const { body } = await make(person.caller);
    const revoke = () => harness.send('DELETE', `/auth/tokens/${body.data.id}`, { as: person.caller });
    expect((await revoke()).status).toBe(204);
    expect(await isLive(harness, body.token)).toBe(false);
    expect((await revoke()).status).toBe(404);
    expect((await list(person.caller)).body.data).toEqual([]);
  });

  test('answers the same 404 for a token of another user, an unknown and a malformed id', async () => {
    const [owner, other] = [await join(harness), await join(harness)];
    const { body } = await make(owner.caller);
    const tries = [`${body.data.id}`, '999999999', 'abc', '0', '-1', '1.5'];
    const answers = await Promise.all(
      tries.map((id) => harness.send('DELETE', `/auth/tokens/${id}`, { as: other.caller })),
    );
    expect(answers.map((answer) => [answer.status, answer.text])).toEqual(
      tries.map(() => [404, '{"message":"Not found."}']),
    );
    expect(await isLive(harness, body.token)).toBe(true);
  });
});

describe('the list of personal tokens', () => {
  test('has the newest first, by page and by cursor, without expired ones', async () => {
    const person = await join(harness);
    const ids: number[] = [];
    for (let index = 0; index < 5; index += 1) ids.unshift((await make(person.caller)).body.data.id);
    const first = await list(person.caller, '?per_page=2');
    expect(first.body.data.map((row: { id: number }) => row.id)).toEqual(ids.slice(0, 2));
    expect(first.body.meta).toMatchObject({ total: 5, last_page: 3, current_page: 1 });
    const second = await list(person.caller, `?per_page=2&cursor=${first.body.meta.next_cursor}`);
    expect(second.body.data.map((row: { id: number }) => row.id)).toEqual(ids.slice(2, 4));
    const past = await list(person.caller, '?per_page=2&page=9');
    expect(past.body.data).toEqual([]);
    harness.clock.advance(31 * DAY_MS);
    expect((await list(person.caller)).body.data).toEqual([]);
    harness.clock.advance(-31 * DAY_MS);
  });

  test('contains only tokens of the caller', async () => {
    const [owner, other] = [await join(harness), await join(harness)];
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
  ])('is refused by %s %s before the body is validated', async (method, path, body) => {
    const person = await join(harness);
    const { status } = await harness.send(method, path, {
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
])('%s %s requires a token', async (method, path) => {
  expect((await harness.send(method, path)).status).toBe(401);
});

describe('a restricted token', () => {
  /** Creates a personal token restricted to these permissions (undefined: unrestricted). */
  const create = async (creator: UserCaller, permissions?: string[]) => {
    const { body } = await make(creator, permissions === undefined ? {} : { permissions });
    return { id: body.data.id as number, caller: await callerOf(harness, body.token), token: body.token };
  };
  const idsSeen = async (as: UserCaller, query = ''): Promise<number[]> =>
    (await list(as, query)).body.data.map((row: { id: number }) => row.id);
  const remove = (as: UserCaller, id: number) => harness.send('DELETE', `/auth/tokens/${id}`, { as });

  test('lists and revokes only tokens restricted to a subset of its permissions', async () => {
    const person = await join(harness);
    const unrestricted = await create(person.caller);
    const two = await create(person.caller, ['posts.view', 'gyms.create']);
    const one = await create(person.caller, ['posts.view']);
    const none = await create(person.caller, []);
    expect(await idsSeen(person.caller)).toEqual([none.id, one.id, two.id, unrestricted.id]);
    expect(await idsSeen(unrestricted.caller)).toEqual([none.id, one.id, two.id, unrestricted.id]);
    expect(await idsSeen(two.caller)).toEqual([none.id, one.id, two.id]);
    const seen = await list(one.caller, '?per_page=1');
    expect([seen.body.data[0].id, seen.body.meta.total]).toEqual([none.id, 2]);
    const cursor = seen.body.meta.next_cursor;
    expect(await idsSeen(one.caller, `?per_page=1&cursor=${cursor}`)).toEqual([one.id]);

    const unknown = await remove(one.caller, 999_999_999);
    for (const stronger of [two, unrestricted]) {
      const refused = await remove(one.caller, stronger.id);
      expect([refused.status, refused.text]).toEqual([404, unknown.text]);
      expect(await isLive(harness, stronger.token)).toBe(true);
    }
    expect((await remove(one.caller, none.id)).status).toBe(204);
    expect((await remove(one.caller, one.id)).status).toBe(204);
    expect(await isLive(harness, one.token)).toBe(false);
    expect((await remove(two.caller, unrestricted.id)).status).toBe(404);
    expect((await remove(unrestricted.caller, two.id)).status).toBe(204);
  });

  test('cannot change the bank account; sessions and unrestricted personal tokens can', async () => {
    const person = await join(harness);
    const change = (as: UserCaller, bank_account_number: string | null) =>
      harness.send('PUT', '/auth/me', {
        as,
        body: { bank_account_number, height: 180, current_password: PASSWORD },
      });
    const unrestricted = await create(person.caller);
    const restricted = await create(person.caller, ['payments.view_own']);
    expect((await change(person.caller, 'IR1')).body.user.bank_account_number).toBe('IR1');
    expect((await change(unrestricted.caller, 'IR2')).body.user.bank_account_number).toBe('IR2');
    for (const account of ['IR3', null]) {
      const { status, body } = await change(restricted.caller, account);
      expect([status, Object.keys(body)]).toEqual([403, ['message']]);
    }
    // It can change other fields, and repeat the current bank account.
    const unchanged = await change(restricted.caller, 'IR2');
    expect([unchanged.status, unchanged.body.user.height]).toEqual([200, 180]);
  });
});
