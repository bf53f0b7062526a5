/** Self-service deletion and password reset (specification 3.1 and 4.1). */
import { DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { connectBroker } from '@fitness/shared/messaging/broker.ts';
import { connectRedis, type Redis } from '@fitness/shared/runtime/redis.ts';
import { tapEvents } from '@fitness/shared/testing/events.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../sandbox/src/service.ts';
import { watchEvents } from './events.ts';
import {
  type Harness,
  isLive,
  join,
  joinAs,
  logIn,
  newAddress,
  PASSWORD,
  type Person,
  registration,
  startHarness,
} from './support.ts';

let harness: Harness;
let redis: Redis;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;

beforeAll(async () => {
  sandbox = await startSandbox({ port: 0 });
  harness = await startHarness({ KAVENEGAR_BASE_URL: `${sandbox.url}/kavenegar` });
  redis = await connectRedis({ url: harness.config.REDIS_URL });
});

afterAll(async () => {
  redis.disconnect();
  await harness.close();
  await sandbox.close();
});

beforeEach(() => {
  harness.standIns.blockers = [];
  harness.standIns.brokenBlocker = undefined;
});

const control = (method: string, path: string, body?: unknown) =>
  fetch(`${sandbox.url}/_sandbox${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });

const codesOf = async (person: Person): Promise<string[]> => {
  const answer = await control('GET', `/sms?receptor=${encodeURIComponent(person.user.phone)}`);
  const { data } = (await answer.json()) as { data: { code: string }[] };
  return data.map(({ code }) => code);
};

/** Waits until `count` codes were sent: responses do not wait for their SMS. */
const waitForCodes = (person: Person, count: number): Promise<string[]> =>
  eventually(async () => {
    const codes = await codesOf(person);
    return codes.length >= count && codes;
  });

const resetRateLimits = async (): Promise<void> => {
  await redis.del(...(await redis.keys(`${harness.config.EVENTS_NAMESPACE}:identity:limit:*`)), 'nothing');
};

const deleteAccount = async (person: Person, body: Record<string, unknown>) => {
  await resetRateLimits();
  return harness.send('POST', '/auth/delete-account', { as: person.caller, body });
};

const arm = (person: Person) => deleteAccount(person, { current_password: PASSWORD });
const commit = (person: Person, code: string) =>
  deleteAccount(person, { current_password: PASSWORD, confirmation_code: code });

/** Requests a new phone and confirms it. */
const changePhone = async ({ caller: as }: Person, phone: string) => {
  const request = { phone, current_password: PASSWORD };
  expect((await harness.send('PUT', '/auth/me', { as, body: request })).status).toBe(200);
  const answer = await control('GET', `/sms?receptor=${encodeURIComponent(phone)}`);
  const { data } = (await answer.json()) as { data: { code: string }[] };
  return harness.send('POST', '/auth/phone/confirm', { as, body: { code: data[0]?.code } });
};

const armed = async (): Promise<{ person: Person; code: string }> => {
  const person = await join(harness);
  expect((await arm(person)).status).toBe(200);
  const [code = ''] = await codesOf(person);
  return { person, code };
};

const wrong = (code: string, offset = 1) =>
  String((Number(code) + offset) % 10 ** code.length).padStart(code.length, '0');
const pendingOf = async (person: Person) =>
  (await harness.send('GET', '/auth/me', { as: person.caller })).body.user.deletion_scheduled_at;

describe('a code', () => {
  test('a deletion code is valid for exactly ten minutes', async () => {
    const late = await armed();
    harness.clock.advance(10 * MINUTE_MS);
    expect((await commit(late.person, late.code)).status).toBe(422);
    const inTime = await armed();
    harness.clock.advance(10 * MINUTE_MS - 1);
    expect((await commit(inTime.person, inTime.code)).status).toBe(202);
  });

  test('a code stays valid after four failed attempts and becomes invalid with the fifth', async () => {
    const four = await armed();
    for (let offset = 1; offset <= 4; offset += 1) await commit(four.person, wrong(four.code, offset));
    expect((await commit(four.person, four.code)).status).toBe(202);
    const five = await armed();
    for (let offset = 1; offset <= 5; offset += 1) await commit(five.person, wrong(five.code, offset));
    expect((await commit(five.person, five.code)).status).toBe(422);
  });

  test('a code in Persian and Arabic digits is accepted for a deletion and for a reset', async () => {
    const typed = (code: string) =>
      code.replaceAll(/\d/g, (digit, at: number) =>
        (at % 2 === 0 ? '۰۱۲۳۴۵۶۷۸۹' : '٠١٢٣٤٥٦٧٨٩').charAt(Number(digit)),
      );
    const { person, code } = await armed();
    expect((await commit(person, typed(wrong(code)))).status).toBe(422);
    expect((await commit(person, typed(code))).status).toBe(202);

    const other = await join(harness);
    const login = other.user.username;
    await harness.send('POST', '/auth/forgot-password', { body: { login }, headers: newAddress() });
    const [resetCode = ''] = await waitForCodes(other, 1);
    const body = { login, code: typed(resetCode), password: 'a whole new password' };
    const answer = await harness.send('POST', '/auth/reset-password', { body, headers: newAddress() });
    expect(answer.status).toBe(200);
  });

  test('a code is stored only as a hash', async () => {
    const { person, code } = await armed();
    const stored = await harness.database
      .collection('confirmation_codes')
      .findOne({ _id: person.id as never });
    expect(Object.values(stored?.deletion)).not.toContain(code);
    expect(stored?.deletion).toMatchObject({ tries: 0 });
  });

  test('after a hundred consecutive failures, all codes of the account are rejected for a day', async () => {
    const { person } = await armed();
    await harness.database
      .collection('confirmation_codes')
      .updateOne({ _id: person.id as never }, { $set: { wrong_in_row: 99 } });
    const [code = ''] = await codesOf(person);
    expect((await commit(person, wrong(code))).status).toBe(422);
    // A new code does not end the lockout.
    expect((await arm(person)).status).toBe(200);
    const [newest = ''] = await codesOf(person);
    expect((await commit(person, newest)).status).toBe(422);
    harness.clock.advance(DAY_MS);
    expect((await arm(person)).status).toBe(200);
    const [afterwards = ''] = await codesOf(person);
    expect((await commit(person, afterwards)).status).toBe(202);
  });

  test('a code stays valid when blockers prevent the deletion', async () => {
    const { person, code } = await armed();
    harness.standIns.blockers = [{ userId: person.id, code: 'gym_ownership', extras: { count: 1 } }];
    expect((await commit(person, code)).status).toBe(409);
    harness.standIns.blockers = [];
    expect((await commit(person, code)).status).toBe(202);
  });

  test('a wrong code is rejected with 422 before any blocker is evaluated', async () => {
    const { person, code } = await armed();
    harness.standIns.blockers = [{ userId: person.id, code: 'gym_ownership', extras: { count: 1 } }];
    harness.standIns.brokenBlocker = 'active_premium';
    harness.standIns.calls.blockers = 0;
    const refused = await commit(person, wrong(code));
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['confirmation_code']]);
    expect(harness.standIns.calls.blockers).toBe(0);
  });

  test('a rejected code returns the same bytes for every reason', async () => {
    const none = await commit(await join(harness), '123456');
    const guessed = await armed();
    const exhausted = await armed();
    for (let offset = 1; offset <= 5; offset += 1)
      await commit(exhausted.person, wrong(exhausted.code, offset));
    const locked = await armed();
    const codes = harness.database.collection('confirmation_codes');
    const lockout = { $set: { locked_until: new Date(harness.clock.now().getTime() + DAY_MS) } };
    await codes.updateOne({ _id: locked.person.id as never }, lockout);
    const replaced = await armed();
    expect((await arm(replaced.person)).status).toBe(200);
    const answers = [
      await commit(guessed.person, wrong(guessed.code)),
      await commit(exhausted.person, exhausted.code),
      await commit(locked.person, locked.code),
      await commit(replaced.person, replaced.code),
    ];
    const expired = await armed();
    harness.clock.advance(10 * MINUTE_MS);
    answers.push(await commit(expired.person, expired.code));
    expect(none.status).toBe(422);
    for (const { status, text } of answers) expect([status, text]).toEqual([422, none.text]);
  });

  test('a code stays valid when the next SMS is refused, but not when its outcome is unknown', async () => {
    const refused = await armed();
    await control('PUT', '/sms/mode', { mode: 'refuse', receptor: refused.person.user.phone });
    expect((await arm(refused.person)).status).toBe(500);
    expect((await commit(refused.person, refused.code)).status).toBe(202);
    const unknown = await armed();
    await control('PUT', '/sms/mode', { mode: 'unreachable', receptor: unknown.person.user.phone });
    expect((await arm(unknown.person)).status).toBe(500);
    expect((await commit(unknown.person, unknown.code)).status).toBe(422);
  });
});

describe('blockers', () => {
  test('all blockers are listed in the order of the specification', async () => {
    const person = await join(harness);
    harness.standIns.blockers = [
      { userId: person.id, code: 'active_trainees', extras: { count: 3 } },
      { userId: person.id, code: 'active_premium', extras: { expires_at: '2026-03-01 10:00:00' } },
      { userId: person.id, code: 'pending_withdrawal', extras: { count: 1 } },
      { userId: person.id, code: 'unsettled_balance', extras: { balance: -500 } },
      { userId: person.id, code: 'gym_ownership', extras: { count: 2 } },
    ];
    const answer = await arm(person);
    expect(answer.status).toBe(409);
    expect(answer.body).toEqual({
      error: expect.any(String),
      code: 'account_deletion_blocked',
      blockers: [
        { code: 'gym_ownership', message: expect.stringContaining('2'), count: 2 },
        { code: 'unsettled_balance', message: expect.stringContaining('-500'), balance: -500 },
        { code: 'pending_withdrawal', message: expect.any(String), count: 1 },
        { code: 'active_premium', message: expect.any(String), expires_at: '2026-03-01 10:00:00' },
        { code: 'active_trainees', message: expect.stringContaining('3'), count: 3 },
      ],
    });
    expect(await codesOf(person)).toEqual([]);
  });

  test('a request returns 503 and sends no SMS if any blocker cannot be evaluated', async () => {
    const person = await join(harness);
    for (const code of [
      'gym_ownership',
      'unsettled_balance',
      'pending_withdrawal',
      'active_premium',
      'active_trainees',
    ]) {
      harness.standIns.brokenBlocker = code;
      const answer = await arm(person);
      expect([code, answer.status, answer.headers.get('retry-after')]).toEqual([
        code,
        503,
        expect.any(String),
      ]);
    }
    expect(await codesOf(person)).toEqual([]);
    expect(await pendingOf(person)).toBeNull();
  });

  test('blockers are not revealed without the password, and do not affect a pending deletion', async () => {
    const person = await join(harness);
    const [broken, blocked] = ['active_trainees', 'gym_ownership'];
    harness.standIns.brokenBlocker = broken;
    harness.standIns.blockers = [{ userId: person.id, code: blocked, extras: { count: 1 } }];
    const stranger = await deleteAccount(person, { current_password: 'not-the-password' });
    expect([stranger.status, Object.keys(stranger.body.errors)]).toEqual([422, ['current_password']]);
    harness.standIns.brokenBlocker = undefined;
    harness.standIns.blockers = [];
    const pending = await armed();
    expect((await commit(pending.person, pending.code)).status).toBe(202);
    harness.standIns.brokenBlocker = broken;
    harness.standIns.blockers = [{ userId: pending.person.id, code: blocked, extras: { count: 1 } }];
    expect((await arm(pending.person)).status).toBe(202);
  });
});

test('a deletion requires no more than a valid token of any kind', async () => {
  const person = await join(harness);
  const tokens: Partial<Person['caller']>[] = [
    {},
    { tokenKind: 'personal' },
    { tokenKind: 'oauth', permissions: new Set(['posts.view']) },
    { tokenKind: 'restricted', permissions: new Set() },
  ];
  for (const token of tokens) {
    const as = { ...person, caller: { ...person.caller, ...token } };
    const wrongPassword = await deleteAccount(as, { current_password: 'not the password' });
    expect([wrongPassword.status, Object.keys(wrongPassword.body.errors)]).toEqual([
      422,
      ['current_password'],
    ]);
    expect((await harness.send('DELETE', '/auth/delete-account', { as: as.caller })).status).toBe(200);
    expect((await arm(as)).status).toBe(200);
  }
  for (const token of tokens) {
    const owner = await join(harness);
    const as = { ...owner, caller: { ...owner.caller, ...token } };
    expect((await arm(as)).status).toBe(200);
    const [code = ''] = await codesOf(owner);
    expect((await commit(as, code)).status).toBe(202);
    expect(await isLive(harness, owner.token)).toBe(false);
  }
});

describe('scheduling', () => {
  test('twenty concurrent calls with the correct code schedule once and revoke all credentials', async () => {
    const broker = await connectBroker({
      url: harness.config.AMQP_URL,
      namespace: harness.config.EVENTS_NAMESPACE,
      log: createLog({ service: 'test', level: 'silent' }),
    });
    const tap = await tapEvents(broker, 'identity.#');
    const { person, code } = await armed();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        harness.send('POST', '/auth/delete-account', {
          as: { ...person.caller },
          body: { current_password: PASSWORD, confirmation_code: code },
        }),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(1);
    expect(statuses.filter((status) => ![202, 422, 429].includes(status))).toEqual([]);
    expect(await isLive(harness, person.token)).toBe(false);
    const types = ['identity.account.deletion_requested', 'identity.credentials.revoked'];
    const published = () =>
      tap.events
        .filter(({ subject, type }) => subject === String(person.id) && types.includes(type))
        .map(({ type }) => type);
    await eventually(() => published().length >= 2);
    expect(published().sort()).toEqual(types);
    await tap.close();
    await broker.close();
  });

  test('a scheduled deletion creates one notification, which only its user can mark as read', async () => {
    const { person, code } = await armed();
    await commit(person, code);
    const list = () => harness.send('GET', '/notifications', { as: person.caller });
    const first = await eventually(async () => {
      const answer = await list();
      return answer.body.data.length === 1 && answer;
    });
    expect(first.body.meta.unread_count).toBe(1);
    const { id } = first.body.data[0];
    const stranger = await join(harness);
    expect((await harness.send('POST', `/notifications/${id}/read`, { as: stranger.caller })).status).toBe(
      404,
    );
    const read = await harness.send('POST', `/notifications/${id}/read`, { as: person.caller });
    expect(read.body.data.read_at).not.toBeNull();
    expect((await list()).body.meta.unread_count).toBe(0);
  });
});

describe('password reset', () => {
  const forgot = (login: string) =>
    harness.send('POST', '/auth/forgot-password', { body: { login }, headers: newAddress() });
  const reset = (login: string, code: string, password = 'a whole new password') =>
    harness.send('POST', '/auth/reset-password', {
      body: { login, code, password },
      headers: newAddress(),
    });

  test('a reset sets the password, revokes and publishes, and accepts the code only once', async () => {
    const events = await watchEvents(harness);
    const person = await join(harness);
    expect((await forgot(person.user.email)).status).toBe(200);
    const [code = ''] = await waitForCodes(person, 1);
    expect((await reset(person.user.username, code)).status).toBe(200);
    expect(await isLive(harness, person.token)).toBe(false);
    expect((await logIn(harness, person.user.username, 'a whole new password')).status).toBe(200);
    expect((await logIn(harness, person.user.username, PASSWORD)).status).toBe(422);
    expect((await reset(person.user.username, code)).status).toBe(422);
    const published = await events.publishedAbout(person.id);
    const revoked = published.filter(({ type }) => type === 'identity.credentials.revoked');
    expect(revoked.map(({ data }) => data)).toEqual([{ user_id: person.id, reason: 'password_reset' }]);
    await events.close();
  });

  test('a reset returns the same bytes for a known and an unknown account', async () => {
    const person = await join(harness);
    const [known, unknown] = [await forgot(person.user.username), await forgot('nobody-has-this-name')];
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text]);
    const [wrongCode, noAccount] = [
      await reset(person.user.username, '00000000'),
      await reset('nobody', '00000000'),
    ];
    expect(wrongCode.status).toBe(422);
    expect(Object.keys(wrongCode.body.errors)).toEqual(['code']);
    expect([noAccount.status, noAccount.text]).toEqual([wrongCode.status, wrongCode.text]);
  });

  const requested = async (): Promise<{ person: Person; code: string }> => {
    const person = await join(harness);
    await forgot(person.user.username);
    const [code = ''] = await waitForCodes(person, 1);
    expect(code).toMatch(/^\d{8}$/);
    return { person, code };
  };

  test('beyond the rate limit no SMS is sent and every code is rejected, with the usual responses', async () => {
    const { person } = await requested();
    expect((await forgot(person.user.email)).status).toBe(200);
    const sent = await waitForCodes(person, 2);
    // These use up the five calls per minute, because both endpoints share the limit.
    const body = { current_password: 'not the password' };
    for (let call = 3; call <= 5; call += 1) {
      const refused = await harness.send('POST', '/auth/delete-account', { as: person.caller, body });
      expect(refused.status).toBe(422);
    }
    const [limited, unknown] = [await forgot(person.user.username), await forgot('nobody-has-this-name')];
    expect([limited.status, limited.text]).toEqual([unknown.status, unknown.text]);
    for (const name of ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining']) {
      expect(limited.headers.get(name)).toBeNull();
    }
    // When a later SMS has arrived, an earlier one would have arrived too.
    await requested();
    expect(await codesOf(person)).toEqual(sent);
    const refused = await reset(person.user.username, sent[0] ?? '');
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['code']]);
    await resetRateLimits();
    expect((await reset(person.user.username, sent[0] ?? '')).status).toBe(200);
  });

  test('codes for a previous phone are rejected, whether the user or an operator changed it', async () => {
    const operator = await joinAs(harness, 'operator');
    const own = (person: Person, body: { phone: string }) => changePhone(person, body.phone);
    const byOperator = (person: Person, body: { phone: string }) =>
      harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body });
    for (const change of [own, byOperator]) {
      const { person, code } = await requested();
      expect((await arm(person)).status).toBe(200);
      const [deletionCode = ''] = await codesOf(person);
      const phone = String(registration().phone);
      expect((await change(person, { phone })).status).toBe(200);
      expect((await reset(person.user.username, code)).status).toBe(422);
      expect((await commit(person, deletionCode)).status).toBe(422);
    }
  });

  test('other changes of the account neither invalidate a code nor reset the failure count', async () => {
    const { person, code: deletionCode } = await armed();
    expect((await commit(person, wrong(deletionCode))).status).toBe(422);
    await forgot(person.user.username);
    const [code = ''] = await waitForCodes(person, 2);
    expect((await reset(person.user.username, wrong(code))).status).toBe(422);
    const body = { first_name: 'Other', phone: person.user.phone, email: `new.${person.user.email}` };
    const as = person.caller;
    expect(
      (await harness.send('PUT', '/auth/me', { as, body: { ...body, current_password: PASSWORD } })).status,
    ).toBe(200);
    const stored = () =>
      harness.database.collection('confirmation_codes').findOne({ _id: person.id as never });
    expect(await stored()).toMatchObject({ wrong_in_row: 1, reset: { tries: 1 } });
    expect((await changePhone(person, String(registration().phone))).status).toBe(200);
    expect(await stored()).toMatchObject({ wrong_in_row: 1, reset: null });
  });

  test('a reset code is rejected after the password was changed', async () => {
    const { person, code } = await requested();
    const body = { current_password: PASSWORD, password: 'another password of mine' };
    expect((await harness.send('PUT', '/auth/change-password', { as: person.caller, body })).status).toBe(
      200,
    );
    expect((await reset(person.user.username, code)).status).toBe(422);
    expect((await logIn(harness, person.user.username, 'another password of mine')).status).toBe(200);
  });

  test('a deletion code does not reset the password, and stays valid', async () => {
    const { person, code } = await armed();
    expect((await reset(person.user.username, code)).status).toBe(422);
    expect((await commit(person, code)).status).toBe(202);
  });
});
