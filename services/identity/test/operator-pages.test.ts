/** What the gateway's `/ops` page needs from identity in addition to the public API. */
import { HOUR_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { gatewayContext } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setUp } from './second-factor-support.ts';
import { callerOf, type Harness, isLive, join, joinAs, type Person, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const limit = (person: Person, seconds: unknown, change: object = {}, more: object = {}): Promise<Response> =>
  fetch(`${harness.url}/internal/session-limit`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-caller-context': gatewayContext('identity', { ...person.caller, ...change }),
    },
    body: JSON.stringify({ seconds, ...more }),
  });

test('POST /session-limit shortens only this session and never extends it', async () => {
  const person = await join(harness);
  const other = (
    await harness.send('POST', '/auth/login', {
      body: { login: person.user.username, password: 'correct horse battery' },
    })
  ).body.token;
  expect((await limit(person, 7_200)).status).toBe(204);
  // It cannot be extended again.
  expect((await limit(person, 72_000)).status).toBe(204);
  const answer = await harness.identity.call('Introspect', { token: person.token });
  expect(answer.valid_for_ms).toBeLessThanOrEqual(2 * HOUR_MS);
  harness.clock.advance(2 * HOUR_MS);
  expect([await isLive(harness, person.token), await isLive(harness, other)]).toEqual([false, true]);
});

test('POST /session-limit ends an idle session, whatever else uses its token', async () => {
  const [idle, used] = [await join(harness), await join(harness)];
  const use = async (person: Person): Promise<number> =>
    (await limit(person, 7_200, {}, { idle_seconds: 900 })).status;
  expect([await use(idle), await use(used)]).toEqual([204, 204]);
  harness.clock.advance(14 * MINUTE_MS);
  // A request to the API, as with a stolen token, extends nothing.
  expect([await isLive(harness, idle.token), await use(used)]).toEqual([true, 204]);
  harness.clock.advance(MINUTE_MS);
  expect([await isLive(harness, idle.token), await isLive(harness, used.token)]).toEqual([false, true]);
  for (let minutes = 15; minutes < 120; minutes += 14) {
    expect([minutes, await use(used)]).toEqual([minutes, 204]);
    harness.clock.advance(14 * MINUTE_MS);
    expect([minutes, await isLive(harness, used.token)]).toEqual([minutes, minutes + 14 < 120]);
  }
});

test('POST /session-limit neither restores an ended session nor extends its lifetime', async () => {
  const person = await join(harness);
  expect((await limit(person, 60, {}, { idle_seconds: 900 })).status).toBe(204);
  harness.clock.advance(MINUTE_MS);
  await limit(person, 7_200, {}, { idle_seconds: 900 });
  expect(await isLive(harness, person.token)).toBe(false);
});

test('POST /session-limit accepts only session tokens and whole seconds', async () => {
  const person = await join(harness);
  expect((await limit(person, 60, { tokenKind: 'personal' })).status).toBe(403);
  for (const seconds of [0, -1, 1.5, '60', undefined]) {
    expect([seconds, (await limit(person, seconds)).status]).toEqual([seconds, 422]);
    if (seconds === undefined) continue;
    const idle = await limit(person, 60, {}, { idle_seconds: seconds });
    expect([seconds, idle.status]).toEqual([seconds, 422]);
  }
});

test('POST /session-limit assigns a session to a page and limits it to the page’s calls', async () => {
  const person = await joinAs(harness, 'administrator');
  const before = await harness.identity.call('Introspect', { token: person.token });
  expect(before.page).toBe('');
  expect((await limit(person, 7_200, {}, { page: 'ops' })).status).toBe(204);
  const as = await callerOf(harness, person.token);
  expect(as.page).toBe('ops');
  // It stays assigned to the first page.
  expect((await limit(person, 900, { page: 'ops' }, { page: 'account_deletion' })).status).toBe(204);
  expect((await callerOf(harness, person.token)).page).toBe('ops');
  const statuses = async (calls: [string, string, unknown?][]) =>
    Promise.all(
      calls.map(async ([method, path, body]) => (await harness.send(method, path, { as, body })).status),
    );
  expect(
    await statuses([
      ['GET', '/auth/me'],
      ['GET', '/roles'],
      ['GET', '/users'],
      // Both are refused only because the password is missing.
      ['POST', '/auth/second-factor', {}],
      ['DELETE', '/auth/second-factor', {}],
    ]),
  ).toEqual([200, 200, 200, 422, 422]);
  const refused: [string, string, unknown?][] = [
    ['POST', '/auth/tokens', { name: 'thief' }],
    ['GET', '/auth/tokens'],
    ['GET', '/auth/sessions'],
    ['GET', '/auth/grants'],
    ['PUT', '/auth/me', { first_name: 'Other' }],
    ['PUT', '/auth/change-password', {}],
    ['POST', '/auth/delete-account', {}],
    ['GET', '/notifications'],
    ['POST', '/auth/login', { login: 'x', password: 'y' }],
  ];
  expect(await statuses(refused)).toEqual(refused.map(() => 403));
  const unknown = await limit(person, 60, {}, { page: 'other' });
  expect(unknown.status).toBe(422);
});

test('a session of /ops can send only the fields of the page: no phone, email or title', async () => {
  const [operator, member] = [await joinAs(harness, 'administrator'), await join(harness)];
  expect((await limit(operator, 7_200, {}, { page: 'ops' })).status).toBe(204);
  const as = await callerOf(harness, operator.token);
  const put = async (path: string, body: object) => (await harness.send('PUT', path, { as, body })).status;
  const path = `/users/${member.id}`;
  for (const body of [
    { phone: '09351234567' },
    { phone: 'not a phone' },
    { email: null },
    { role_ids: [1], first_name: 'Other' },
  ])
    expect([body, await put(path, body)]).toEqual([body, 403]);
  expect((await harness.send('GET', path, { as })).body.user).toMatchObject(member.user);
  for (const body of [
    { role_ids: [1] },
    { trainer_license_approved: null, trainer_license_media_id: null },
    { trainer_license_rejection_reason: 'unreadable', unknown: 1 },
  ])
    expect([body, await put(path, body)]).toEqual([body, 200]);
  const { body: roles } = await harness.send('GET', '/roles', { as });
  const { id, permissions } = roles.data.find(({ name }: { name: string }) => name === 'operator');
  expect(await put(`/roles/${id}`, { title: 'Other' })).toBe(403);
  expect(await put(`/roles/${id}`, { permissions })).toBe(200);
});

test('introspection says whether a staff account has a second factor', async () => {
  const operator = await joinAs(harness, 'operator');
  const member = await join(harness);
  const read = async (token: string) => (await harness.identity.call('Introspect', { token })).second_factor;
  expect([await read(operator.token), await read(member.token)]).toEqual([false, false]);
  await setUp(harness, operator);
  expect(await read(operator.token)).toBe(true);
});

test('GET /users?deletion_pending requires users.view_all', async () => {
  const operator = await joinAs(harness, 'operator');
  const [pending, live] = [await join(harness), await join(harness)];
  const date = new Date(harness.clock.now().getTime() + HOUR_MS);
  await harness.database.collection('users').updateOne(
    { _id: pending.id as never },
    {
      $set: {
        deletion_requested_at: harness.clock.now(),
        deletion_scheduled_at: date,
        standing: 'pending',
      },
    },
  );
  const find = async (value: string, as = operator.caller) =>
    harness.send('GET', `/users?deletion_pending=${value}&per_page=100`, { as });
  const ids = async (value: string) => (await find(value)).body.data.map(({ id }: { id: number }) => id);
  expect(await ids('true')).toEqual([pending.id]);
  expect(await ids('false')).toContain(live.id);
  expect(await ids('false')).not.toContain(pending.id);
  expect((await find('true', live.caller)).status).toBe(403);
  expect((await find('yes')).status).toBe(422);
  expect((await find('yes', live.caller)).status).toBe(403);
});
