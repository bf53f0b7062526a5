/** Accounts and general behavior of the API, through the gateway. */

import { unwrap, ValidationError } from '@fitness/client';
import { describe, expect, test } from '@jest/globals';
import { DOCUMENT_ORIGIN } from '../../gateway/src/api/openapi-merge.ts';
import { loadApiDocument } from '../../scripts/lib/api-document.mjs';
import {
  administratorToken,
  api,
  balanceOf,
  baseUrl,
  clientOf,
  deposit,
  eventually,
  expectStatus,
  login,
  newestCode,
  operatorToken,
  PASSWORD,
  PNG,
  register,
  sevenDigits,
  smsOf,
  stack,
  tokenOf,
} from './support.ts';

describe('an account', () => {
  test('a user registers, signs in with each name, reads and changes the profile, and signs out', async () => {
    const account = await register({ phone: `0935${sevenDigits()}` });
    expect(account.phone).toMatch(/^\+98935\d{7}$/);
    for (const name of [account.username, account.email, account.phone, `0${account.phone.slice(3)}`]) {
      expect((await login(name)).status).toBe(200);
    }
    const { token } = account;
    const changed = await api('PUT', '/auth/me', {
      token,
      body: { height: 171, is_trainer: true, unknown: 1 },
    });
    expect(changed.body.user).toMatchObject({ height: 171, is_trainer: true, first_name: 'Sara' });
    const client = clientOf();
    await client.login({ login: account.username, password: PASSWORD });
    const email = client.PUT('/api/v1/auth/me', { body: { email: 'new@example.com' } });
    const refused = await unwrap(email).catch((error: unknown) => error);
    if (!(refused instanceof ValidationError)) throw refused;
    expect(Object.keys(refused.fields)).toEqual(['current_password']);
    await client.logout();
    expect((await client.GET('/api/v1/auth/me')).response.status).toBe(401);
    expect((await api('POST', '/auth/logout', { token })).status).toBe(204);
    expect((await api('GET', '/auth/me', { token })).status).toBe(401);
  });

  test('wrong credentials are rejected with 422 for login, the same whether or not the account exists', async () => {
    const account = await register();
    const [wrong, nobody] = [
      await login(account.username, 'not-the-password'),
      await login('nobody-at-all', PASSWORD),
    ];
    expect([wrong.status, Object.keys(wrong.body.errors)]).toEqual([422, ['login']]);
    expect([nobody.status, nobody.text]).toEqual([wrong.status, wrong.text]);
  });

  test('change-password requires the current password and revokes every other credential', async () => {
    const account = await register();
    const other = await tokenOf(account.username);
    const send = (current: string) =>
      api('PUT', '/auth/change-password', {
        token: account.token,
        body: { current_password: current, password: 'a-new-password-1' },
      });
    expect(Object.keys((await send('wrong-password')).body.errors)).toEqual(['current_password']);
    expect((await send(PASSWORD)).status).toBe(200);
    expect((await api('GET', '/auth/me', { token: other })).status).toBe(401);
    expect((await login(account.username, 'a-new-password-1')).status).toBe(200);
  });

  test("a personal access token has at most its user's permissions and cannot create tokens", async () => {
    const account = await register();
    const create = (token: string, permissions: string[]) =>
      api('POST', '/auth/tokens', { token, body: { name: 'watch', permissions } });
    const narrow = expectStatus(await create(account.token, ['posts.view']), 201).body;
    expect((await api('GET', '/payments/balance', { token: narrow.token })).status).toBe(403);
    expect((await create(narrow.token, ['posts.view'])).status).toBe(403);
    expect((await create(account.token, ['roles.manage'])).status).toBe(422);
    const deleted = await api('DELETE', `/auth/tokens/${narrow.data.id}`, { token: account.token });
    expect(deleted.status).toBe(204);
    expect((await api('GET', '/posts', { token: narrow.token })).status).toBe(401);
  });

  test('a forgotten password is reset by SMS, which ends every session', async () => {
    const account = await register();
    expect((await api('POST', '/auth/forgot-password', { body: { login: account.phone } })).status).toBe(200);
    await eventually(async () => (await smsOf(account.phone)).length > 0);
    const code = await newestCode(account.phone);
    const body = { login: account.username, code, password: 'after-the-reset-1' };
    expect((await api('POST', '/auth/reset-password', { body })).status).toBe(200);
    expect((await api('GET', '/auth/me', { token: account.token })).status).toBe(401);
    expect((await login(account.username, 'after-the-reset-1')).status).toBe(200);
  });

  test('a new phone takes effect once its confirmation code is entered', async () => {
    const account = await register();
    const phone = `+98936${sevenDigits()}`;
    const { token } = account;
    const body = { phone, current_password: PASSWORD };
    const changed = expectStatus(await api('PUT', '/auth/me', { token, body }), 200);
    expect(changed.body.user.phone).toBe(account.phone);
    expect((await login(phone)).status).toBe(422);
    const wrong = await api('POST', '/auth/phone/confirm', { token, body: { code: 'abcdef' } });
    expect([wrong.status, Object.keys(wrong.body.errors)]).toEqual([422, ['code']]);
    const code = await newestCode(phone);
    const confirmed = await api('POST', '/auth/phone/confirm', { token, body: { code } });
    expect(expectStatus(confirmed, 200).body.user.phone).toBe(phone);
    expect((await login(phone)).body.user.id).toBe(account.id);
    const { data } = expectStatus(await api('GET', '/notifications', { token }), 200).body;
    expect(data).toMatchObject([{ type: 'security_alert', data: { change: 'phone_changed' } }]);
    // Only the old phone can warn its owner of a change made by somebody else.
    const [notice] = await eventually(async () => {
      const received = await smsOf(account.phone);
      return received.length > 0 && received;
    });
    expect([notice?.message.includes('phone number'), notice?.message.includes(code)]).toEqual([true, false]);
  });

  test('exactly one of ten concurrent registrations with one phone number succeeds', async () => {
    const phone = `+98936${sevenDigits()}`;
    const attempt = (index: number) =>
      api('POST', '/auth/register', {
        body: {
          username: `race${index}x${phone.slice(-7)}`,
          email: `race${index}x${phone.slice(-7)}@example.com`,
          phone,
          password: PASSWORD,
          first_name: 'R',
          last_name: 'C',
        },
      });
    const statuses = (await Promise.all(Array.from({ length: 10 }, (_, index) => attempt(index)))).map(
      (a) => a.status,
    );
    expect(statuses.sort()).toEqual([201, ...Array(9).fill(422)]);
  });
});

describe('the visibility of a user', () => {
  const hidden = [
    'email',
    'phone',
    'roles',
    'referral_score',
    'deletion_scheduled_at',
    'bank_account_number',
  ];

  test('guests and members see the limited user; the user and administrators see all fields', async () => {
    const [account, viewer] = [await register(), await register()];
    const read = async (token?: string) => (await api('GET', `/users/${account.id}`, { token })).body.user;
    for (const user of [await read(), await read(viewer.token)]) {
      for (const field of hidden) expect(user).not.toHaveProperty(field);
      expect(user).toMatchObject({ id: account.id, username: account.username, is_trainer: false });
    }
    for (const user of [await read(account.token), await read(await administratorToken())]) {
      for (const field of hidden) expect(user).toHaveProperty(field);
      expect(user.referral_score).toBe(0);
    }
  });

  test('GET /users requires a token with a permission', async () => {
    expect((await api('GET', '/users')).status).toBe(401);
    const account = await register();
    const page = expectStatus(await api('GET', '/users?per_page=2', { token: account.token }), 200).body;
    expect(page.data).toHaveLength(2);
    expect(page.meta).toMatchObject({ per_page: 2, current_page: 1 });
    const next = expectStatus(
      await api('GET', `/users?per_page=2&cursor=${page.meta.next_cursor}`, { token: account.token }),
      200,
    ).body;
    expect(next.data[0].id).toBeLessThan(page.data[1].id);
  });

  test('only callers with the permissions list and assign roles', async () => {
    const account = await register();
    expect((await api('GET', '/roles', { token: account.token })).status).toBe(403);
    const token = await administratorToken();
    const roles = expectStatus(await api('GET', '/roles', { token }), 200).body.data;
    expect(roles.map(({ name }: { name: string }) => name).sort()).toEqual([
      'administrator',
      'member',
      'operator',
    ]);
    const operator = roles.find(({ name }: { name: string }) => name === 'operator');
    const assigned = await api('PUT', `/users/${account.id}`, { token, body: { role_ids: [operator.id] } });
    expect(assigned.status).toBe(200);
    // The role applies to the next request of an existing token.
    expect((await api('GET', '/payments', { token: account.token })).status).toBe(200);
    const operators = await operatorToken();
    const administrator = roles.find(({ name }: { name: string }) => name === 'administrator');
    const refused = await api('PUT', `/users/${account.id}`, {
      token: operators,
      body: { role_ids: [administrator.id] },
    });
    expect(refused.status).toBe(403);
  });
});

describe('the gateway', () => {
  test('every response has a request id and security headers, and none reveals the software', async () => {
    for (const path of ['/posts', '/users', '/nothing-here', '/gyms/0']) {
      const { headers } = await api('GET', path, { headers: { 'x-request-id': 'trace-me-1' } });
      expect(headers.get('x-request-id')).toBe('trace-me-1');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).not.toBeNull();
      expect(headers.get('x-powered-by')).toBeNull();
    }
  });

  test('an invalid token is never handled as a guest', async () => {
    for (const token of ['nonsense', 'fps_0000000000000000000000000000000000', '']) {
      const answer = await api('GET', '/posts', { headers: { authorization: `Bearer ${token}` } });
      expect(answer.status).toBe(401);
    }
  });

  test('a caller context in an external request is ignored', async () => {
    const forged = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    const answer = await api('GET', '/auth/me', { headers: { 'x-caller-context': `${forged}.e30.` } });
    expect(answer.status).toBe(401);
  });

  test('internal paths of the services are not reachable', async () => {
    for (const path of [
      '/internal/openapi.json',
      '/api/v1/../internal/openapi.json',
      '/api/v1/%2e%2e/metrics',
    ]) {
      const response = await fetch(`${baseUrl()}${path}`);
      expect(response.status).toBe(404);
    }
  });

  test.each([26, 40])(
    'a file of %i MiB is rejected with 422 and an error for its field',
    async (mebibytes) => {
      const account = await register();
      const form = new FormData();
      form.set('attachable_type', 'App\\Models\\User');
      form.set('attachable_id', String(account.id));
      form.set('file', new Blob([PNG, Buffer.alloc(mebibytes * 1024 * 1024)]), 'large.png');
      const response = await fetch(`${baseUrl()}/api/v1/media`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.token}` },
        body: form,
      });
      const body = (await response.json()) as { errors: object };
      expect([response.status, Object.keys(body.errors)]).toEqual([422, ['file']]);
    },
  );

  test('the OpenAPI document names every route, and /docs loads nothing from other origins', async () => {
    const document = expectStatus(await api('GET', '/openapi.json'), 200).body;
    expect(document.openapi).toMatch(/^3\.1/);
    const paths = Object.keys(document.paths);
    for (const path of [
      '/auth/delete-account',
      '/payments/store-purchases',
      '/gyms/{id}',
      '/media/{id}',
      '/posts',
    ]) {
      expect(paths).toContain(`/api/v1${path}`);
    }
    const page = await (await fetch(`${baseUrl()}/docs`)).text();
    expect(page).not.toMatch(/(src|href)="https?:\/\//);
  });

  test('the served OpenAPI document is made from the routes that the services have', async () => {
    const served = expectStatus(await api('GET', '/openapi.json'), 200).body;
    const made = JSON.stringify(await loadApiDocument());
    expect(served).toEqual(JSON.parse(made.replaceAll(DOCUMENT_ORIGIN, served.servers[0].url)));
  });

  test('one route returns the health of every service', async () => {
    const { operationsUrl } = stack().part('gateway');
    const response = await fetch(`${operationsUrl}/health/services`);
    const services = (await response.json()) as Record<string, { state: string }>;
    expect(Object.keys(services).sort()).toEqual([
      'content',
      'gyms',
      'identity',
      'media',
      'store-billing',
      'wallet',
    ]);
    expect(Object.values(services).every(({ state }) => state === 'up')).toBe(true);
    const metrics = await (await fetch(`${operationsUrl}/metrics`)).text();
    expect(metrics).toContain('http_request_duration_seconds');
    for (const path of ['/health/services', '/metrics']) {
      expect((await fetch(`${baseUrl()}${path}`)).status).toBe(404);
    }
  });
});

describe('the demo data', () => {
  test('each demo account has exactly its documented blockers', async () => {
    const expected: Record<string, string[]> = {
      owner: ['gym_ownership'],
      trainer: ['active_trainees'],
      premium: ['active_premium'],
      saver: ['unsettled_balance', 'pending_withdrawal'],
    };
    for (const [name, codes] of Object.entries(expected)) {
      const token = await tokenOf(name, 'demo-password-1');
      const body = { current_password: 'demo-password-1' };
      const answer = expectStatus(await api('POST', '/auth/delete-account', { token, body }), 409);
      expect(answer.body.blockers.map(({ code }: { code: string }) => code)).toEqual(codes);
    }
    expect(await balanceOf(await tokenOf('saver', 'demo-password-1'))).toBe(250_000);
    expect(await balanceOf(await tokenOf('trainer', 'demo-password-1'))).toBe(0);
  });
});

describe('money', () => {
  test('a credited deposit and a settled withdrawal are notified once each, with the reason', async () => {
    const account = await register({});
    const profile = { bank_account_number: 'IR820540102680020817909002', current_password: PASSWORD };
    expect((await api('PUT', '/auth/me', { token: account.token, body: profile })).status).toBe(200);
    await deposit(account.token, 50_000);
    const operator = await operatorToken();
    const settle = async (verb: string, body = {}) => {
      const created = await api('POST', '/payments/withdrawals', {
        token: account.token,
        body: { amount: 10_000 },
      });
      const { id } = created.body.payment;
      for (const expected of [200, 200])
        expect((await api('POST', `/payments/${id}/${verb}`, { token: operator, body })).status).toBe(
          expected,
        );
    };
    await settle('pay', { reference: 'TRX-1' });
    await settle('reject', { reason: 'The account is closed.' });
    // The changed bank account is notified too.
    const types = ['deposit_credited', 'security_alert', 'withdrawal_paid', 'withdrawal_rejected'];
    const notified = await eventually(async () => {
      const { data } = (await api('GET', '/notifications', { token: account.token })).body;
      return data.length >= types.length && data;
    });
    expect(notified.map(({ type }: { type: string }) => type).toSorted()).toEqual(types);
    const [rejected] = notified.filter(({ type }: { type: string }) => type === 'withdrawal_rejected');
    expect(rejected.body).toMatch(/10,000.*The account is closed\.$/);
  });

  test('a withdrawal repeated with one Idempotency-Key is made once', async () => {
    const account = await register({});
    await api('PUT', '/auth/me', {
      token: account.token,
      body: { bank_account_number: 'IR820540102680020817909002', current_password: PASSWORD },
    });
    await deposit(account.token, 100_000);
    const send = (amount: number) =>
      api('POST', '/payments/withdrawals', {
        token: account.token,
        body: { amount },
        headers: { 'idempotency-key': 'w-1' },
      });
    const [first, second] = [await send(30_000), await send(30_000)];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body.payment.id).toBe(first.body.payment.id);
    expect(await balanceOf(account.token)).toBe(70_000);
    const other = await send(1_000);
    expect([other.status, Object.keys(other.body.errors)]).toEqual([422, ['idempotency_key']]);
  });

  test('an Idempotency-Key used at one service is rejected at another', async () => {
    const account = await register({});
    const buy = (path: string, body: unknown) =>
      api('POST', path, { token: account.token, body, headers: { 'idempotency-key': 'one-key' } });
    const premium = { type: 'plus' };
    const prices = expectStatus(await api('GET', '/payments/prices'), 200).body.data;
    await deposit(account.token, prices.premium.plus + 50_000);
    const opened = expectStatus(await buy('/payments/deposit', { amount: 50_000 }), 201);
    const refused = await buy('/payments/buy-premium', premium);
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['idempotency_key']]);
    expect(await balanceOf(account.token)).toBe(prices.premium.plus + 50_000);
    expect((await buy('/payments/deposit', { amount: 50_000 })).text).toBe(opened.text);
  });
});
