import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { gatewayContext } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hashToken } from '../src/domain/token.ts';
import { openReplica } from './purge-support.ts';
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
  registration,
  startHarness,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const make = (as: UserCaller, body: Record<string, unknown> = {}) =>
  harness.send('POST', '/auth/tokens', { as, body: { name: 'my script', ...body } });
const list = (as: UserCaller, query = '') => harness.send('GET', `/auth/tokens${query}`, { as });

describe('a personal access token', () => {
  test('a personal token is shown once, has its user’s permissions, and is listed without its secret', async () => {
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

  test('a personal token can be restricted to some permissions', async () => {
    const person = await join(harness);
    const { body } = await make(person.caller, { permissions: ['posts.view', 'posts.view'] });
    expect(body.data.permissions).toEqual(['posts.view']);
    expect([...(await callerOf(harness, body.token)).permissions]).toEqual(['posts.view']);
  });

  test('a personal token loses the permissions that its user loses', async () => {
    const person = await join(harness);
    const { body } = await make(person.caller, { permissions: ['posts.view'] });
    await harness.database
      .collection('users')
      .updateOne({ _id: person.id as never }, { $set: { role_ids: [] } });
    expect((await callerOf(harness, body.token)).permissions.size).toBe(0);
  });

  test('a personal token expires after 30 days or at the requested time, with any time zone', async () => {
    const person = await join(harness);
    const { body } = await make(person.caller);
    expect(Date.parse(`${body.data.expires_at}Z`) - Date.parse(`${body.data.created_at}Z`)).toBe(30 * DAY_MS);
    const day = formatTimestamp(new Date(harness.clock.now().getTime() + 90 * DAY_MS)).slice(0, 10);
    const utc = await make(person.caller, { expires_at: `${day} 12:00:00` });
    expect(utc.body.data.expires_at).toBe(`${day} 12:00:00`);
    const iso = await make(person.caller, { expires_at: `${day}T12:00:00+03:30` });
    expect(iso.body.data.expires_at).toBe(`${day} 08:30:00`);
  });

  test('a personal token expires on the same day of the next year at the latest', async () => {
    const person = await join(harness);
    const latest = new Date(harness.clock.now());
    latest.setUTCFullYear(latest.getUTCFullYear() + 1);
    expect((await make(person.caller, { expires_at: formatTimestamp(latest) })).status).toBe(201);
    const later = new Date(latest.getTime() + 1_000);
    for (const expires_at of [formatTimestamp(later), '9999-12-31 23:59:59']) {
      const { status, body } = await make(person.caller, { expires_at });
      expect([status, Object.keys(body.errors)]).toEqual([422, ['expires_at']]);
    }
  });

  test('an older personal token with a longer lifetime keeps its expiry', async () => {
    const person = await join(harness);
    const { body } = await make(person.caller);
    await harness.database
      .collection('tokens')
      .updateOne({ _id: hashToken(body.token) as never }, { $set: { expires_at: new Date('9999-12-31') } });
    harness.clock.advance(800 * DAY_MS);
    try {
      expect(await isLive(harness, body.token)).toBe(true);
    } finally {
      harness.clock.advance(-800 * DAY_MS);
    }
  });

  test('a personal token lives no longer than a year by default, however long sessions live', async () => {
    const config = { ...harness.config, TOKEN_LIFETIME_DAYS: 3_650 };
    const replica = await openReplica(config, harness.clock);
    try {
      const { caller } = await join(harness);
      const { row } = await replica.useCases.createPersonalToken(caller, { name: 'x' });
      const days = (row.expires_at.getTime() - row.created_at.getTime()) / DAY_MS;
      expect(days).toBeGreaterThan(364);
      expect(days).toBeLessThanOrEqual(366);
    } finally {
      await replica.close();
    }
  });

  test('a session with a limited lifetime, such as a page’s, cannot create personal tokens', async () => {
    const [limited, ofPage] = [await join(harness), await join(harness)];
    const limit = async ({ caller }: Person, body: object): Promise<number> => {
      const headers = {
        'content-type': 'application/json',
        'x-caller-context': gatewayContext('identity', caller),
      };
      const url = `${harness.url}/internal/session-limit`;
      return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
    };
    expect(await limit(limited, { seconds: 900 })).toBe(204);
    expect(await limit(ofPage, { seconds: 900, page: 'ops' })).toBe(204);
    expect((await make(limited.caller)).status).toBe(403);
    expect((await make(await callerOf(harness, ofPage.token))).status).toBe(403);
    for (const { id } of [limited, ofPage]) {
      const filter = { user_id: id, kind: 'personal' };
      expect(await harness.database.collection('tokens').countDocuments(filter)).toBe(0);
    }
  });

  test('a personal token with an invalid field is rejected with 422 under its name', async () => {
    const person = await join(harness);
    for (const [field, invalid] of [
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
    ] as const) {
      const { status, body } = await make(person.caller, invalid);
      expect([invalid, status, Object.keys(body.errors)]).toEqual([invalid, 422, [field]]);
    }
    expect((await list(person.caller)).body.data).toEqual([]);
  });

  test('a revoked token cannot create a personal token', async () => {
    const person = await join(harness);
    await harness.send('POST', '/auth/logout', { as: person.caller });
    expect((await make(person.caller)).status).toBe(401);
  });
});

describe('revoking a personal token', () => {
  test('revoking a personal token takes effect at once, and a repeat returns 404', async () => {
    const person = await join(harness);
    const { body } = await make(person.caller);
    const revoke = () => harness.send('DELETE', `/auth/tokens/${body.data.id}`, { as: person.caller });
    expect((await revoke()).status).toBe(204);
    expect(await isLive(harness, body.token)).toBe(false);
    expect((await revoke()).status).toBe(404);
    expect((await list(person.caller)).body.data).toEqual([]);
  });

  test('another user’s token, an unknown id and a malformed id return the same 404', async () => {
    const [owner, other] = [await join(harness), await join(harness)];
    const { body } = await make(owner.caller);
    const tries = [`${body.data.id}`, '999999999', 'abc', '0', '-1', '1.5'];
    const answers = await Promise.all(
      tries.map((id) => harness.send('DELETE', `/auth/tokens/${id}`, { as: other.caller })),
    );
    expect(answers.map((answer) => [answer.status, answer.text])).toEqual(
      tries.map(() => [404, '{"message":"We could not find what you are looking for."}']),
    );
    expect(await isLive(harness, body.token)).toBe(true);
  });
});

describe('the list of personal tokens', () => {
  test('the list is newest first, by page and by cursor, without expired tokens', async () => {
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

  test('the list contains only the caller’s tokens', async () => {
    const [owner, other] = [await join(harness), await join(harness)];
    await make(owner.caller);
    expect((await list(other.caller)).body.data).toEqual([]);
  });
});

/** Creates a personal token with these permissions; undefined creates an unrestricted one. */
const issue = async (creator: UserCaller, permissions?: string[]): Promise<UserCaller> => {
  const { body } = await make(creator, permissions === undefined ? {} : { permissions });
  return callerOf(harness, body.token);
};

describe('tokens other than sessions', () => {
  test('only a session can create, list and revoke tokens: 403 before the body is validated', async () => {
    const person = await join(harness);
    const { body: existing } = await make(person.caller);
    const others: UserCaller[] = [
      { ...person.caller, tokenKind: 'oauth' },
      await issue(person.caller),
      await issue(person.caller, ['posts.view']),
    ];
    const before = (await list(person.caller)).body.meta.total;
    for (const as of others)
      for (const [method, path, body] of [
        ['GET', '/auth/tokens', undefined],
        ['POST', '/auth/tokens', { name: '' }],
        ['POST', '/auth/tokens', { name: 'child', permissions: [] }],
        ['DELETE', `/auth/tokens/${existing.data.id}`, undefined],
        ['PUT', '/auth/change-password', { current_password: PASSWORD, password: 'another good password' }],
      ] as const) {
        const answer = await harness.send(method, path, { as, ...(body === undefined ? {} : { body }) });
        expect([as.tokenKind, method, path, answer.status, Object.keys(answer.body)]).toEqual([
          as.tokenKind,
          method,
          path,
          403,
          ['message'],
        ]);
      }
    expect((await list(person.caller)).body.meta.total).toBe(before);
    expect(await isLive(harness, existing.token)).toBe(true);
    expect((await logIn(harness, person.user.username)).status).toBe(200);
    for (const [method, path] of [
      ['GET', '/auth/tokens'],
      ['POST', '/auth/tokens'],
      ['DELETE', '/auth/tokens/1'],
    ] as const)
      expect((await harness.send(method, path)).status).toBe(401);
  });
});

describe('an unrestricted personal token', () => {
  test('an unrestricted personal token cannot change names, contact data or bank account, even with the password', async () => {
    const person = await join(harness);
    const first = { bank_account_number: 'IR820540102680020817909002', current_password: PASSWORD };
    expect((await harness.send('PUT', '/auth/me', { as: person.caller, body: first })).status).toBe(200);
    const as = await issue(person.caller);
    for (const change of [
      { email: 'new-address@example.com' },
      { phone: '+989127654321' },
      { bank_account_number: 'IR760170000000000000000001' },
      { bank_account_number: null },
      { username: 'renamed.by.a.token' },
    ])
      for (const current_password of [undefined, PASSWORD, 'not the password']) {
        const body = { ...change, current_password, height: 180 };
        const answer = await harness.send('PUT', '/auth/me', { as, body });
        expect([body, answer.status, Object.keys(answer.body)]).toEqual([body, 403, ['message']]);
      }
    const { body } = await harness.send('GET', '/auth/me', { as: person.caller });
    const { email, phone, username } = person.user;
    expect(body.user).toMatchObject({
      email,
      phone,
      username,
      bank_account_number: 'IR820540102680020817909002',
      height: null,
    });
  });

  test('an unrestricted personal token can change other fields and repeat the current contact data', async () => {
    const person = await join(harness);
    const as = await issue(person.caller);
    const { email, phone, username } = person.user;
    const body = { email, phone, username, bank_account_number: null, first_name: 'Mina', is_trainer: true };
    const answer = await harness.send('PUT', '/auth/me', { as, body });
    expect(answer.status).toBe(200);
    expect(answer.body.user).toMatchObject({ email, phone, first_name: 'Mina', is_trainer: true });
    expect((await harness.send('PUT', '/auth/me', { as, body: { email: 'none' } })).status).toBe(422);
    const respelled = { username: username.toUpperCase() };
    expect((await harness.send('PUT', '/auth/me', { as, body: respelled })).status).toBe(403);
  });
});

test.each([
  ['an unrestricted', undefined],
  ['a restricted', ['users.update_any', 'users.view_all']],
])(
  '%s token of an operator cannot change names, contact data or bank account of an account, but other fields',
  async (_name, permissions) => {
    const session = (await joinAs(harness, 'operator')).caller;
    // The account has no roles, so that it holds no permission that the token lacks.
    const person = await join(harness);
    await giveRoles(harness, person.id, []);
    const as = await issue(session, permissions);
    const put = (by: UserCaller, body: unknown) =>
      harness.send('PUT', `/users/${person.id}`, { as: by, body });
    const { email, phone, username } = person.user;
    const same = await put(as, { email, phone, username, bank_account_number: null, height: 181 });
    expect([same.status, same.body.user.height]).toEqual([200, 181]);
    expect(same.body.user).toMatchObject({ email, phone, username, bank_account_number: null });
    const fresh = registration();
    for (const change of [
      { email: fresh.email },
      { phone: fresh.phone },
      { bank_account_number: 'IR760170000000000000000001' },
      { username: fresh.username },
    ]) {
      const refused = await put(as, { ...change, height: 180 });
      expect([change, refused.status, Object.keys(refused.body)]).toEqual([change, 403, ['message']]);
      expect((await put(session, change)).status).toBe(200);
    }
  },
);

test('an operator’s personal token cannot change its own username with PUT /users/{id}', async () => {
  const own = await joinAs(harness, 'operator');
  const as = await issue({ ...own.caller, tokenKind: 'session' });
  const username = String(registration().username);
  const put = (by: UserCaller) => harness.send('PUT', `/users/${own.id}`, { as: by, body: { username } });
  expect((await put(as)).status).toBe(403);
  expect((await put(own.caller)).status).toBe(200);
});

test('a personal token that repeats the current email does not undo a concurrent change', async () => {
  const person = await join(harness);
  const document = { trainer_license_media_id: 5, trainer_license_image: 'license.pdf' };
  await harness.database.collection('users').updateOne({ _id: person.id as never }, { $set: document });
  const as = await issue(person.caller);
  const email = `changed-${person.user.email}`;
  harness.standIns.whileDeleting = async () => {
    const body = { email, current_password: PASSWORD };
    expect((await harness.send('PUT', '/auth/me', { as: person.caller, body })).status).toBe(200);
  };
  const body = { email: person.user.email, trainer_license_image: null };
  expect((await harness.send('PUT', '/auth/me', { as, body })).status).toBe(200);
  harness.standIns.whileDeleting = undefined;
  const { body: me } = await harness.send('GET', '/auth/me', { as: person.caller });
  expect(me.user).toMatchObject({ email, trainer_license_image: null });
});

describe('a restricted token', () => {
  test('a restricted token sees public fields and the deletion dates of its account', async () => {
    const person = await join(harness);
    for (const permissions of [[], ['posts.view', 'payments.view_own', 'users.view_limited']]) {
      const as = await issue(person.caller, permissions);
      expect(as.tokenKind).toBe('restricted');
      const seenByAll = (await harness.send('GET', `/users/${person.id}`)).body.user;
      const timestamps = { deletion_requested_at: null, deletion_scheduled_at: null };
      const me = await harness.send('GET', '/auth/me', { as });
      expect([me.status, me.body]).toEqual([200, { user: { ...seenByAll, ...timestamps } }]);
      expect((await harness.send('GET', `/users/${person.id}`, { as })).body.user).toEqual(seenByAll);
      const cancelled = await harness.send('DELETE', '/auth/delete-account', { as });
      expect(cancelled.body.user).toEqual({ ...seenByAll, ...timestamps });
      for (const field of ['email', 'phone', 'bank_account_number', 'trainer_license_link', 'roles'])
        expect(me.body.user).not.toHaveProperty(field);
    }
  });

  test('a restricted token sees a pending deletion', async () => {
    const person = await join(harness);
    const as = await issue(person.caller, []);
    const [requested, scheduled] = [harness.clock.now(), new Date(harness.clock.now().getTime() + DAY_MS)];
    const pending = { deletion_requested_at: requested, deletion_scheduled_at: scheduled };
    await harness.database.collection('users').updateOne({ _id: person.id as never }, { $set: pending });
    const { body } = await harness.send('GET', '/auth/me', { as });
    expect(body.user).toMatchObject({
      deletion_requested_at: formatTimestamp(requested),
      deletion_scheduled_at: formatTimestamp(scheduled),
    });
  });

  test('a restricted token with users.view_all sees every field of any account', async () => {
    const operator = await joinAs(harness, 'operator');
    const as = await issue(operator.caller, ['users.view_all']);
    const { body } = await harness.send('GET', '/auth/me', { as });
    expect(body.user).toMatchObject({ email: operator.user.email, phone: operator.user.phone });
  });

  test('a restricted token sees only public fields of its account in the list of users', async () => {
    const person = await join(harness);
    const as = await issue(person.caller, ['users.view_limited']);
    const path = `/users?search=${person.user.username}`;
    const rowOf = async (caller: UserCaller) =>
      (await harness.send('GET', path, { as: caller })).body.data[0];
    expect((await rowOf(person.caller)).email).toBe(person.user.email);
    expect(await rowOf(as)).not.toHaveProperty('email');
  });

  test('a restricted token cannot change its account or read notifications, whatever its permissions', async () => {
    const person = await join(harness);
    for (const permissions of [[], [...person.caller.permissions]]) {
      const as = await issue(person.caller, permissions);
      for (const [method, path, body] of [
        ['PUT', '/auth/me', { first_name: 'Hacked' }],
        ['PUT', '/auth/me', {}],
        ['GET', '/notifications', undefined],
        ['POST', '/notifications/1/read', undefined],
      ] as const)
        expect([method, path, (await harness.send(method, path, { as, body })).status]).toEqual([
          method,
          path,
          403,
        ]);
    }
    const { body: me } = await harness.send('GET', '/auth/me', { as: person.caller });
    expect(me.user.first_name).toBe(person.user.first_name);
  });

  test('a restricted token can log itself out', async () => {
    const person = await join(harness);
    const { body } = await make(person.caller, { permissions: [] });
    const as = await callerOf(harness, body.token);
    expect((await harness.send('POST', '/auth/logout', { as })).status).toBe(204);
    expect(await isLive(harness, body.token)).toBe(false);
    expect(await isLive(harness, person.token)).toBe(true);
  });

  test('a stored list of permissions, even an empty one, makes a token restricted', async () => {
    const person = await join(harness);
    const { body } = await make(person.caller, { permissions: [] });
    const stored = await harness.database.collection('tokens').findOne({
      kind: 'personal',
      token_number: body.data.id,
    });
    expect(stored).toMatchObject({ kind: 'personal', permissions: [] });
    expect((await callerOf(harness, body.token)).tokenKind).toBe('restricted');
    const full = await make(person.caller, { permissions: null });
    expect((await callerOf(harness, full.body.token)).tokenKind).toBe('personal');
  });
});
