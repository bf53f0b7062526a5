/** The authorization server (contract 2.3): what it grants, what a token carries, and what ends a grant. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@fitness/shared/clock.ts';
import { OAUTH_SCOPES, READING_SCOPES } from '@fitness/shared/oauth.ts';
import { createOauthClient, createPkce, type OauthClient } from '@fitness/shared/testing/oauth-client.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fromGateway, oauthOf, type Resident, resident } from './oauth-support.ts';
import { callerOf, giveRoles, isLive, joinAs, logIn, PASSWORD, startWorld, type World } from './support.ts';

let world: World;
let oauth: OauthClient;

beforeAll(async () => {
  world = await startWorld();
  oauth = oauthOf(world);
});
afterAll(() => world.close());

const isRefreshable = async (clientId: string, refreshToken: string): Promise<boolean> => {
  const { status, body } = await oauth.refresh(clientId, refreshToken);
  if (status === 400) expect(body.error).toBe('invalid_grant');
  return status === 200;
};

const changePassword = (person: Resident) =>
  world.send('PUT', '/auth/change-password', {
    as: person.caller,
    body: { current_password: PASSWORD, password: 'another password of mine' },
  });

describe('a client is let in', () => {
  test('by registering, and the consent of a user who signs in', async () => {
    const person = await resident(world);
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
    expect(await callerOf(world, connected.accessToken)).toMatchObject({
      userId: person.id,
      tokenKind: 'oauth',
      permissions: new Set(READING_SCOPES),
    });
  });

  test('and comes back with its state, and the issuer by whom it was answered (RFC 9207)', async () => {
    const person = await resident(world);
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

  test('not when the user says no', async () => {
    const browser = oauth.browse();
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const consent = await oauth.signIn(browser, params, await resident(world));
    const back = await browser.follow(await browser.submit(consent, 'cancel'));
    expect(back.location?.searchParams.get('error')).toBe('access_denied');
    expect(back.location?.searchParams.get('code')).toBeNull();
  });

  test('with a new password at each request: signing in for one app lets no other one in', async () => {
    const browser = oauth.browse();
    const person = await resident(world);
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    await browser.follow(await browser.submit(await oauth.signIn(browser, params, person), 'allow'));
    const other = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const page = await browser.follow(await browser.get(oauth.authorizeUrl(other)));
    expect(page.html).toContain('name="password"');
  });

  test.each(['', '/', '/mcp', '/api/v1'])('for the resource http://api.test%s', async (path) => {
    const resource = `http://api.test${path}`;
    const { clientId, code, verifier } = await oauth.newCode(await resident(world), { resource });
    const { status, body } = await oauth.exchange(clientId, code, verifier, { resource });
    expect([status, body.error]).toEqual([200, undefined]);
    expect((await oauth.refresh(clientId, body.refresh_token, { resource })).status).toBe(200);
  });
});

describe('a token carries', () => {
  test('what was asked for and the user holds, no more', async () => {
    const scope = 'posts.view users.view_all payments.view_all';
    const member = await oauth.connect(await resident(world), { scope });
    expect(member.scope).toBe('posts.view');
    expect((await callerOf(world, member.accessToken)).permissions).toEqual(new Set(['posts.view']));
    const operator = await oauth.connect(await resident(world, 'operator'), { scope });
    expect((await callerOf(world, operator.accessToken)).permissions).toEqual(new Set(scope.split(' ')));
  });

  test('never what would let it take over accounts, whoever lends it', async () => {
    const administrator = await resident(world, 'administrator');
    const scope = 'posts.view users.update_any users.delete roles.manage';
    const connected = await oauth.connect(administrator, { scope });
    expect(connected.scope).toBe('posts.view');
    expect((await callerOf(world, connected.accessToken)).permissions).toEqual(new Set(['posts.view']));
  });

  test('at each request only what the user holds then', async () => {
    const operator = await resident(world, 'operator');
    const { accessToken } = await oauth.connect(operator, { scope: 'posts.view posts.view_all' });
    await giveRoles(world, operator.id, [1]);
    expect((await callerOf(world, accessToken)).permissions).toEqual(new Set(['posts.view']));
    await giveRoles(world, operator.id, [3]);
    expect((await callerOf(world, accessToken)).permissions).toEqual(
      new Set(['posts.view', 'posts.view_all']),
    );
  });

  test('less after a refresh that asks for less, and never more', async () => {
    const operator = await resident(world, 'operator');
    const first = await oauth.connect(operator, { scope: 'posts.view posts.view_all' });
    const less = await oauth.refresh(first.clientId, first.refreshToken, { scope: 'posts.view' });
    expect((await callerOf(world, less.body.access_token)).permissions).toEqual(new Set(['posts.view']));
    const more = await oauth.refresh(first.clientId, less.body.refresh_token, {
      scope: 'posts.view users.view_all',
    });
    expect([more.status, more.body.error]).toEqual([400, 'invalid_scope']);
  });

  test('nothing for a user who holds nothing of what was asked for', async () => {
    const browser = oauth.browse();
    const params = {
      client_id: await oauth.newClient(),
      scope: 'payments.view_all nothing.known',
      code_challenge: createPkce().challenge,
    };
    const page = await oauth.signIn(browser, params, await resident(world));
    expect(page.location?.searchParams.get('error')).toBe('invalid_scope');
  });

  test('no access to what no scope speaks of: credentials, the account, notifications', async () => {
    const person = await resident(world);
    const { accessToken } = await oauth.connect(person, { scope: OAUTH_SCOPES.join(' ') });
    const as = await callerOf(world, accessToken);
    const refused = await Promise.all([
      world.send('GET', '/auth/tokens', { as }),
      world.send('POST', '/auth/tokens', { as, body: { name: 'x' } }),
      world.send('DELETE', '/auth/tokens/1', { as }),
      world.send('PUT', '/auth/me', { as, body: { first_name: 'Other' } }),
      world.send('PUT', '/auth/change-password', {
        as,
        body: { current_password: PASSWORD, password: 'another password of mine' },
      }),
      world.send('GET', '/notifications', { as }),
      world.send('POST', '/notifications/1/read', { as }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403));
    expect((await world.send('GET', '/auth/me', { as })).body.user.id).toBe(person.id);
    expect((await world.send('POST', '/auth/logout', { as })).status).toBe(204);
    expect(await isLive(world, accessToken)).toBe(false);
  });
});

describe('a grant ends', () => {
  test('with a revoked refresh token, at once and as a whole (RFC 7009)', async () => {
    const { clientId, accessToken, refreshToken } = await oauth.connect(await resident(world));
    expect((await oauth.revoke(clientId, refreshToken)).status).toBe(200);
    expect(await isLive(world, accessToken)).toBe(false);
    expect(await isRefreshable(clientId, refreshToken)).toBe(false);
  });

  test('with a revoked access token', async () => {
    const { clientId, accessToken, refreshToken } = await oauth.connect(await resident(world));
    expect((await oauth.revoke(clientId, accessToken)).status).toBe(200);
    expect(await isLive(world, accessToken)).toBe(false);
    expect(await isRefreshable(clientId, refreshToken)).toBe(false);
  });

  test("not by the hand of another client, and revoking what is nobody's tells nothing", async () => {
    const { accessToken } = await oauth.connect(await resident(world));
    const other = await oauth.newClient();
    expect((await oauth.revoke(other, accessToken)).status).toBe(200);
    expect(await isLive(world, accessToken)).toBe(true);
    expect((await oauth.revoke(other, 'fpr_nothing')).status).toBe(200);
  });

  test('when the password changes: tokens, codes and half-finished consents', async () => {
    const person = await resident(world);
    const connected = await oauth.connect(person);
    const unused = await oauth.newCode(person);
    const browser = oauth.browse();
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const consent = await oauth.signIn(browser, params, person);
    expect((await changePassword(person)).status).toBe(200);
    expect(await isLive(world, connected.accessToken)).toBe(false);
    expect(await isRefreshable(connected.clientId, connected.refreshToken)).toBe(false);
    const exchanged = await oauth.exchange(unused.clientId, unused.code, unused.verifier);
    expect([exchanged.status, exchanged.body.error]).toEqual([400, 'invalid_grant']);
    const late = await browser.submit(consent, 'allow');
    expect([late.status, late.location]).toEqual([400, undefined]);
    expect(await world.database.collection('oauth_records').countDocuments({ user_id: person.id })).toBe(0);
    // The token that has changed it stays; the apps of others too.
    expect(await isLive(world, person.token)).toBe(true);
  });

  test('when the account is erased', async () => {
    const person = await resident(world);
    const { clientId, accessToken, refreshToken } = await oauth.connect(person);
    const operator = await joinAs(world, 'operator');
    expect((await world.send('DELETE', `/users/${person.id}`, { as: operator.caller })).status).toBe(204);
    expect(await isLive(world, accessToken)).toBe(false);
    expect(await isRefreshable(clientId, refreshToken)).toBe(false);
  });

  test('for whoever signs in while his deletion is pending: he is let into his account, no app is', async () => {
    const person = await resident(world);
    const at = {
      deletion_requested_at: world.clock.now(),
      deletion_scheduled_at: new Date('2099-01-02T03:04:05Z'),
    };
    await world.database.collection('users').updateOne({ _id: person.id as never }, { $set: at });
    const browser = oauth.browse();
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const page = await oauth.signIn(browser, params, person);
    expect(page.status).toBe(403);
    expect(page.html).toContain('2099-01-02 03:04:05');
    const back = await browser.follow(await browser.submit(page, 'cancel'));
    expect(back.location?.searchParams.get('error')).toBe('access_denied');
    expect((await logIn(world, person.login)).status).toBe(200);
  });

  test('when a deletion comes between the log-in and the consent', async () => {
    const person = await resident(world);
    const browser = oauth.browse();
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const consent = await oauth.signIn(browser, params, person);
    const at = {
      deletion_requested_at: world.clock.now(),
      deletion_scheduled_at: new Date('2099-01-02T03:04:05Z'),
    };
    await world.database.collection('users').updateOne({ _id: person.id as never }, { $set: at });
    expect((await browser.submit(consent, 'allow')).status).toBe(400);
  });

  test('whichever comes first, of twenty refreshes and a change of password nothing is left alive', async () => {
    const person = await resident(world);
    const grants = await Promise.all(Array.from({ length: 20 }, () => oauth.connect(person)));
    const [changed, ...refreshed] = await Promise.all([
      changePassword(person),
      ...grants.map((grant) => oauth.refresh(grant.clientId, grant.refreshToken)),
    ]);
    expect(changed.status).toBe(200);
    for (const { status } of refreshed) expect([200, 400]).toContain(status);
    const issued = refreshed.flatMap(({ body }) => (body.access_token === undefined ? [] : [body]));
    const alive = await Promise.all(
      [...grants.map((grant) => grant.accessToken), ...issued.map((body) => body.access_token)].map((token) =>
        isLive(world, token),
      ),
    );
    expect(alive).not.toContain(true);
    expect(await world.database.collection('oauth_records').countDocuments({ user_id: person.id })).toBe(0);
    const tokens = world.database.collection('tokens');
    expect(await tokens.countDocuments({ user_id: person.id, kind: 'oauth' })).toBe(0);
  });
});

describe('time ends', () => {
  test('a code after a minute, a page after a quarter of an hour', async () => {
    const person = await resident(world);
    const { clientId, code, verifier } = await oauth.newCode(person);
    const browser = oauth.browse();
    const params = { client_id: clientId, code_challenge: createPkce().challenge };
    const consent = await oauth.signIn(browser, params, person);
    world.clock.advance(MINUTE_MS);
    const late = await oauth.exchange(clientId, code, verifier);
    expect([late.status, late.body.error]).toEqual([400, 'invalid_grant']);
    world.clock.advance(14 * MINUTE_MS);
    const page = await browser.submit(consent, 'allow');
    expect([page.status, page.location]).toEqual([400, undefined]);
  });

  test('an access token after an hour, a refresh token that was not used after thirty days', async () => {
    const { clientId, accessToken, refreshToken } = await oauth.connect(await resident(world));
    world.clock.advance(HOUR_MS - 1_000);
    expect(await isLive(world, accessToken)).toBe(true);
    world.clock.advance(1_000);
    expect(await isLive(world, accessToken)).toBe(false);
    const { body } = await oauth.refresh(clientId, refreshToken);
    expect(await isLive(world, body.access_token)).toBe(true);
    world.clock.advance(30 * DAY_MS);
    expect(await isRefreshable(clientId, body.refresh_token)).toBe(false);
  });

  test('a consent after a year, however often its tokens are refreshed', async () => {
    const { clientId, refreshToken } = await oauth.connect(await resident(world));
    let current = refreshToken;
    for (let day = 29; day < 365; day += 29) {
      world.clock.advance(29 * DAY_MS);
      const { status, body } = await oauth.refresh(clientId, current);
      expect([day, status]).toEqual([day, 200]);
      current = body.refresh_token;
    }
    world.clock.advance(17 * DAY_MS);
    const late = await oauth.refresh(clientId, current);
    expect([late.status, late.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('a client that nobody has let in after a day; one that was is remembered', async () => {
    const unused = await oauth.newClient();
    const { clientId } = await oauth.connect(await resident(world));
    world.clock.advance(DAY_MS);
    const ask = (client_id: string) =>
      oauth.browse().get(oauth.authorizeUrl({ client_id, code_challenge: createPkce().challenge }));
    expect((await ask(unused)).status).toBe(400);
    expect((await ask(clientId)).status).toBe(303);
  });
});

test('of tokens, codes and cookies only hashes are stored', async () => {
  const person = await resident(world);
  const { clientId, code, verifier } = await oauth.newCode(person);
  const browser = oauth.browse();
  const params = { client_id: clientId, code_challenge: createPkce().challenge };
  await oauth.signIn(browser, params, person);
  const stored = async (): Promise<string> => {
    const collections = await world.database.db?.collections();
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

test('nobody but the gateway is answered', async () => {
  const unsigned = createOauthClient(world.url);
  expect((await unsigned.register()).status).toBe(401);
  const signed = await fromGateway();
  expect((await fetch(`${world.url}/oauth/jwks`, { headers: signed })).status).toBe(404);
  expect((await fetch(`${world.url}/.well-known/openid-configuration`, { headers: signed })).status).toBe(
    404,
  );
});
