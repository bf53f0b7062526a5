/** Grants of apps that act for a member: they are notified, listed and ended. */
import type { OauthClient } from '@fitness/contracts/testing/oauth-client.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type CodeCopies, copyCodes, createOauthUser, type OauthUser, oauthOf } from './oauth-support.ts';
import { type Harness, isLive, join, startHarness } from './support.ts';

const ORIGIN = 'http://api.test';

let harness: Harness;
let oauth: OauthClient;
let codes: CodeCopies;
beforeAll(async () => {
  harness = await startHarness();
  oauth = oauthOf(harness);
  codes = await copyCodes(harness, await createOauthUser(harness));
});
afterAll(() => harness.close());

const list = (as: UserCaller, query = '') => harness.send('GET', `/auth/grants${query}`, { as });
const end = (as: UserCaller, id: unknown) => harness.send('DELETE', `/auth/grants/${id}`, { as });
const grantsOf = async ({ caller }: OauthUser) => (await list(caller)).body.data;
const changesOf = async ({ caller: as }: OauthUser): Promise<unknown[]> =>
  (await harness.send('GET', '/notifications', { as })).body.data.map(({ data }: { data: unknown }) => data);

describe('the list of grants', () => {
  test('the list names the app, its scopes and its resource, newest first', async () => {
    const person = await createOauthUser(harness);
    const first = await oauth.newClient({ client_name: 'First app' });
    await oauth.connect(person, { client_id: first, scope: 'posts.view' });
    harness.clock.advance(MINUTE_MS);
    const second = await oauth.newClient({ client_name: undefined });
    const resource = `${ORIGIN}/mcp/`;
    await oauth.connect(person, { client_id: second, scope: 'posts.view payments.view_own', resource });
    const [newest, oldest, ...others] = await grantsOf(person);
    expect(others).toEqual([]);
    expect(newest).toEqual({
      id: expect.any(Number),
      client_name: null,
      scopes: ['posts.view', 'payments.view_own'],
      resource: `${ORIGIN}/mcp`,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      last_used_at: expect.any(String),
    });
    expect(oldest).toMatchObject({ client_name: 'First app', scopes: ['posts.view'], resource: ORIGIN });
    expect(newest.id).toBeGreaterThan(oldest.id);
    const page = await list(person.caller, '?per_page=1');
    expect(page.body.meta).toMatchObject({ total: 2, per_page: 1, last_page: 2 });
    const next = await list(person.caller, `?per_page=1&cursor=${page.body.meta.next_cursor}`);
    expect(next.body.data).toEqual([oldest]);
  });

  test('the list shows the last use of a token or a refresh, to the minute', async () => {
    const person = await createOauthUser(harness);
    const { accessToken, clientId, refreshToken } = await codes.connect(person);
    const lastUse = async () => (await grantsOf(person))[0].last_used_at;
    const before = await lastUse();
    harness.clock.advance(2 * MINUTE_MS);
    expect(await isLive(harness, accessToken)).toBe(true);
    await eventually(async () => (await lastUse()) > before);
    const used = await lastUse();
    harness.clock.advance(2 * MINUTE_MS);
    expect((await oauth.refresh(clientId, refreshToken)).status).toBe(200);
    expect((await lastUse()) > used).toBe(true);
  });

  test('the list contains neither other users’ grants nor ended ones', async () => {
    const [person, other] = [await createOauthUser(harness), await createOauthUser(harness)];
    const { clientId, refreshToken } = await codes.connect(person);
    await codes.connect(other);
    expect(await grantsOf(person)).toHaveLength(1);
    await oauth.revoke(clientId, refreshToken);
    expect(await grantsOf(person)).toEqual([]);
  });

  test('only a session can list and end grants', async () => {
    const person = await createOauthUser(harness);
    await codes.connect(person);
    const [{ id }] = await grantsOf(person);
    for (const tokenKind of ['personal', 'restricted', 'oauth'] as const) {
      const as = { ...person.caller, tokenKind };
      expect([(await list(as)).status, (await end(as, id)).status]).toEqual([403, 403]);
    }
  });
});

describe('ending a grant', () => {
  test('an ended grant’s tokens are refused at once, and those of other grants are not', async () => {
    const person = await createOauthUser(harness);
    const other = await codes.connect(person);
    const [{ id: kept }] = await grantsOf(person);
    const ended = await codes.connect(person);
    const refreshed = await oauth.refresh(ended.clientId, ended.refreshToken);
    const { id } = (await grantsOf(person)).find((grant: { id: number }) => grant.id !== kept);
    const answer = await end(person.caller, id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    for (const token of [ended.accessToken, refreshed.body.access_token]) {
      expect(await isLive(harness, token)).toBe(false);
    }
    const refused = await oauth.refresh(ended.clientId, refreshed.body.refresh_token);
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
    expect([await isLive(harness, other.accessToken), await isLive(harness, person.token)]).toEqual([
      true,
      true,
    ]);
    expect((await end(person.caller, id)).status).toBe(404);
    expect(await grantsOf(person)).toHaveLength(1);
  });

  test('another user’s grant, an unknown id and a malformed id return the same 404', async () => {
    const [owner, other] = [await createOauthUser(harness), await join(harness)];
    const { accessToken } = await codes.connect(owner);
    const [{ id }] = await grantsOf(owner);
    const answers = await Promise.all(
      [id, '999999999', 'abc', '0', '-1', '1.5'].map((one) => end(other.caller, one)),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([answers[0]?.status, await isLive(harness, accessToken)]).toEqual([404, true]);
  });

  test('ending a grant during twenty refreshes leaves no token', async () => {
    const person = await createOauthUser(harness);
    const { refreshToken, accessToken, clientId } = await codes.connect(person);
    const [{ id }] = await grantsOf(person);
    const [answer, ...refreshed] = await Promise.all([
      end(person.caller, id),
      ...Array.from({ length: 20 }, () => oauth.refresh(clientId, refreshToken)),
    ]);
    // A third use of the token may have ended it first.
    expect([204, 404]).toContain(answer.status);
    const issued = refreshed.flatMap(({ body }) =>
      body.access_token === undefined ? [] : [body.access_token],
    );
    for (const token of [accessToken, ...issued]) expect(await isLive(harness, token)).toBe(false);
  });
});

describe('notifications of new credentials', () => {
  test('the owner is notified of a connected app and of a new personal token', async () => {
    const person = await createOauthUser(harness);
    await oauth.connect(person);
    await harness.send('POST', '/auth/tokens', { as: person.caller, body: { name: 'script' } });
    expect(await changesOf(person)).toEqual([
      { change: 'token_created', by: 'account' },
      { change: 'app_connected', by: 'account' },
    ]);
  });
});

test('a grant of an older release gets a public id at start, and can be ended', async () => {
  const person = await createOauthUser(harness);
  const { accessToken } = await codes.connect(person);
  const records = harness.database.collection('oauth_records');
  const grants = { user_id: person.id, _id: /^Grant:/ as never };
  await records.updateMany(grants, { $unset: { grant_number: '', last_used_at: '' } });
  await harness.database.collection('upgrades').deleteMany({});
  expect(await grantsOf(person)).toEqual([]);
  const other = await startHarness({ MONGODB_DATABASE: harness.config.MONGODB_DATABASE });
  try {
    const [{ id, last_used_at: lastUsedAt, created_at: createdAt }] = await grantsOf(person);
    expect(lastUsedAt).toBe(createdAt);
    expect((await end(person.caller, id)).status).toBe(204);
    expect(await isLive(harness, accessToken)).toBe(false);
  } finally {
    await other.close();
  }
});
