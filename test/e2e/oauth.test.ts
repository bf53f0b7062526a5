/** OAuth through the gateway: a third-party client's view, and the access of its token. */
import { createOauthClient, createPkce } from '@fitness/contracts/testing/oauth-client.ts';
import { describe, expect, test } from '@jest/globals';
import * as oauth4webapi from 'oauth4webapi';
import * as openidClient from 'openid-client';
import { consent } from './consent.ts';
import {
  type Account,
  administratorToken,
  api,
  baseUrl,
  deposit,
  eventually,
  expectStatus,
  PASSWORD,
  register,
  smsOf,
} from './support.ts';

const oauth = () => createOauthClient(baseUrl());
const credentials = ({ username }: Account) => ({ login: username, password: PASSWORD });
const status = async (...call: Parameters<typeof api>): Promise<number> => (await api(...call)).status;

describe('discovery', () => {
  test('discovery leads from the resource to working endpoints', async () => {
    const resource = await fetch(`${baseUrl()}/.well-known/oauth-protected-resource/mcp`);
    const { authorization_servers: servers } = (await resource.json()) as { authorization_servers: string[] };
    expect(servers).toEqual([baseUrl()]);
    const document = await fetch(`${servers[0]}/.well-known/oauth-authorization-server`);
    const server = (await document.json()) as Record<string, string>;
    expect(server.issuer).toBe(baseUrl());
    for (const name of ['token_endpoint', 'registration_endpoint', 'revocation_endpoint']) {
      const answer = await fetch(String(server[name]), { method: 'POST' });
      expect([name, answer.status]).toEqual([name, 400]);
      expect(answer.headers.get('x-request-id')).toMatch(/./);
    }
    const page = await fetch(String(server.authorization_endpoint), { redirect: 'manual' });
    expect(page.status).toBe(400);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });

  test('the OAuth endpoints are not part of the API document', async () => {
    const { paths } = expectStatus(await api('GET', '/openapi.json'), 200).body;
    expect(Object.keys(paths).filter((path) => /oauth|mcp|well-known/.test(path))).toEqual([]);
  });
});

describe('a third-party token', () => {
  test('a third-party token gives access to its scopes only', async () => {
    const account = await register();
    await deposit(account.token, 30_000);
    const { accessToken: token } = await oauth().connect(credentials(account), {
      scope: 'payments.view_own',
    });
    expect(expectStatus(await api('GET', '/payments/balance', { token }), 200).body).toEqual({
      balance: 30_000,
    });
    expect(expectStatus(await api('GET', '/auth/me', { token }), 200).body.user.id).toBe(account.id);
    const body = { amount: 10_000 };
    expect(await status('POST', '/payments/withdrawals', { token, body })).toBe(403);
    expect(await status('POST', '/payments/deposit', { token, body })).toBe(403);
    expect(await status('POST', '/training-services/1/purchase', { token })).toBe(403);
    expect(await status('POST', '/payments/buy-premium', { token, body: { type: 'plus' } })).toBe(403);
    expect(await status('GET', '/posts', { token })).toBe(403);
    expect(await status('POST', '/gyms', { token, body: {} })).toBe(403);
    expect(await status('GET', '/users', { token })).toBe(403);
    expect(await status('POST', '/media', { token, body: {} })).toBe(403);
    expect(await status('GET', '/trainees', { token })).toBe(403);
    expect(await status('PUT', '/auth/me', { token, body: { first_name: 'X' } })).toBe(403);
    expect(await status('GET', '/auth/tokens', { token })).toBe(403);
    const guess = { current_password: 'not the password' };
    expect(await status('POST', '/auth/delete-account', { token, body: guess })).toBe(422);
  });

  test('a third-party token never has more permissions than its user currently has', async () => {
    const account = await register();
    const administrator = await administratorToken();
    const give = async (role_ids: number[]) =>
      expectStatus(
        await api('PUT', `/users/${account.id}`, { token: administrator, body: { role_ids } }),
        200,
      );
    const { data: roles } = expectStatus(await api('GET', '/roles', { token: administrator }), 200).body;
    const idOf = (name: string) => roles.find((role: { name: string }) => role.name === name).id;
    const scope = 'payments.view_own payments.view_all';
    await give([idOf('operator')]);
    const { accessToken: token } = await oauth().connect(credentials(account), { scope });
    expect(await status('GET', '/payments?user_id=1', { token })).toBe(200);
    await give([idOf('member')]);
    const own = expectStatus(await api('GET', '/payments', { token }), 200).body;
    expect(own.data).toEqual([]);
    expect(await status('GET', '/payments/balance?user_id=1', { token })).toBe(403);
  });

  test('a password reset revokes a third-party token', async () => {
    const account = await register();
    const { accessToken, clientId, refreshToken } = await oauth().connect(credentials(account));
    expectStatus(await api('POST', '/auth/forgot-password', { body: { login: account.username } }), 200);
    const code = await newestCodeOf(account);
    const body = { login: account.username, code, password: 'a new password of mine' };
    expectStatus(await api('POST', '/auth/reset-password', { body }), 200);
    expect(await status('GET', '/auth/me', { token: accessToken })).toBe(401);
    expect((await oauth().refresh(clientId, refreshToken)).body.error).toBe('invalid_grant');
  });
});

/** Waits for the SMS, because the response does not. */
const newestCodeOf = (account: Account): Promise<string> =>
  eventually(async () => (await smsOf(account.phone))[0]?.code);

test('a code that is used twice revokes its tokens at the gateway too', async () => {
  const account = await register();
  const { clientId, code, verifier } = await oauth().newCode(credentials(account));
  const { body } = await oauth().exchange(clientId, code, verifier);
  expect(await status('GET', '/auth/me', { token: body.access_token })).toBe(200);
  expect((await oauth().exchange(clientId, code, verifier)).body.error).toBe('invalid_grant');
  expect(await status('GET', '/auth/me', { token: body.access_token })).toBe(401);
});

test("the pages are in the browser's language", async () => {
  const client = oauth();
  const browser = client.browse();
  const url = client.authorizeUrl({
    client_id: await client.newClient(),
    code_challenge: createPkce().challenge,
  });
  const { location } = await browser.get(url);
  const page = await browser.get(location?.pathname ?? '', { 'accept-language': 'fa' });
  expect(page.status).toBe(200);
  expect(page.html).toContain('<html lang="fa" dir="rtl">');
});

describe('a client library', () => {
  test('oauth4webapi connects a native app with a private-use redirect, starting from the API address', async () => {
    const account = await register();
    const insecure = { [oauth4webapi.allowInsecureRequests]: true };
    const resource = new URL(`${baseUrl()}/api/v1`);
    const { authorization_servers: [issuer = ''] = [] } = await oauth4webapi.processResourceDiscoveryResponse(
      resource,
      await oauth4webapi.resourceDiscoveryRequest(resource, insecure),
    );
    const server = await oauth4webapi.processDiscoveryResponse(
      new URL(issuer),
      await oauth4webapi.discoveryRequest(new URL(issuer), { algorithm: 'oauth2', ...insecure }),
    );
    const redirectUri = 'ir.example.coach:/connected';
    const client = await oauth4webapi.processDynamicClientRegistrationResponse(
      await oauth4webapi.dynamicClientRegistrationRequest(
        server,
        { client_name: 'Coach', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
        insecure,
      ),
    );
    const verifier = oauth4webapi.generateRandomCodeVerifier();
    const state = oauth4webapi.generateRandomState();
    const url = new URL(server.authorization_endpoint ?? '');
    url.search = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'posts.view',
      resource: resource.href,
      state,
      code_challenge: await oauth4webapi.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString();
    const back = await consent(url, credentials(account));
    expect(back.href.startsWith(`${redirectUri}?code=`)).toBe(true);
    const none = oauth4webapi.None();
    const tokens = await oauth4webapi.processAuthorizationCodeResponse(
      server,
      client,
      await oauth4webapi.authorizationCodeGrantRequest(
        server,
        client,
        none,
        oauth4webapi.validateAuthResponse(server, client, back, state),
        redirectUri,
        verifier,
        { additionalParameters: { resource: resource.href }, ...insecure },
      ),
    );
    expect([tokens.token_type, tokens.scope]).toEqual(['bearer', 'posts.view']);

    const get = (path: string, token = tokens.access_token): Promise<Response> =>
      oauth4webapi.protectedResourceRequest(
        token,
        'GET',
        new URL(`${resource.href}${path}`),
        undefined,
        undefined,
        insecure,
      );
    expect((await get('/posts')).status).toBe(200);
    await expect(get('/payments/balance')).rejects.toMatchObject({
      status: 403,
      cause: [{ scheme: 'bearer', parameters: { error: 'insufficient_scope', scope: 'payments.view_own' } }],
    });
    const refreshed = await oauth4webapi.processRefreshTokenResponse(
      server,
      client,
      await oauth4webapi.refreshTokenGrantRequest(server, client, none, tokens.refresh_token ?? '', insecure),
    );
    await oauth4webapi.processRevocationResponse(
      await oauth4webapi.revocationRequest(server, client, none, refreshed.refresh_token ?? '', insecure),
    );
    await expect(get('/posts', refreshed.access_token)).rejects.toMatchObject({ status: 401 });
  });

  test('openid-client connects a desktop program whose loopback port is known only at the redirect', async () => {
    const account = await register();
    const config = await openidClient.dynamicClientRegistration(
      new URL(baseUrl()),
      { client_name: 'Desktop', redirect_uris: ['http://127.0.0.1/callback'] },
      openidClient.None(),
      { algorithm: 'oauth2', execute: [openidClient.allowInsecureRequests] },
    );
    const pkceCodeVerifier = openidClient.randomPKCECodeVerifier();
    const expectedState = openidClient.randomState();
    const redirectUri = 'http://127.0.0.1:51234/callback';
    const url = openidClient.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      state: expectedState,
      code_challenge: await openidClient.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    });
    const back = await consent(url, credentials(account));
    expect(back.origin + back.pathname).toBe(redirectUri);
    const checks = { pkceCodeVerifier, expectedState };
    const tokens = await openidClient.authorizationCodeGrant(config, back, checks);
    expect(tokens.expires_in).toBe(3_600);
    const get = (path: string, token: string): Promise<Response> =>
      openidClient.fetchProtectedResource(config, token, new URL(`${baseUrl()}${path}`), 'GET');
    expect((await get('/api/v1/auth/me', tokens.access_token)).status).toBe(200);
    const refreshed = await openidClient.refreshTokenGrant(config, tokens.refresh_token ?? '', {
      resource: `${baseUrl()}/mcp`,
    });
    await expect(get('/api/v1/auth/me', refreshed.access_token)).rejects.toMatchObject({
      cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }],
    });
    await openidClient.tokenRevocation(config, refreshed.refresh_token ?? '');
    await expect(get('/api/v1/auth/me', tokens.access_token)).rejects.toMatchObject({ status: 401 });
    const again = openidClient.refreshTokenGrant(config, refreshed.refresh_token ?? '');
    await expect(again).rejects.toMatchObject({ error: 'invalid_grant' });
  });
});

test('every service reports a missing scope as 403 with the scope to request', async () => {
  const account = await register();
  const { accessToken: token } = await oauth().connect(credentials(account), { scope: 'posts.view' });
  for (const [method, path, scope] of [
    ['GET', '/users', 'users.view_limited'],
    ['GET', '/payments', 'payments.view_own'],
    ['POST', '/gyms', 'gyms.create'],
    ['POST', '/training-services', 'training_services.create'],
    ['POST', '/payments/buy-premium', 'payments.buy_premium'],
  ] as const) {
    const { status, headers } = await api(method, path, { token, body: method === 'POST' ? {} : undefined });
    const challenge = headers.get('www-authenticate');
    expect([path, status, challenge]).toEqual([
      path,
      403,
      `Bearer error="insufficient_scope", scope="${scope}"`,
    ]);
  }
  // No scope covers these routes.
  for (const path of ['/auth/tokens', '/notifications']) {
    const { status, headers } = await api('GET', path, { token });
    expect([path, status, headers.get('www-authenticate')]).toEqual([path, 403, null]);
  }
});

test('a missing scope that depends on the request is named only if the user can grant it', async () => {
  const [account, other] = await Promise.all([register(), register()]);
  const administrator = await administratorToken();
  const { data: roles } = expectStatus(await api('GET', '/roles', { token: administrator }), 200).body;
  const give = async (name: string) => {
    const role_ids = [roles.find((role: { name: string }) => role.name === name).id];
    expectStatus(await api('PUT', `/users/${account.id}`, { token: administrator, body: { role_ids } }), 200);
  };
  const newGym = async (token: string): Promise<number> => {
    const body = { name: 'Gym', address: 'Street 1', location_lat: 35.7, location_lng: 51.4 };
    return expectStatus(await api('POST', '/gyms', { token, body }), 201).body.gym.id;
  };
  const [own, foreign] = await Promise.all([newGym(account.token), newGym(other.token)]);
  const post = { profile_type: 'App\\Models\\Gym', profile_id: foreign, title: 'T', content: 'C' };
  const postId = expectStatus(await api('POST', '/posts', { token: other.token, body: post }), 201).body.data
    .id;
  const service = { title: 'Plan', description: 'D', price: 1_000, duration_days: 10 };
  const created = await api('POST', '/training-services', { token: other.token, body: service });
  const serviceId = expectStatus(created, 201).body.data.id;
  const boost = { boostable_type: 'gym', boostable_id: foreign, level: 'basic' };
  const premium = { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token: 'unused' };

  const cases = [
    ['GET', `/payments?user_id=${other.id}`, undefined, 'payments.view_all'],
    ['GET', `/payments/balance?user_id=${other.id}`, undefined, 'payments.view_all'],
    ['GET', `/gyms?user_id=${other.id}`, undefined, 'gyms.view_all'],
    ['GET', '/users?role=member', undefined, 'users.view_limited users.view_all'],
    ['PUT', `/gyms/${foreign}`, { name: 'X' }, 'gyms.update_any'],
    ['PUT', `/gyms/${own}`, { gym_license_approved: true, name: 'X' }, 'gyms.update gyms.approve_license'],
    ['PUT', `/posts/${postId}`, { title: 'X' }, 'posts.update_any'],
    ['PUT', `/training-services/${serviceId}`, { title: 'X' }, 'training_services.update_any'],
    ['POST', '/payments/boost', boost, 'payments.boost_all'],
  ] as const;
  const member =
    'gyms.update payments.view_own users.view_limited posts.view posts.create training_services.create ' +
    'payments.boost_own';
  const challenges = async (token: string) => {
    const answers = [];
    for (const [method, path, body] of cases) {
      const { status, headers } = await api(method, path, { token, body });
      answers.push([path, status, headers.get('www-authenticate')]);
    }
    return answers;
  };
  await give('operator');
  const { accessToken: token } = await oauth().connect(credentials(account), { scope: member });
  expect(await challenges(token)).toEqual(
    cases.map(([, path, , scope]) => [path, 403, `Bearer error="insufficient_scope", scope="${scope}"`]),
  );
  // The permission for one kind of product does not cover the other.
  const bought = await api('POST', '/payments/store-purchases', { token, body: premium });
  expect([bought.status, bought.headers.get('www-authenticate')]).toEqual([
    403,
    'Bearer error="insufficient_scope", scope="payments.buy_premium"',
  ]);

  // A missing role does not concern the app.
  await give('member');
  expect(await challenges(token)).toEqual(cases.map(([, path]) => [path, 403, null]));
});
