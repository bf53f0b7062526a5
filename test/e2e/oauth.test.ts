/** OAuth through the gateway: the view of a third-party client, and the access of its token. */
import { createOauthClient, createPkce } from '@fitness/contracts/testing/oauth-client.ts';
import { describe, expect, test } from '@jest/globals';
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
  test('leads from the resource to endpoints that answer', async () => {
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

  test('is not part of the public document of the API', async () => {
    const { paths } = expectStatus(await api('GET', '/openapi.json'), 200).body;
    expect(Object.keys(paths).filter((path) => /oauth|mcp|well-known/.test(path))).toEqual([]);
  });
});

describe('a third-party token', () => {
  test('gives access to its scopes, and nothing else', async () => {
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

  test('never has more permissions than its user currently has', async () => {
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

  test('is revoked by a password reset', async () => {
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

/** The response does not wait for the SMS. */
const newestCodeOf = (account: Account): Promise<string> =>
  eventually(async () => (await smsOf(account.phone))[0]?.code);

test('a code that is used twice revokes its tokens, through the gateway too', async () => {
  const account = await register();
  const { clientId, code, verifier } = await oauth().newCode(credentials(account));
  const { body } = await oauth().exchange(clientId, code, verifier);
  expect(await status('GET', '/auth/me', { token: body.access_token })).toBe(200);
  expect((await oauth().exchange(clientId, code, verifier)).body.error).toBe('invalid_grant');
  expect(await status('GET', '/auth/me', { token: body.access_token })).toBe(401);
});

test('the pages are in the language of the browser', async () => {
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
