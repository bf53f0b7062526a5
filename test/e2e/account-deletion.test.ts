/** Specification 3.1, 4.1 and 4.2, through the gateway. */
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { formatInstant } from '@fitness/shared/kernel/i18n/translate.ts';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  type Account,
  administratorToken,
  api,
  arm,
  commit,
  deposit,
  eventually,
  expectStatus,
  login,
  newestCode,
  PASSWORD,
  register,
  sandbox,
  scheduleDeletion,
  smsOf,
  tokenOf,
} from './support.ts';

const TIMESTAMP = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
const DAY_MS = 86_400_000;
const toMs = (timestamp: string): number => Date.parse(`${timestamp.replace(' ', 'T')}Z`);
const wrongCodeFor = (code: string): string => (code === '000000' ? '111111' : '000000');

const deletionOf = async (account: Account) => {
  const { user } = expectStatus(await api('GET', '/auth/me', { token: account.token }), 200).body;
  return [user.deletion_requested_at, user.deletion_scheduled_at];
};

afterEach(async () => {
  await sandbox('PUT', '/sms/mode', { mode: 'ok' });
});

describe('phase 1, without a code', () => {
  test('phase 1 sends one six-digit code and schedules nothing', async () => {
    const account = await register();
    const answer = await arm(account);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ message: expect.any(String), confirmation_required: true });
    const sent = await smsOf(account.phone);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.code).toMatch(/^\d{6}$/);
    expect(await deletionOf(account)).toEqual([null, null]);
  });

  test('a wrong password is rejected with 422 for current_password and sends no SMS', async () => {
    const account = await register();
    const answer = await arm(account, { body: { current_password: 'not-the-password' } });
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.body.errors)).toEqual(['current_password']);
    expect(await smsOf(account.phone)).toHaveLength(0);
  });

  test('phase 1 needs a bearer token', async () => {
    const answer = await api('POST', '/auth/delete-account', { body: { current_password: PASSWORD } });
    expect([answer.status, answer.body]).toEqual([401, { message: expect.any(String) }]);
  });

  test('repeating phase 1 replaces the code, and only the newest one works', async () => {
    const account = await register();
    await arm(account);
    const first = await newestCode(account.phone);
    await arm(account);
    const second = await newestCode(account.phone);
    if (first !== second) expect((await commit(account, first)).status).toBe(422);
    expect((await commit(account, second)).status).toBe(202);
  });

  test('a refused SMS leads to 500 {message}, schedules nothing and keeps the previous code', async () => {
    const account = await register();
    await arm(account);
    const older = await newestCode(account.phone);
    await sandbox('PUT', '/sms/mode', { mode: 'refuse', receptor: account.phone });
    const answer = await arm(account);
    expect([answer.status, Object.keys(answer.body)]).toEqual([500, ['message']]);
    expect(await deletionOf(account)).toEqual([null, null]);
    expect((await commit(account, older)).status).toBe(202);
  });

  test('an SMS with an unknown outcome leads to 500, and the previous code is invalid', async () => {
    const account = await register();
    await arm(account);
    const older = await newestCode(account.phone);
    await sandbox('PUT', '/sms/mode', { mode: 'unreachable', receptor: account.phone });
    expect((await arm(account)).status).toBe(500);
    expect((await commit(account, older)).status).toBe(422);
    expect(await deletionOf(account)).toEqual([null, null]);
  });

  test('a slow provider leads to 500 within a bounded time', async () => {
    const account = await register();
    await sandbox('PUT', '/sms/mode', { mode: 'slow', receptor: account.phone });
    const startedAt = performance.now();
    expect((await arm(account)).status).toBe(500);
    // Ten times the provider's timeout.
    expect(performance.now() - startedAt).toBeLessThan(40_000);
  });
});

describe('phase 2, with the code', () => {
  test('phase 2 schedules the deletion 14 days later, to the second, and sign-in and /auth/me report it', async () => {
    const account = await register();
    const { body } = await scheduleDeletion(account);
    expect(Object.keys(body).sort()).toEqual(['deletion_requested_at', 'deletion_scheduled_at', 'message']);
    expect(body.deletion_requested_at).toMatch(TIMESTAMP);
    expect(toMs(body.deletion_scheduled_at) - toMs(body.deletion_requested_at)).toBe(14 * DAY_MS);
    const again = expectStatus(await login(account.username), 200).body;
    expect(again.user).toMatchObject({
      deletion_requested_at: body.deletion_requested_at,
      deletion_scheduled_at: body.deletion_scheduled_at,
    });
    expect(await deletionOf({ ...account, token: again.token })).toEqual([
      body.deletion_requested_at,
      body.deletion_scheduled_at,
    ]);
  });

  test('phase 2 revokes every credential at once: this session, another one, a personal access token', async () => {
    const account = await register();
    const other = await tokenOf(account.username);
    const personal = expectStatus(
      await api('POST', '/auth/tokens', { token: account.token, body: { name: 'watch' } }),
      201,
    ).body.token;
    await scheduleDeletion(account);
    for (const token of [account.token, other, personal]) {
      expect((await api('GET', '/auth/me', { token })).status).toBe(401);
      // A revoked token must not be handled as a guest.
      expect((await api('GET', '/posts', { token })).status).toBe(401);
      expect((await api('POST', '/auth/logout', { token })).status).toBe(401);
    }
  });

  test('the account_deletion_requested notification is delivered once, in the client’s language', async () => {
    const account = await register();
    const { body: schedule } = await scheduleDeletion(account);
    const token = await tokenOf(account.username);
    const list = await eventually(async () => {
      const { data } = expectStatus(await api('GET', '/notifications', { token }), 200).body;
      return data.length > 0 && data;
    });
    expect(list).toHaveLength(1);
    expect(list[0]).toMatchObject({
      type: 'account_deletion_requested',
      read_at: null,
      data: { deletion_scheduled_at: schedule.deletion_scheduled_at },
    });
    const scheduledAt = parseTimestamp(schedule.deletion_scheduled_at);
    expect(list[0].body).toContain(formatInstant('en', scheduledAt));
    const persian = await api('GET', '/notifications', { token, headers: { 'accept-language': 'fa' } });
    expect(persian.headers.get('content-language')).toBe('fa');
    expect(persian.body.data[0].title).not.toBe(list[0].title);
    expect(persian.body.data[0].body).toContain(formatInstant('fa', scheduledAt));
  });

  test('a code of another length fails validation before any check', async () => {
    const account = await register();
    for (const code of ['12345', '1234567', '']) {
      const answer = await commit(account, code);
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, ['confirmation_code']]);
    }
  });

  test('every reason to reject a code gets the same response', async () => {
    const unarmed = await register();
    const nothingInFlight = await commit(unarmed, '123456');
    const armed = await register();
    await arm(armed);
    const wrong = await commit(armed, wrongCodeFor(await newestCode(armed.phone)));
    const pending = await register();
    await arm(pending);
    const spent = await newestCode(pending.phone);
    await commit(pending, spent);
    const whilePending = await commit({ ...pending, token: await tokenOf(pending.username) }, spent);
    expect(nothingInFlight.status).toBe(422);
    expect(Object.keys(nothingInFlight.body.errors)).toEqual(['confirmation_code']);
    expect([wrong.status, wrong.text]).toEqual([422, nothingInFlight.text]);
    expect([whilePending.status, whilePending.text]).toEqual([422, nothingInFlight.text]);
  });

  test('a wrong password is rejected with 422 even with the right code, which stays valid', async () => {
    const account = await register();
    await arm(account);
    const code = await newestCode(account.phone);
    const answer = await commit(account, code, {
      body: { current_password: 'wrong', confirmation_code: code },
    });
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, ['current_password']]);
    expect((await commit(account, code)).status).toBe(202);
  });

  test('exactly one of two concurrent calls with the right code returns 202', async () => {
    const account = await register();
    await arm(account);
    const code = await newestCode(account.phone);
    const answers = await Promise.all([commit(account, code), commit(account, code)]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(1);
    // The other call finds the code used or its token revoked.
    expect(statuses.every((status) => [202, 422, 401].includes(status))).toBe(true);
  });
});

describe('pending deletions', () => {
  test('phase 1 of a pending deletion returns 202 and the original dates, and sends nothing', async () => {
    const account = await register();
    const { body: original } = await scheduleDeletion(account);
    const sentBefore = (await smsOf(account.phone)).length;
    const answer = await arm({ ...account, token: await tokenOf(account.username) });
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual(original);
    expect(await smsOf(account.phone)).toHaveLength(sentBefore);
  });

  test('a pending account is listed only for users.view_all, and for everybody after cancellation', async () => {
    const account = await register();
    const viewer = await register();
    const administrator = await administratorToken();
    const find = async (token: string) =>
      expectStatus(await api('GET', `/users?search=${account.username}`, { token }), 200).body.data.length;
    expect(await find(viewer.token)).toBe(1);
    await scheduleDeletion(account);
    expect([await find(viewer.token), await find(administrator)]).toEqual([0, 1]);
    const token = await tokenOf(account.username);
    expectStatus(await api('DELETE', '/auth/delete-account', { token }), 200);
    expect(await find(viewer.token)).toBe(1);
  });

  test('training services of a pending account are hidden at once from callers without users.view_all', async () => {
    const account = await register();
    const viewer = await register();
    const administrator = await administratorToken();
    const title = `Plan ${account.username}`;
    const body = { title, description: 'Strength', price: 1_000, duration_days: 30 };
    expectStatus(await api('POST', '/training-services', { token: account.token, body }), 201);
    const find = async (token?: string) =>
      expectStatus(await api('GET', `/training-services?search=${account.username}`, { token }), 200).body
        .data.length;
    expect([await find(), await find(viewer.token)]).toEqual([1, 1]);
    await scheduleDeletion(account);
    expect([await find(), await find(viewer.token), await find(administrator)]).toEqual([0, 0, 1]);
    // The list's totals must not reveal them either.
    const counted = await api('GET', `/training-services?user_id=${account.id}`);
    expect(counted.body.meta).toMatchObject({ total: 0, from: null, to: null, next_cursor: null });
  });

  test('DELETE restores the account with only the bearer token, and may be repeated', async () => {
    const account = await register();
    await scheduleDeletion(account);
    const token = await tokenOf(account.username);
    const answer = await api('DELETE', '/auth/delete-account', { token });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      message: expect.any(String),
      user: expect.objectContaining({ id: account.id }),
    });
    expect(answer.body.user.deletion_scheduled_at).toBeNull();
    expect((await api('DELETE', '/auth/delete-account', { token })).status).toBe(200);
    expect((await api('GET', '/auth/me', { token })).body.user).toMatchObject({
      username: account.username,
      phone: account.phone,
      deletion_requested_at: null,
      deletion_scheduled_at: null,
    });
    expect((await api('DELETE', '/auth/delete-account')).status).toBe(401);
  });
});

describe('the shared limit of 5 calls per minute', () => {
  test('the sixth call gets 429 and Retry-After even with a wrong password, and DELETE is not limited', async () => {
    const account = await register();
    for (let call = 1; call <= 5; call += 1) {
      expect((await arm(account, { body: { current_password: 'wrong-password' } })).status).toBe(422);
    }
    const limited = await arm(account);
    expect(limited.status).toBe(429);
    expect(limited.body).toEqual({ message: expect.any(String) });
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(limited.headers.get('x-ratelimit-limit')).toBe('5');
    expect(limited.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(await smsOf(account.phone)).toHaveLength(0);
    expect((await api('DELETE', '/auth/delete-account', { token: account.token })).status).toBe(200);
  });

  test('a password reset uses the same limit, and sends nothing when it is exceeded', async () => {
    const account = await register();
    for (let call = 1; call <= 5; call += 1)
      await arm(account, { body: { current_password: 'wrong-password' } });
    const forgot = await api('POST', '/auth/forgot-password', { body: { login: account.username } });
    expect(forgot.status).toBe(200);
    const reset = await api('POST', '/auth/reset-password', {
      body: { login: account.username, code: '12345678', password: 'another-password-1' },
    });
    expect([reset.status, Object.keys(reset.body.errors)]).toEqual([422, ['code']]);
    expect(await smsOf(account.phone)).toHaveLength(0);
  });

  test('strangers cannot exhaust the limit: after ten anonymous calls the owner deletes the account', async () => {
    const account = await register();
    const reset = { login: account.username, code: '12345678', password: 'another-password-1' };
    for (let call = 1; call <= 5; call += 1) {
      const forgot = await api('POST', '/auth/forgot-password', { body: { login: account.username } });
      expect(forgot.status).toBe(200);
      // The first five calls are accepted, three of them for a code. A code is counted and sent after its response.
      await eventually(async () => (await smsOf(account.phone)).length === Math.min(call, 3));
      expect((await api('POST', '/auth/reset-password', { body: reset })).status).toBe(422);
    }
    await scheduleDeletion(account);
  });

  test('each user has a separate limit', async () => {
    const [one, other] = [await register(), await register()];
    for (let call = 1; call <= 6; call += 1) await arm(one, { body: { current_password: 'wrong-password' } });
    expect((await arm(other)).status).toBe(200);
  });
});

describe('invalid input', () => {
  const bad: [string, unknown, Record<string, string>, number, string | undefined][] = [
    ['no body', undefined, {}, 422, 'current_password'],
    ['an empty object', {}, {}, 422, 'current_password'],
    ['a number for the password', { current_password: 5 }, {}, 422, 'current_password'],
    ['null for the password', { current_password: null }, {}, 422, 'current_password'],
    ['an object for the password', { current_password: { $ne: '' } }, {}, 422, 'current_password'],
    [
      'a number for the code',
      { current_password: PASSWORD, confirmation_code: 123456 },
      {},
      422,
      'confirmation_code',
    ],
    [
      'null for the code',
      { current_password: PASSWORD, confirmation_code: null },
      {},
      422,
      'confirmation_code',
    ],
    ['a list', [], {}, 422, 'body'],
    ['broken JSON', '{"current_password":', { 'content-type': 'application/json' }, 400, undefined],
    ['a form', 'current_password=x', { 'content-type': 'application/x-www-form-urlencoded' }, 415, undefined],
    ['too much JSON', { current_password: 'x'.repeat(1_100_000) }, {}, 413, undefined],
  ];
  test.each(bad)(
    '%s as input is rejected with the documented status and field',
    async (_name, body, headers, status, field) => {
      const account = await register();
      const answer = await arm(account, { body, headers });
      expect(answer.status).toBe(status);
      expect(answer.body.message).toEqual(expect.any(String));
      if (field !== undefined) expect(Object.keys(answer.body.errors)).toContain(field);
    },
  );
});

describe('money in the wallet', () => {
  test('a blocker that appears between the phases stops phase 2 with 409', async () => {
    const account = await register();
    expect((await arm(account)).status).toBe(200);
    await deposit(account.token, 10_000);
    const answer = await commit(account, await newestCode(account.phone));
    expect(answer.status).toBe(409);
    expect(answer.body.blockers).toEqual([
      { code: 'unsettled_balance', message: expect.any(String), balance: 10_000 },
    ]);
    expect(await deletionOf(account)).toEqual([null, null]);
    expect((await api('GET', '/auth/me', { token: account.token })).status).toBe(200);
  });
});
