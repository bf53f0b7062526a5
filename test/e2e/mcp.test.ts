/** `/mcp` on the whole product, with the SDK's client and OAuth. */
import { createOauthClient } from '@fitness/contracts/testing/oauth-client.ts';
import { describe, expect, test } from '@jest/globals';
import { callTool, codeOf, connectMcp, MemoryProvider, mcpUrl, OriginProvider } from './mcp-client.ts';
import {
  type Account,
  api,
  arm,
  baseUrl,
  commit,
  deposit,
  expectStatus,
  login,
  newestCode,
  PASSWORD,
  register,
  scheduleDeletion,
  smsOf,
  tokenOf,
} from './support.ts';

const credentials = ({ username }: Account) => ({ login: username, password: PASSWORD });

/** Sends a request with the stored token, whatever its state. */
const refused = async ({ savedTokens }: Pick<MemoryProvider, 'savedTokens'>): Promise<Response> =>
  fetch(mcpUrl(), {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      authorization: `Bearer ${savedTokens?.access_token}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });

test('a client needs only the address: discovery, registration, consent, token, tools', async () => {
  const account = await register();
  await deposit(account.token, 50_000);
  const { client, provider } = await connectMcp(credentials(account));
  expect(provider.savedTokens).toMatchObject({
    token_type: 'Bearer',
    scope: 'users.view_limited posts.view payments.view_own',
  });

  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    'get_profile',
    'get_balance',
    'list_payments',
    'get_payment',
    'list_posts',
    'get_post',
    'list_gyms',
    'get_gym',
    'list_training_services',
    'get_training_service',
    'list_deletion_blockers',
  ]);

  const me = await callTool(client, 'get_profile');
  expect(me.structuredContent.user).toMatchObject({ id: account.id, email: account.email });
  expect((await callTool(client, 'get_balance')).structuredContent).toEqual({ balance: 50_000 });
  const payments = (await callTool(client, 'list_payments', { type: 'deposit' })).structuredContent;
  expect(payments.data).toHaveLength(1);
  const payment = await callTool(client, 'get_payment', { id: payments.data[0].id });
  expect(payment.structuredContent.payment).toMatchObject({ amount: 50_000, is_done: true });
  await client.close();
});

test('every read tool returns the same as the API', async () => {
  const account = await register();
  const { token } = account;
  const gym = expectStatus(
    await api('POST', '/gyms', {
      token,
      body: { name: account.username, address: 'Tehran', location_lat: 35.7, location_lng: 51.4 },
    }),
    201,
  ).body.gym;
  const post = expectStatus(
    await api('POST', '/posts', {
      token,
      body: { profile_type: 'App\\Models\\Gym', profile_id: gym.id, title: 'Opening', content: 'Soon' },
    }),
    201,
  ).body.data;
  const service = expectStatus(
    await api('POST', '/training-services', {
      token,
      body: { title: 'Plan', description: 'Six weeks', price: 90_000, duration_days: 42 },
    }),
    201,
  ).body.data;
  const { client, provider } = await connectMcp(credentials(account), new OriginProvider());
  const ofClient = { token: provider.savedTokens?.access_token };
  const same = async (name: string, args: Record<string, unknown>, path: string) => {
    const { body } = expectStatus(await api('GET', path, ofClient), 200);
    expect([name, (await callTool(client, name, args)).structuredContent]).toEqual([name, body]);
  };
  await same('get_gym', { id: gym.id }, `/gyms/${gym.id}`);
  await same('list_gyms', { search: account.username }, `/gyms?search=${account.username}`);
  await same('get_post', { id: post.id }, `/posts/${post.id}`);
  const query = `type=App%5CModels%5CGym&item_id=${gym.id}`;
  await same('list_posts', { type: 'App\\Models\\Gym', item_id: gym.id }, `/posts?${query}`);
  await same('get_training_service', { id: service.id }, `/training-services/${service.id}`);
  await same('list_training_services', { user_id: account.id }, `/training-services?user_id=${account.id}`);
  const missing = await callTool(client, 'get_gym', { id: 999_999_999 });
  expect(missing).toMatchObject({
    isError: true,
    content: [{ text: 'We could not find what you are looking for.' }],
  });

  const blockers = (await callTool(client, 'list_deletion_blockers')).structuredContent;
  const blocked = expectStatus(await arm(account), 409).body;
  expect(blockers).toEqual({ can_be_deleted: false, blockers: blocked.blockers });
  expect(await smsOf(account.phone)).toEqual([]);
  await client.close();
});

test('the SDK refreshes an expired access token and uses each refresh token once', async () => {
  const account = await register();
  const { client, provider } = await connectMcp(credentials(account), new OriginProvider());
  const before = { ...provider.savedTokens };
  // Simulates an expiry: the token is invalid, and the client gets a 401.
  await api('POST', '/auth/logout', { token: before.access_token });
  expect((await refused(provider)).status).toBe(401);
  await client.listTools();
  expect(provider.savedTokens?.access_token).not.toBe(before.access_token);
  expect(provider.savedTokens?.refresh_token).not.toBe(before.refresh_token);
  await client.close();
});

describe('tokens with a resource', () => {
  test('the API rejects a token for /mcp, even after a refresh', async () => {
    const account = await register();
    const { client, provider } = await connectMcp(credentials(account));
    const { client_id: clientId } = provider.client ?? { client_id: '' };
    const refreshed = await createOauthClient(baseUrl()).refresh(
      clientId,
      provider.savedTokens?.refresh_token ?? '',
    );
    for (const token of [provider.savedTokens?.access_token, refreshed.body.access_token]) {
      expect((await refused({ savedTokens: { access_token: token, token_type: 'Bearer' } })).status).toBe(
        200,
      );
      for (const path of ['/auth/me', '/gyms']) {
        const answer = await api('GET', path, { token });
        expect([answer.status, answer.body]).toEqual([401, { message: 'Sign in to continue.' }]);
        expect(answer.headers.get('www-authenticate')).toContain(
          `resource_metadata="${baseUrl()}/.well-known/oauth-protected-resource/api/v1"`,
        );
      }
    }
    await client.close();
  });

  test('/mcp rejects a token for the API', async () => {
    const account = await register();
    const resource = `${baseUrl()}/api/v1`;
    const { accessToken } = await createOauthClient(baseUrl()).connect(credentials(account), { resource });
    expectStatus(await api('GET', '/auth/me', { token: accessToken }), 200);
    const answer = await refused({ savedTokens: { access_token: accessToken, token_type: 'Bearer' } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer error="invalid_token"/);
  });
});

test('a tool beyond the scopes leads the SDK to request more scopes and keep the existing ones', async () => {
  const account = await register();
  const provider = new MemoryProvider();
  const first = await createOauthClient(baseUrl()).connect(credentials(account), {
    scope: 'posts.view',
    resource: mcpUrl().href,
  });
  provider.client = { client_id: first.clientId };
  // Without a refresh token, because the SDK would use it and get the same scopes again.
  provider.savedTokens = { access_token: first.accessToken, token_type: 'Bearer' };
  const { client, transport } = await connectMcp(credentials(account), provider);
  await expect(callTool(client, 'get_balance')).rejects.toThrow(/Unauthorized/);
  const url = provider.authorizationUrl ?? new URL('x:y');
  expect(url.searchParams.get('scope')).toBe('posts.view payments.view_own');
  await transport.finishAuth(await codeOf(url, credentials(account)));
  expect((await callTool(client, 'get_balance')).structuredContent).toEqual({ balance: 0 });
  await client.close();
});

describe('the end of a session', () => {
  test('a scheduled deletion ends the session, and no new one can start', async () => {
    const account = await register();
    const { client, provider } = await connectMcp(credentials(account));
    await client.listTools();
    const before = { savedTokens: provider.savedTokens };
    await scheduleDeletion(account);
    const response = await refused(before);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain('resource_metadata=');
    // The SDK tries its refresh token, then asks the user to sign in again.
    provider.authorizationUrl = undefined;
    await expect(client.listTools()).rejects.toThrow(/Unauthorized/);
    expect(provider.authorizationUrl).toBeDefined();
    const refreshed = await createOauthClient(baseUrl()).refresh(
      provider.client?.client_id ?? '',
      before.savedTokens?.refresh_token ?? '',
    );
    expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant']);
    // The user can sign in to cancel, but apps have no access until then.
    await expect(connectMcp(credentials(account), provider)).rejects.toThrow();
    const token = await tokenOf(account.username);
    expectStatus(await api('DELETE', '/auth/delete-account', { token }), 200);
    expect((await refused(before)).status).toBe(401);
    const again = await connectMcp(credentials(account));
    expect((await callTool(again.client, 'get_profile')).structuredContent.user.id).toBe(account.id);
    await Promise.all([client.close(), again.client.close()]);
  });

  test('twenty requests that start after a scheduled deletion are all refused', async () => {
    const account = await register();
    const { client, provider } = await connectMcp(credentials(account));
    expectStatus(await arm(account), 200);
    expectStatus(await commit(account, await newestCode(account.phone)), 202);
    const answers = await Promise.all(Array.from({ length: 20 }, () => refused(provider)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
    await client.close();
  });

  test('a password change ends the session', async () => {
    const account = await register();
    const { client, provider } = await connectMcp(credentials(account));
    const body = { current_password: PASSWORD, password: 'a new password of mine' };
    expectStatus(await api('PUT', '/auth/change-password', { token: account.token, body }), 200);
    expect((await refused(provider)).status).toBe(401);
    await client.close();
  });

  test('a revocation by the client ends the session', async () => {
    const account = await register();
    const { client, provider } = await connectMcp(credentials(account));
    const oauth = createOauthClient(baseUrl());
    await oauth.revoke(provider.client?.client_id ?? '', provider.savedTokens?.refresh_token ?? '');
    expect((await refused(provider)).status).toBe(401);
    await client.close();
  });
});

test('a personal token is accepted too, with its permissions', async () => {
  const account = await register();
  const body = { name: 'script', permissions: ['posts.view'] };
  const { token } = expectStatus(await api('POST', '/auth/tokens', { token: account.token, body }), 201).body;
  const provider = new MemoryProvider();
  provider.savedTokens = { access_token: token, token_type: 'Bearer' };
  const { client } = await connectMcp(credentials(account), provider);
  expect((await callTool(client, 'get_profile')).structuredContent.user.id).toBe(account.id);
  expect((await callTool(client, 'get_balance')).isError).toBe(true);
  expect(expectStatus(await login(account.username), 200).body.user.id).toBe(account.id);
  await client.close();
});
