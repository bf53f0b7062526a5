import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type EventWatch, watchEvents } from './events.ts';
import { giveRoles, isLive, join, joinAs, logIn, type Person, startWorld, type World } from './support.ts';

let world: World;
let operator: Person;
let events: EventWatch;
beforeAll(async () => {
  world = await startWorld();
  events = await watchEvents(world);
  operator = await joinAs(world, 'operator');
});
afterEach(() => {
  world.outside.brokenBlocker = undefined;
});
afterAll(async () => {
  await events.close();
  await world.close();
});

const remove = (id: number | string, as = operator.caller, headers: Record<string, string> = {}) =>
  world.send('DELETE', `/users/${id}`, { as, headers });
const eventsOf = async (id: number) => (await events.about(id)).map(({ type, data }) => [type, data]);

describe('DELETE /users/{id}', () => {
  test('204: erased at once; signing in fails like for an unknown account, every credential is dead', async () => {
    const person = await join(world);
    const { body: made } = await world.send('POST', '/auth/tokens', {
      as: person.caller,
      body: { name: 'ci' },
    });
    const answer = await remove(person.id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await isLive(world, person.token)).toBe(false);
    expect(await isLive(world, made.token)).toBe(false);
    expect(await world.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(0);
    const login = await logIn(world, person.user.username);
    const unknown = await logIn(world, 'nobody.at.all');
    expect([login.status, login.text]).toEqual([422, unknown.text]);
    expect((await world.send('GET', `/users/${person.id}`)).status).toBe(404);
    expect((await remove(person.id)).status).toBe(404);
  });

  test('tells the others, with the moment', async () => {
    const person = await join(world);
    await remove(person.id);
    expect(await eventsOf(person.id)).toEqual([
      ['identity.credentials.revoked', { user_id: person.id, reason: 'account_erased' }],
      [
        'identity.account.deleted',
        { user_id: person.id, deleted_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/) },
      ],
    ]);
  });

  test('frees user name, e-mail and phone', async () => {
    const person = await join(world);
    await remove(person.id);
    const { username, email, phone } = person.user;
    expect((await join(world, { username, email, phone })).id).not.toBe(person.id);
  });

  test('the own account: 403, also for an administrator', async () => {
    const administrator = await joinAs(world, 'administrator');
    expect((await remove(administrator.id, administrator.caller)).status).toBe(403);
    expect(await isLive(world, administrator.token)).toBe(true);
  });

  test('an account with a permission that the caller lacks: 403', async () => {
    const administrator = await joinAs(world, 'administrator');
    expect((await remove(administrator.id)).status).toBe(403);
    const half = caller(operator.id, ['users.delete']);
    expect((await remove((await join(world)).id, half)).status).toBe(403);
  });

  test('an account that is raised while its blockers are asked is out of reach: 403, and nothing is erased', async () => {
    const person = await join(world);
    world.outside.whileEvaluating = () => giveRoles(world, person.id, [3]);
    try {
      expect((await remove(person.id)).status).toBe(403);
    } finally {
      world.outside.whileEvaluating = undefined;
    }
    expect(await isLive(world, person.token)).toBe(true);
    expect(await eventsOf(person.id)).toEqual([]);
  });

  test('401 for a guest, 403 without users.delete, 404 for who is not there', async () => {
    const person = await join(world);
    expect((await world.send('DELETE', `/users/${person.id}`)).status).toBe(401);
    expect((await remove(operator.id, person.caller)).status).toBe(403);
    expect((await remove(999_999_999)).status).toBe(404);
    expect((await remove('x')).status).toBe(404);
  });

  test('blocked: the 409 of self-service deletion, every blocker in order, in the language asked for', async () => {
    const person = await join(world);
    world.outside.blockers.push(
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
    expect(await isLive(world, person.token)).toBe(true);
    expect(await eventsOf(person.id)).toEqual([]);
  });

  test('a blocker that cannot be evaluated: 503, and nothing is erased', async () => {
    const person = await join(world);
    world.outside.brokenBlocker = 'unsettled_balance';
    const { status, headers } = await remove(person.id);
    expect(status).toBe(503);
    expect(headers.get('retry-after')).not.toBeNull();
    expect(await isLive(world, person.token)).toBe(true);
  });

  test('twenty at once: exactly one 204, and the others are told once', async () => {
    const person = await join(world);
    const answers = await Promise.all(Array.from({ length: 20 }, () => remove(person.id)));
    expect(answers.filter((answer) => answer.status === 204)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 404)).toHaveLength(19);
    expect((await eventsOf(person.id)).filter(([type]) => type === 'identity.account.deleted')).toHaveLength(
      1,
    );
  });

  test('a login that races with the erasure leaves no live token', async () => {
    const person = await join(world);
    const [removed, ...logins] = await Promise.all([
      remove(person.id),
      ...Array.from({ length: 20 }, () => logIn(world, person.user.username)),
    ]);
    expect(removed?.status).toBe(204);
    for (const login of logins) expect([200, 422]).toContain(login.status);
    expect(await world.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(0);
  });
});
