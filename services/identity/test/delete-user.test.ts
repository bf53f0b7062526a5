import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type EventWatch, watchEvents } from './events.ts';
import {
  giveRoles,
  type Harness,
  isLive,
  join,
  joinAs,
  logIn,
  type Person,
  startHarness,
} from './support.ts';

let harness: Harness;
let operator: Person;
let events: EventWatch;
beforeAll(async () => {
  harness = await startHarness();
  events = await watchEvents(harness);
  operator = await joinAs(harness, 'operator');
});
afterEach(() => {
  harness.standIns.brokenBlocker = undefined;
});
afterAll(async () => {
  await events.close();
  await harness.close();
});

const remove = (id: number | string, as = operator.caller, headers: Record<string, string> = {}) =>
  harness.send('DELETE', `/users/${id}`, { as, headers });
const ERASURE_EVENTS = ['identity.credentials.revoked', 'identity.account.deleted'];
const eventsOf = async (id: number) =>
  (await events.publishedAbout(id))
    .filter(({ type }) => ERASURE_EVENTS.includes(type))
    .map(({ type, data }) => [type, data]);

describe('DELETE /users/{id}', () => {
  test('a deletion erases the account at once: credentials are revoked, and it looks unknown', async () => {
    const person = await join(harness);
    const { body: created } = await harness.send('POST', '/auth/tokens', {
      as: person.caller,
      body: { name: 'ci' },
    });
    const answer = await remove(person.id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await isLive(harness, person.token)).toBe(false);
    expect(await isLive(harness, created.token)).toBe(false);
    expect(await harness.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(0);
    const login = await logIn(harness, person.user.username);
    const unknown = await logIn(harness, 'nobody.at.all');
    expect([login.status, login.text]).toEqual([422, unknown.text]);
    expect((await harness.send('GET', `/users/${person.id}`)).status).toBe(404);
    expect((await remove(person.id)).status).toBe(404);
  });

  test('a deletion publishes the revocation and the deletion', async () => {
    const person = await join(harness);
    await remove(person.id);
    expect(await eventsOf(person.id)).toEqual([
      ['identity.credentials.revoked', { user_id: person.id, reason: 'account_erased' }],
      [
        'identity.account.deleted',
        { user_id: person.id, deleted_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/) },
      ],
    ]);
  });

  test('a deletion makes the username, email and phone available again', async () => {
    const person = await join(harness);
    await remove(person.id);
    const { username, email, phone } = person.user;
    expect((await join(harness, { username, email, phone })).id).not.toBe(person.id);
  });

  test('even an administrator gets 403 for their own account', async () => {
    const administrator = await joinAs(harness, 'administrator');
    expect((await remove(administrator.id, administrator.caller)).status).toBe(403);
    expect(await isLive(harness, administrator.token)).toBe(true);
  });

  test('an account with a permission that the caller lacks is rejected with 403', async () => {
    const administrator = await joinAs(harness, 'administrator');
    expect((await remove(administrator.id)).status).toBe(403);
    const restricted = caller(operator.id, ['users.delete']);
    expect((await remove((await join(harness)).id, restricted)).status).toBe(403);
  });

  test('an account that gains permissions while its blockers are evaluated is not erased: 403', async () => {
    const person = await join(harness);
    harness.standIns.whileEvaluating = () => giveRoles(harness, person.id, [3]);
    try {
      expect((await remove(person.id)).status).toBe(403);
    } finally {
      harness.standIns.whileEvaluating = undefined;
    }
    expect(await isLive(harness, person.token)).toBe(true);
    expect(await eventsOf(person.id)).toEqual([]);
  });

  test('a guest gets 401, a caller without users.delete 403, and an unknown account 404', async () => {
    const person = await join(harness);
    expect((await harness.send('DELETE', `/users/${person.id}`)).status).toBe(401);
    expect((await remove(operator.id, person.caller)).status).toBe(403);
    expect((await remove(999_999_999)).status).toBe(404);
    expect((await remove('x')).status).toBe(404);
  });

  test('a blocked deletion returns 409 with every blocker, in order and in the requested language', async () => {
    const person = await join(harness);
    harness.standIns.blockers.push(
      { userId: person.id, code: 'active_premium', extras: { expires_at: '2026-02-01 00:00:00' } },
      { userId: person.id, code: 'gym_ownership', extras: { count: 2 } },
    );
    const { status, body } = await remove(person.id, operator.caller, { 'accept-language': 'fa' });
    expect([status, body]).toEqual([
      409,
      {
        error: expect.any(String),
        code: 'account_deletion_blocked',
        blockers: [
          { code: 'gym_ownership', message: expect.stringContaining('باشگاه'), count: 2 },
          { code: 'active_premium', message: expect.any(String), expires_at: '2026-02-01 00:00:00' },
        ],
      },
    ]);
    expect(await isLive(harness, person.token)).toBe(true);
    expect(await eventsOf(person.id)).toEqual([]);
  });

  test('a deletion returns 503 and erases nothing if a blocker cannot be evaluated', async () => {
    const person = await join(harness);
    harness.standIns.brokenBlocker = 'unsettled_balance';
    const { status, headers } = await remove(person.id);
    expect(status).toBe(503);
    expect(headers.get('retry-after')).not.toBeNull();
    expect(await isLive(harness, person.token)).toBe(true);
  });

  test('twenty concurrent deletions erase once and publish one event', async () => {
    const person = await join(harness);
    const answers = await Promise.all(Array.from({ length: 20 }, () => remove(person.id)));
    expect(answers.filter((answer) => answer.status === 204)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 404)).toHaveLength(19);
    expect((await eventsOf(person.id)).filter(([type]) => type === 'identity.account.deleted')).toHaveLength(
      1,
    );
  });

  test('a sign-in that races with a deletion leaves no valid token', async () => {
    const person = await join(harness);
    const [removed, ...logins] = await Promise.all([
      remove(person.id),
      ...Array.from({ length: 20 }, () => logIn(harness, person.user.username)),
    ]);
    expect(removed?.status).toBe(204);
    for (const login of logins) expect([200, 422]).toContain(login.status);
    expect(await harness.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(0);
  });
});
