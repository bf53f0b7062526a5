/** What operators can read about an account besides its fields: names, sessions, devices and deletion blockers. */
import { appCaller, caller, restrictedCaller } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { hashToken } from '../src/domain/token.ts';
import { callerOf, type Harness, join, joinAs, logIn, type Person, startHarness } from './support.ts';

let harness: Harness;
let member: Person;
let operator: Person;
beforeAll(async () => {
  harness = await startHarness();
  member = await joinAs(harness, 'member');
  operator = await joinAs(harness, 'operator');
});
afterEach(() => {
  harness.standIns.brokenBlocker = undefined;
});
afterAll(() => harness.close());

const get = (path: string, as = operator.caller, headers: Record<string, string> = {}) =>
  harness.send('GET', path, { as, headers });
const scheduleDeletion = ({ id }: Person) =>
  harness.database.collection<{ _id: number }>('users').updateOne(
    { _id: id },
    {
      $set: {
        deletion_requested_at: harness.clock.now(),
        deletion_scheduled_at: harness.clock.now(),
        standing: 'pending',
      },
    },
  );

describe('GET /users/{id}/sessions', () => {
  test('operators see the sessions of an account with their devices, and none of its secrets', async () => {
    const person = await join(harness);
    const { token } = (await logIn(harness, person.user.username)).body;
    const device = { token: 'push-token-of-a-phone', platform: 'ios', locale: 'fa' };
    const as = await callerOf(harness, token);
    const { data } = (await harness.send('POST', '/notifications/devices', { as, body: device })).body;
    await harness.send('POST', '/auth/tokens', { as, body: { name: 'script' } });
    const { status, body, text } = await get(`/users/${person.id}/sessions`);
    expect([status, body.meta.total]).toEqual([200, 2]);
    expect(body.data).toEqual([
      expect.objectContaining({ current: false, device: data }),
      expect.objectContaining({ current: false, device: null }),
    ]);
    expect((await get('/auth/sessions', as)).body.data).toEqual([
      { ...body.data[0], current: true },
      body.data[1],
    ]);
    for (const secret of [token, hashToken(token), person.token, hashToken(person.token), device.token])
      expect(text).not.toContain(secret);
  });

  test('the list of an account’s sessions has pages, and no sessions of other accounts', async () => {
    const [person] = [await join(harness), await join(harness)];
    await logIn(harness, person.user.username);
    const { body } = await get(`/users/${person.id}/sessions?per_page=1`);
    expect(body.meta).toMatchObject({ total: 2, last_page: 2 });
    const next = await get(`/users/${person.id}/sessions?per_page=1&cursor=${body.meta.next_cursor}`);
    expect(next.body.data).toHaveLength(1);
    expect(next.body.data[0].id).toBeLessThan(body.data[0].id);
  });

  test('the list of sessions requires users.view_all and a session token', async () => {
    const path = `/users/${member.id}/sessions`;
    expect((await harness.send('GET', path)).status).toBe(401);
    expect((await get(path, member.caller)).status).toBe(403);
    for (const other of [
      restrictedCaller(operator.id, 'users.view_all'),
      appCaller(operator.id, 'users.view_all'),
      { ...caller(operator.id, ['users.view_all']), tokenKind: 'personal' as const },
    ])
      expect((await get(path, other)).status).toBe(403);
  });

  test('sessions of an unknown, an erased and a malformed id return the same 404', async () => {
    const erased = await join(harness);
    await harness.send('DELETE', `/users/${erased.id}`, { as: operator.caller });
    const answers = await Promise.all(
      [999_999_999, erased.id, 'x'].map((id) => get(`/users/${id}/sessions`)),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });
});

describe('GET /users/{id}/deletion-blockers', () => {
  test('the blockers equal those of a refused deletion, in order and in the requested language', async () => {
    const person = await join(harness);
    const path = `/users/${person.id}/deletion-blockers`;
    expect((await get(path)).body).toEqual({ data: [] });
    harness.standIns.blockers.push(
      { userId: person.id, code: 'active_premium', extras: { expires_at: '2026-02-01 00:00:00' } },
      { userId: person.id, code: 'gym_ownership', extras: { count: 2 } },
    );
    const headers = { 'accept-language': 'fa' };
    const { status, body } = await get(path, operator.caller, headers);
    expect([status, body.data.map(({ code }: { code: string }) => code)]).toEqual([
      200,
      ['gym_ownership', 'active_premium'],
    ]);
    const refused = await harness.send('DELETE', `/users/${person.id}`, { as: operator.caller, headers });
    expect([refused.status, refused.body.blockers]).toEqual([409, body.data]);
  });

  test('the blockers require users.delete and an account that the operator may delete', async () => {
    const path = `/users/${member.id}/deletion-blockers`;
    expect((await harness.send('GET', path)).status).toBe(401);
    expect((await get(path, member.caller)).status).toBe(403);
    expect((await get(path, caller(operator.id, ['users.view_all', 'payments.view_all']))).status).toBe(403);
    const administrator = await joinAs(harness, 'administrator');
    expect((await get(`/users/${administrator.id}/deletion-blockers`)).status).toBe(403);
    expect((await get('/users/999999999/deletion-blockers')).status).toBe(404);
  });

  test('the list of blockers returns 503 while a blocker cannot be evaluated', async () => {
    harness.standIns.brokenBlocker = 'unsettled_balance';
    const { status, headers } = await get(`/users/${member.id}/deletion-blockers`);
    expect([status, headers.get('retry-after') === null]).toEqual([503, false]);
  });
});

describe('GET /users/names', () => {
  const names = (ids: unknown, as = operator.caller) => get(`/users/names?ids=${ids}`, as);
  const nameOf = ({ id, user }: Person) => ({
    id,
    username: user.username,
    first_name: user.first_name,
    last_name: user.last_name,
  });

  test('the list of names has each account once, newest first, and nothing but names', async () => {
    const [first, second] = [await join(harness), await join(harness)];
    const { status, body } = await names(`${first.id},${second.id}, ${first.id},999999999`, member.caller);
    expect([status, body]).toEqual([200, { data: [nameOf(second), nameOf(first)] }]);
  });

  test('names of erased accounts are omitted, and pending ones without users.view_all too', async () => {
    const [pending, erased] = [await join(harness), await join(harness)];
    await scheduleDeletion(pending);
    await harness.send('DELETE', `/users/${erased.id}`, { as: operator.caller });
    const ids = `${pending.id},${erased.id}`;
    expect((await names(ids)).body.data).toEqual([nameOf(pending)]);
    expect((await names(ids, member.caller)).body.data).toEqual([]);
  });

  test('names require users.view_limited or users.view_all', async () => {
    expect((await harness.send('GET', `/users/names?ids=${member.id}`)).status).toBe(401);
    expect((await names(member.id, caller(member.id, ['posts.view']))).status).toBe(403);
  });

  test('missing or malformed ids, or more than 100, are rejected with 422 under ids', async () => {
    const many = Array.from({ length: 101 }, (_, index) => index + 1);
    for (const ids of ['', '0', 'x', '1,,2', '-1', '1.5', '9'.repeat(20), many]) {
      const { status, body } = await names(ids);
      expect([ids, status, Object.keys(body.errors ?? {})]).toEqual([ids, 422, ['ids']]);
    }
    expect((await names(many.slice(1))).status).toBe(200);
  });
});
