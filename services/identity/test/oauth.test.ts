/** The authorization server: its grants, what a token may do, and what revokes a grant. */
import { OAUTH_SCOPES, READING_SCOPES } from '@fitness/contracts/oauth.ts';
import { createOauthClient, createPkce, type OauthClient } from '@fitness/contracts/testing/oauth-client.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type CodeCopies,
  copyCodes,
  createOauthUser,
  fromGateway,
  type OauthUser,
  oauthOf,
} from './oauth-support.ts';
import {
  callerOf,
  giveRoles,
  type Harness,
  isLive,
  joinAs,
  logIn,
  PASSWORD,
  startHarness,
} from './support.ts';

let harness: Harness;
let oauth: OauthClient;
/** Codes of a member. */
let codes: CodeCopies;

beforeAll(async () => {
  harness = await startHarness();
  oauth = oauthOf(harness);
  codes = await copyCodes(harness, await createOauthUser(harness));
});
afterAll(() => harness.close());

const isRefreshable = async (clientId: string, refreshToken: string): Promise<boolean> => {
  const { status, body } = await oauth.refresh(clientId, refreshToken);
  if (status === 400) expect(body.error).toBe('invalid_grant');
  return status === 200;
};

const changePassword = (person: OauthUser) =>
  harness.send('PUT', '/auth/change-password', {
    as: person.caller,
    body: { current_password: PASSWORD, password: 'another password of mine' },
  });

describe('a client', () => {
  test('a client receives tokens after registration, sign-in and consent', async () => {
    const person = await createOauthUser(harness);
    const registered = await oauth.register({ client_name: 'A client' });
    expect(registered.status).toBe(201);
    expect(registered.body).toEqual({
      client_id: expect.any(String),
      client_id_issued_at: expect.any(Number),
      client_name: 'A client',
      redirect_uris: ['http://127.0.0.1:7777/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'web',
    });
    const connected = await oauth.connect(person, { client_id: registered.body.client_id });
    expect(connected.accessToken).toMatch(/^fpo_[\w-]{48}$/);
    expect(connected.refreshToken).toMatch(/^fpr_[\w-]{48}$/);
    expect(connected.expiresIn).toBe(3_600);
    expect(await callerOf(harness, connected.accessToken)).toMatchObject({
      userId: person.id,
      tokenKind: 'oauth',
      permissions: new Set(READING_SCOPES),
    });
  });

  test('a client receives its state and the issuer with the code (RFC 9207)', async () => {
    const person = await createOauthUser(harness);
    const state = 'a&b=c d"<é';
    const back = await oauth.authorize(
      { client_id: await oauth.newClient(), state, code_challenge: createPkce().challenge },
      person,
    );
    expect(back.origin + back.pathname).toBe('http://127.0.0.1:7777/callback');
    expect(Object.fromEntries(back.searchParams)).toEqual({
      code: expect.stringMatching(/^fpc_/),
      state,
      iss: 'http://api.test',
    });
  });

  test('a client receives access_denied when the user refuses', async () => {
    const browser = oauth.browse();
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const consent = await oauth.signIn(browser, params, await createOauthUser(harness));
    const back = await browser.follow(await browser.submit(consent, 'cancel'));
    expect(back.location?.searchParams.get('error')).toBe('access_denied');
    expect(back.location?.searchParams.get('code')).toBeNull();
  });

  test('users must sign in again, even if they have just signed in for another client', async () => {
    const browser = oauth.browse();
    const person = await createOauthUser(harness);
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    await browser.follow(await browser.submit(await oauth.signIn(browser, params, person), 'allow'));
    const other = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const page = await browser.follow(await browser.get(oauth.authorizeUrl(other)));
    expect(page.html).toContain('name="password"');
  });

  const ORIGIN = 'http://api.test';
  const audienceOf = async (token: string): Promise<string> =>
    (await harness.identity.call('Introspect', { token })).audience;

  test('a client may name a resource of the origin, and gets tokens for it', async () => {
    const resource = `${ORIGIN}/mcp/`;
    const { clientId, code, verifier } = await oauth.newCode(await createOauthUser(harness), { resource });
    const { status, body } = await oauth.exchange(clientId, code, verifier, { resource });
    expect([status, body.error]).toEqual([200, undefined]);
    expect(await audienceOf(body.access_token)).toBe(`${ORIGIN}/mcp`);
    const refreshed = await oauth.refresh(clientId, body.refresh_token, { resource });
    expect(await audienceOf(refreshed.body.access_token)).toBe(`${ORIGIN}/mcp`);
    // Without the parameter the granted resource stays.
    const again = await oauth.refresh(clientId, refreshed.body.refresh_token);
    expect(await audienceOf(again.body.access_token)).toBe(`${ORIGIN}/mcp`);
  });

  test('a client that names no resource gets tokens for the origin, or for one that it names later', async () => {
    const { clientId, code, verifier } = await codes.newCode();
    const resource = `${ORIGIN}/mcp`;
    const { body } = await oauth.exchange(clientId, code, verifier, { resource });
    expect([body.error, await audienceOf(body.access_token)]).toEqual([undefined, resource]);
    const refreshed = await oauth.refresh(clientId, body.refresh_token);
    expect(await audienceOf(refreshed.body.access_token)).toBe(ORIGIN);
  });

  test('a client that names one resource gets no token for another', async () => {
    const person = await createOauthUser(harness);
    const resource = `${ORIGIN}/mcp`;
    const { clientId, code, verifier } = await oauth.newCode(person, { resource });
    const refused = await oauth.exchange(clientId, code, verifier, { resource: `${ORIGIN}/api/v1` });
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_target']);
    const connected = await oauth.connect(person, { resource });
    expect(await audienceOf(connected.accessToken)).toBe(resource);
    for (const other of ['/api/v1', '']) {
      const params = { resource: `${ORIGIN}${other}` };
      const { status, body } = await oauth.refresh(connected.clientId, connected.refreshToken, params);
      expect([other, status, body.error]).toEqual([other, 400, 'invalid_target']);
    }
  });

  test('a client receives the code at a private-use scheme, which the consent page names', async () => {
    const person = await createOauthUser(harness);
    const redirect_uri = 'com.example.app:/oauth?x=1';
    const clientId = await oauth.newClient({ redirect_uris: [redirect_uri] });
    const { verifier, challenge } = createPkce();
    const browser = oauth.browse();
    const params = { client_id: clientId, redirect_uri, code_challenge: challenge, state: 's' };
    const consent = await oauth.signIn(browser, params, person);
    expect(consent.html).toContain('com.example.app:');
    expect(consent.headers.get('content-security-policy')).toContain("form-action 'self' com.example.app:;");
    const { location } = await browser.follow(await browser.submit(consent, 'allow'));
    expect(location?.href.startsWith('com.example.app:/oauth?x=1&code=fpc_')).toBe(true);
    expect(location?.searchParams.get('state')).toBe('s');
    const code = location?.searchParams.get('code') ?? '';
    const elsewhere = await oauth.exchange(clientId, code, verifier, {
      redirect_uri: 'com.example.app:/oauth',
    });
    expect(elsewhere.status).toBe(400);
    expect((await oauth.exchange(clientId, code, verifier, { redirect_uri })).status).toBe(200);
  });
});

describe('an access token', () => {
  test('an access token has only requested permissions that its user holds', async () => {
    const scope = 'posts.view users.view_all payments.view_all';
    const member = await oauth.connect(await createOauthUser(harness), { scope });
    expect(member.scope).toBe('posts.view');
    expect((await callerOf(harness, member.accessToken)).permissions).toEqual(new Set(['posts.view']));
  });

  test('an access token never has permissions that could take over accounts', async () => {
    const administrator = await createOauthUser(harness, 'administrator');
    const scope = 'posts.view users.update_any users.delete roles.manage';
    const connected = await oauth.connect(administrator, { scope });
    expect(connected.scope).toBe('posts.view');
    expect((await callerOf(harness, connected.accessToken)).permissions).toEqual(new Set(['posts.view']));
  });

  test('an access token follows its user’s permissions, and is refreshed with fewer but never with more', async () => {
    const operator = await createOauthUser(harness, 'operator');
    const scope = 'posts.view posts.view_all';
    const { clientId, accessToken, refreshToken } = await oauth.connect(operator, { scope });
    const permissionsOf = async (token: string) => [...(await callerOf(harness, token)).permissions].sort();
    expect(await permissionsOf(accessToken)).toEqual(['posts.view', 'posts.view_all']);
    await giveRoles(harness, operator.id, [1]);
    expect(await permissionsOf(accessToken)).toEqual(['posts.view']);
    await giveRoles(harness, operator.id, [3]);
    expect(await permissionsOf(accessToken)).toEqual(['posts.view', 'posts.view_all']);
    const less = await oauth.refresh(clientId, refreshToken, { scope: 'posts.view' });
    expect(await permissionsOf(less.body.access_token)).toEqual(['posts.view']);
    const more = await oauth.refresh(clientId, less.body.refresh_token, {
      scope: 'posts.view users.view_all',
    });
    expect([more.status, more.body.error]).toEqual([400, 'invalid_scope']);
  });

  test('no access token is issued if the user holds none of the requested permissions', async () => {
    const browser = oauth.browse();
    const params = {
      client_id: await oauth.newClient(),
      scope: 'payments.view_all nothing.known',
      code_challenge: createPkce().challenge,
    };
    const page = await oauth.signIn(browser, params, await createOauthUser(harness));
    expect(page.location?.searchParams.get('error')).toBe('invalid_scope');
  });

  test('an access token never reaches credentials, account changes or notifications', async () => {
    const person = await createOauthUser(harness);
    const { accessToken } = await oauth.connect(person, { scope: OAUTH_SCOPES.join(' ') });
    const as = await callerOf(harness, accessToken);
    const refused = await Promise.all([
      harness.send('GET', '/auth/tokens', { as }),
      harness.send('POST', '/auth/tokens', { as, body: { name: 'x' } }),
      harness.send('DELETE', '/auth/tokens/1', { as }),
      harness.send('PUT', '/auth/me', { as, body: { first_name: 'Other' } }),
      harness.send('PUT', '/auth/change-password', {
        as,
        body: { current_password: PASSWORD, password: 'another password of mine' },
      }),
      harness.send('GET', '/notifications', { as }),
      harness.send('POST', '/notifications/1/read', { as }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403));
    expect((await harness.send('GET', '/auth/me', { as })).body.user.id).toBe(person.id);
    expect((await harness.send('POST', '/auth/logout', { as })).status).toBe(204);
    expect(await isLive(harness, accessToken)).toBe(false);
  });
});

describe('a grant', () => {
  test('revoking a refresh token revokes its whole grant (RFC 7009)', async () => {
    const { clientId, accessToken, refreshToken } = await codes.connect();
    expect((await oauth.revoke(clientId, refreshToken)).status).toBe(200);
    expect(await isLive(harness, accessToken)).toBe(false);
    expect(await isRefreshable(clientId, refreshToken)).toBe(false);
  });

  test('revoking an access token revokes its whole grant, but another client cannot revoke it', async () => {
    const { clientId, accessToken, refreshToken } = await codes.connect();
    const other = await oauth.newClient();
    // The same response as for an unknown token.
    for (const token of [accessToken, refreshToken, 'fpr_nothing'])
      expect((await oauth.revoke(other, token)).status).toBe(200);
    expect(await isLive(harness, accessToken)).toBe(true);
    expect((await oauth.revoke(clientId, accessToken)).status).toBe(200);
    expect(await isLive(harness, accessToken)).toBe(false);
    expect(await isRefreshable(clientId, refreshToken)).toBe(false);
  });

  test('a change of the password revokes grants, unused codes and pending consents', async () => {
    const person = await createOauthUser(harness);
    const connected = await codes.connect(person);
    const unused = await codes.newCode(person);
    const browser = oauth.browse();
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const consent = await oauth.signIn(browser, params, person);
    expect((await changePassword(person)).status).toBe(200);
    expect(await isLive(harness, connected.accessToken)).toBe(false);
    expect(await isRefreshable(connected.clientId, connected.refreshToken)).toBe(false);
    const exchanged = await oauth.exchange(unused.clientId, unused.code, unused.verifier);
    expect([exchanged.status, exchanged.body.error]).toEqual([400, 'invalid_grant']);
    const late = await browser.submit(consent, 'allow');
    expect([late.status, late.location]).toEqual([400, undefined]);
    expect(await harness.database.collection('oauth_records').countDocuments({ user_id: person.id })).toBe(0);
    // The session that changed the password stays valid.
    expect(await isLive(harness, person.token)).toBe(true);
  });

  test('an erasure of the account revokes its grants', async () => {
    const person = await createOauthUser(harness);
    const { clientId, accessToken, refreshToken } = await codes.connect(person);
    const operator = await joinAs(harness, 'operator');
    expect((await harness.send('DELETE', `/users/${person.id}`, { as: operator.caller })).status).toBe(204);
    expect(await isLive(harness, accessToken)).toBe(false);
    expect(await isRefreshable(clientId, refreshToken)).toBe(false);
  });

  test('no grant is issued while a deletion is pending, although the user can sign in', async () => {
    const person = await createOauthUser(harness);
    const at = {
      deletion_requested_at: harness.clock.now(),
      deletion_scheduled_at: new Date('2099-01-02T03:04:05Z'),
    };
    await harness.database.collection('users').updateOne({ _id: person.id as never }, { $set: at });
    const browser = oauth.browse();
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const page = await oauth.signIn(browser, params, person);
    expect(page.status).toBe(403);
    expect(page.html).toContain('January 2, 2099 at 03:04 UTC');
    const back = await browser.follow(await browser.submit(page, 'cancel'));
    expect(back.location?.searchParams.get('error')).toBe('access_denied');
    expect((await logIn(harness, person.login)).status).toBe(200);
  });

  test('no grant is issued if the deletion is scheduled between sign-in and consent', async () => {
    const person = await createOauthUser(harness);
    const browser = oauth.browse();
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const consent = await oauth.signIn(browser, params, person);
    const at = {
      deletion_requested_at: harness.clock.now(),
      deletion_scheduled_at: new Date('2099-01-02T03:04:05Z'),
    };
    await harness.database.collection('users').updateOne({ _id: person.id as never }, { $set: at });
    expect((await browser.submit(consent, 'allow')).status).toBe(400);
  });

  test('no grant survives a change of the password that races with twenty refreshes', async () => {
    const person = await createOauthUser(harness);
    const grants = await Promise.all(Array.from({ length: 10 }, () => codes.connect(person)));
    const [changed, ...refreshed] = await Promise.all([
      changePassword(person),
      ...[...grants, ...grants].map((grant) => oauth.refresh(grant.clientId, grant.refreshToken)),
    ]);
    expect(changed.status).toBe(200);
    for (const { status } of refreshed) expect([200, 400]).toContain(status);
    const issued = refreshed.flatMap(({ body }) => (body.access_token === undefined ? [] : [body]));
    const alive = await Promise.all(
      [...grants.map((grant) => grant.accessToken), ...issued.map((body) => body.access_token)].map((token) =>
        isLive(harness, token),
      ),
    );
    expect(alive).not.toContain(true);
    expect(await harness.database.collection('oauth_records').countDocuments({ user_id: person.id })).toBe(0);
    const tokens = harness.database.collection('tokens');
    expect(await tokens.countDocuments({ user_id: person.id, kind: 'oauth' })).toBe(0);
  });
});

describe('expiry', () => {
  test('a code expires after a minute, a page after fifteen minutes', async () => {
    const person = await createOauthUser(harness);
    const { clientId, code, verifier } = await oauth.newCode(person);
    const browser = oauth.browse();
    const params = { client_id: clientId, code_challenge: createPkce().challenge };
    const consent = await oauth.signIn(browser, params, person);
    harness.clock.advance(MINUTE_MS);
    const late = await oauth.exchange(clientId, code, verifier);
    expect([late.status, late.body.error]).toEqual([400, 'invalid_grant']);
    harness.clock.advance(14 * MINUTE_MS);
    const page = await browser.submit(consent, 'allow');
    expect([page.status, page.location]).toEqual([400, undefined]);
  });

  test('an access token expires after an hour, an unused refresh token after thirty days', async () => {
    const { clientId, accessToken, refreshToken } = await codes.connect();
    harness.clock.advance(HOUR_MS - 1_000);
    expect(await isLive(harness, accessToken)).toBe(true);
    harness.clock.advance(1_000);
    expect(await isLive(harness, accessToken)).toBe(false);
    const { body } = await oauth.refresh(clientId, refreshToken);
    expect(await isLive(harness, body.access_token)).toBe(true);
    harness.clock.advance(30 * DAY_MS);
    expect(await isRefreshable(clientId, body.refresh_token)).toBe(false);
  });

  test('a consent expires after a year, however often its tokens are refreshed', async () => {
    const { clientId, refreshToken } = await oauth.connect(await createOauthUser(harness));
    let current = refreshToken;
    for (let day = 29; day < 365; day += 29) {
      harness.clock.advance(29 * DAY_MS);
      const { status, body } = await oauth.refresh(clientId, current);
      expect([day, status]).toEqual([day, 200]);
      current = body.refresh_token;
    }
    harness.clock.advance(17 * DAY_MS);
    const late = await oauth.refresh(clientId, current);
    expect([late.status, late.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('a client without a consent expires after a day, a client with one does not', async () => {
    const unused = await oauth.newClient();
    const { clientId } = await oauth.connect(await createOauthUser(harness));
    harness.clock.advance(DAY_MS);
    const open = (client_id: string) =>
      oauth.browse().get(oauth.authorizeUrl({ client_id, code_challenge: createPkce().challenge }));
    expect((await open(unused)).status).toBe(400);
    expect((await open(clientId)).status).toBe(303);
  });
});

test('tokens, codes and cookies are stored only as hashes', async () => {
  const person = await createOauthUser(harness);
  const { clientId, code, verifier } = await oauth.newCode(person);
  const browser = oauth.browse();
  const params = { client_id: clientId, code_challenge: createPkce().challenge };
  await oauth.signIn(browser, params, person);
  const stored = async (): Promise<string> => {
    const collections = await harness.database.db?.collections();
    const rows = await Promise.all((collections ?? []).map((collection) => collection.find().toArray()));
    return JSON.stringify(rows);
  };
  const cookies = [...browser.cookies]
    .filter(([name]) => !name.includes('.sig '))
    .map(([, { value }]) => value);
  expect(cookies.length).toBeGreaterThanOrEqual(3);
  const before = await stored();
  for (const secret of [code, ...cookies]) expect(before).not.toContain(secret);
  const { body } = await oauth.exchange(clientId, code, verifier);
  const after = await stored();
  for (const secret of [body.access_token, body.refresh_token, verifier]) expect(after).not.toContain(secret);
});

test('only requests of the gateway are served', async () => {
  const unsigned = createOauthClient(harness.url);
  expect((await unsigned.register()).status).toBe(401);
  const signed = await fromGateway();
  expect((await fetch(`${harness.url}/oauth/jwks`, { headers: signed })).status).toBe(404);
  expect((await fetch(`${harness.url}/.well-known/openid-configuration`, { headers: signed })).status).toBe(
    404,
  );
});
