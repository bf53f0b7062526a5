/** Specification 3.1 and 4.1 with contract 2.1, where time, blockers and the SMS provider are at hand. */

import { DAY_MS, MINUTE_MS } from '@fitness/shared/clock.ts';
import { connectBroker } from '@fitness/shared/events/broker.ts';
import { tapEvents } from '@fitness/shared/events/testing.ts';
import { createLog } from '@fitness/shared/log.ts';
import { connectRedis, type Redis } from '@fitness/shared/redis.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../sandbox/src/service.ts';
import { ANSWER_AFTER_MS } from '../src/app/reset-password.ts';
import { watchEvents } from './events.ts';
import {
  isLive,
  join,
  joinAs,
  logIn,
  PASSWORD,
  type Person,
  registration,
  startWorld,
  type World,
} from './support.ts';

let world: World;
let redis: Redis;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;

const FORGOT_MS = 100;

beforeAll(async () => {
  sandbox = await startSandbox({ port: 0 });
  const environment = {
    KAVENEGAR_BASE_URL: `${sandbox.url}/kavenegar`,
    KAVENEGAR_TIMEOUT_MS: '1500',
    SMS_DEADLINE_MS: '4000',
  };
  world = await startWorld(environment, { answerAfterMs: FORGOT_MS });
  redis = await connectRedis({ url: world.config.REDIS_URL });
});

afterAll(async () => {
  redis.disconnect();
  await world.close();
  await sandbox.close();
});

beforeEach(() => {
  world.outside.blockers = [];
  world.outside.brokenBlocker = undefined;
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

/** Once so many were sent: an answer does not wait for its SMS. */
const codesSent = (person: Person, count: number): Promise<string[]> =>
  eventually(async () => {
    const codes = await codesOf(person);
    return codes.length >= count && codes;
  });

/** Each call from a fresh budget: these tests are about other rules. */
const deleteAccount = async (person: Person, body: Record<string, unknown>) => {
  await redis.del(...(await redis.keys(`${world.config.EVENTS_NAMESPACE}:identity:limit:*`)), 'nothing');
  return world.send('POST', '/auth/delete-account', { as: person.caller, body });
};

const arm = (person: Person) => deleteAccount(person, { current_password: PASSWORD });
const commit = (person: Person, code: string) =>
  deleteAccount(person, { current_password: PASSWORD, confirmation_code: code });

const armed = async (): Promise<{ person: Person; code: string }> => {
  const person = await join(world);
  expect((await arm(person)).status).toBe(200);
  const [code = ''] = await codesOf(person);
  return { person, code };
};

const wrong = (code: string, offset = 1) => String((Number(code) + offset) % 1_000_000).padStart(6, '0');
const pendingOf = async (person: Person) =>
  (await world.send('GET', '/auth/me', { as: person.caller })).body.user.deletion_scheduled_at;

describe('a code', () => {
  test('works to the last moment of its ten minutes, and not after', async () => {
    const late = await armed();
    world.clock.advance(10 * MINUTE_MS);
    expect((await commit(late.person, late.code)).status).toBe(422);
    const inTime = await armed();
    world.clock.advance(10 * MINUTE_MS - 1);
    expect((await commit(inTime.person, inTime.code)).status).toBe(202);
  });

  test('survives four wrong tries and dies at the fifth', async () => {
    const four = await armed();
    for (let offset = 1; offset <= 4; offset += 1) await commit(four.person, wrong(four.code, offset));
    expect((await commit(four.person, four.code)).status).toBe(202);
    const five = await armed();
    for (let offset = 1; offset <= 5; offset += 1) await commit(five.person, wrong(five.code, offset));
    expect((await commit(five.person, five.code)).status).toBe(422);
  });

  test('is stored as a hash only', async () => {
    const { person, code } = await armed();
    const stored = await world.database.collection('confirmation_codes').findOne({ _id: person.id as never });
    expect(JSON.stringify(stored)).not.toContain(code);
    expect(stored?.deletion).toMatchObject({ tries: 0 });
  });

  test('after a hundred wrong ones in a row nothing is heard for a day, over all codes of the account', async () => {
    const { person } = await armed();
    await world.database
      .collection('confirmation_codes')
      .updateOne({ _id: person.id as never }, { $set: { wrong_in_row: 99 } });
    const [code = ''] = await codesOf(person);
    expect((await commit(person, wrong(code))).status).toBe(422);
    // A new code changes nothing: the account is silent.
    expect((await arm(person)).status).toBe(200);
    const [newest = ''] = await codesOf(person);
    expect((await commit(person, newest)).status).toBe(422);
    world.clock.advance(DAY_MS);
    expect((await arm(person)).status).toBe(200);
    const [afterwards = ''] = await codesOf(person);
    expect((await commit(person, afterwards)).status).toBe(202);
  });

  test('a blocked phase 2 does not spend it', async () => {
    const { person, code } = await armed();
    world.outside.blockers = [{ userId: person.id, code: 'gym_ownership', extras: { count: 1 } }];
    expect((await commit(person, code)).status).toBe(409);
    world.outside.blockers = [];
    expect((await commit(person, code)).status).toBe(202);
  });

  test('is looked at before what blocks: a wrong one is 422, and nobody is asked', async () => {
    const { person, code } = await armed();
    world.outside.blockers = [{ userId: person.id, code: 'gym_ownership', extras: { count: 1 } }];
    world.outside.brokenBlocker = 'active_premium';
    world.outside.calls.blockers = 0;
    const refused = await commit(person, wrong(code));
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['confirmation_code']]);
    expect(world.outside.calls.blockers).toBe(0);
  });

  test('is rejected in the same words, byte for byte, whatever is wrong with it', async () => {
    const none = await commit(await join(world), '123456');
    const guessed = await armed();
    const wornOut = await armed();
    for (let offset = 1; offset <= 5; offset += 1) await commit(wornOut.person, wrong(wornOut.code, offset));
    const silent = await armed();
    const codes = world.database.collection('confirmation_codes');
    const silenced = { $set: { locked_until: new Date(world.clock.now().getTime() + DAY_MS) } };
    await codes.updateOne({ _id: silent.person.id as never }, silenced);
    const replaced = await armed();
    expect((await arm(replaced.person)).status).toBe(200);
    const answers = [
      await commit(guessed.person, wrong(guessed.code)),
      await commit(wornOut.person, wornOut.code),
      await commit(silent.person, silent.code),
      await commit(replaced.person, replaced.code),
    ];
    const expired = await armed();
    world.clock.advance(10 * MINUTE_MS);
    answers.push(await commit(expired.person, expired.code));
    expect(none.status).toBe(422);
    for (const { status, text } of answers) expect([status, text]).toEqual([422, none.text]);
  });

  test('a definite refusal keeps the older one; a timeout does not', async () => {
    const refused = await armed();
    await control('PUT', '/sms/mode', { mode: 'refuse', receptor: refused.person.user.phone });
    expect((await arm(refused.person)).status).toBe(500);
    expect((await commit(refused.person, refused.code)).status).toBe(202);
    const unknown = await armed();
    await control('PUT', '/sms/mode', { mode: 'slow', receptor: unknown.person.user.phone });
    expect((await arm(unknown.person)).status).toBe(500);
    expect((await commit(unknown.person, unknown.code)).status).toBe(422);
  });
});

describe('blockers', () => {
  test('are all listed in the order of the specification, whatever order they are answered in', async () => {
    const person = await join(world);
    world.outside.blockers = [
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

  test.each([
    'gym_ownership',
    'unsettled_balance',
    'pending_withdrawal',
    'active_premium',
    'active_trainees',
  ])('one that cannot be evaluated (%s) is 503, spends no SMS and schedules nothing', async (code) => {
    const person = await join(world);
    world.outside.brokenBlocker = code;
    const answer = await arm(person);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, expect.any(String)]);
    expect(await codesOf(person)).toEqual([]);
    expect(await pendingOf(person)).toBeNull();
  });

  test('say nothing to who does not know the password, and cannot stand in the way of a pending answer', async () => {
    const person = await join(world);
    const [broken, blocked] = ['active_trainees', 'gym_ownership'];
    world.outside.brokenBlocker = broken;
    world.outside.blockers = [{ userId: person.id, code: blocked, extras: { count: 1 } }];
    const stranger = await deleteAccount(person, { current_password: 'not-the-password' });
    expect([stranger.status, Object.keys(stranger.body.errors)]).toEqual([422, ['current_password']]);
    world.outside.brokenBlocker = undefined;
    world.outside.blockers = [];
    const pending = await armed();
    expect((await commit(pending.person, pending.code)).status).toBe(202);
    world.outside.brokenBlocker = broken;
    world.outside.blockers = [{ userId: pending.person.id, code: blocked, extras: { count: 1 } }];
    expect((await arm(pending.person)).status).toBe(202);
  });
});

describe('authorization', () => {
  const tokens: [string, Partial<Person['caller']>][] = [
    ['a log-in', {}],
    ['a personal token without any permission', { tokenKind: 'personal', permissions: new Set() }],
    ['an app with whatever scope', { tokenKind: 'oauth', permissions: new Set(['posts.view']) }],
  ];
  test.each(tokens)('takes a valid token and nothing else: that of %s', async (_whose, token) => {
    const { user, ...person } = await join(world);
    const as = { ...person, user, caller: { ...person.caller, ...token } };
    const wrongPassword = await deleteAccount(as, { current_password: 'not the password' });
    expect([wrongPassword.status, Object.keys(wrongPassword.body.errors)]).toEqual([
      422,
      ['current_password'],
    ]);
    expect((await world.send('DELETE', '/auth/delete-account', { as: as.caller })).status).toBe(200);
    expect((await arm(as)).status).toBe(200);
    const [code = ''] = await codesOf(as);
    expect((await commit(as, code)).status).toBe(202);
    expect(await isLive(world, person.token)).toBe(false);
  });
});

describe('scheduling', () => {
  test('twenty calls at once with the right code: one 202, one pair of events, all credentials dead', async () => {
    const broker = await connectBroker({
      url: world.config.AMQP_URL,
      namespace: world.config.EVENTS_NAMESPACE,
      log: createLog({ service: 'test', level: 'silent' }),
    });
    const tap = await tapEvents(broker, 'identity.#');
    const { person, code } = await armed();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        world.send('POST', '/auth/delete-account', {
          as: { ...person.caller },
          body: { current_password: PASSWORD, confirmation_code: code },
        }),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(1);
    expect(statuses.filter((status) => ![202, 422, 429].includes(status))).toEqual([]);
    expect(await isLive(world, person.token)).toBe(false);
    const own = () =>
      tap.events.filter(({ subject }) => subject === String(person.id)).map(({ type }) => type);
    await eventually(() => own().length >= 2);
    expect(own().sort()).toEqual(['identity.account.deletion_requested', 'identity.credentials.revoked']);
    await tap.close();
    await broker.close();
  });

  test('the notification stands in the reader’s inbox once, and can be read', async () => {
    const { person, code } = await armed();
    await commit(person, code);
    const list = () => world.send('GET', '/notifications', { as: person.caller });
    const first = await eventually(async () => {
      const answer = await list();
      return answer.body.data.length === 1 && answer;
    });
    expect(first.body.meta.unread_count).toBe(1);
    const { id } = first.body.data[0];
    const stranger = await join(world);
    expect((await world.send('POST', `/notifications/${id}/read`, { as: stranger.caller })).status).toBe(404);
    const read = await world.send('POST', `/notifications/${id}/read`, { as: person.caller });
    expect(read.body.data.read_at).not.toBeNull();
    expect((await list()).body.meta.unread_count).toBe(0);
  });
});

describe('password reset', () => {
  const forgot = (login: string) => world.send('POST', '/auth/forgot-password', { body: { login } });
  const reset = (login: string, code: string, password = 'a whole new password') =>
    world.send('POST', '/auth/reset-password', { body: { login, code, password } });

  test('sets the password, revokes every credential and tells of it, and the code works once', async () => {
    const events = await watchEvents(world);
    const person = await join(world);
    expect((await forgot(person.user.email)).status).toBe(200);
    const [code = ''] = await codesSent(person, 1);
    expect((await reset(person.user.username, code)).status).toBe(200);
    expect(await isLive(world, person.token)).toBe(false);
    expect((await logIn(world, person.user.username, 'a whole new password')).status).toBe(200);
    expect((await logIn(world, person.user.username, PASSWORD)).status).toBe(422);
    expect((await reset(person.user.username, code)).status).toBe(422);
    const told = (await events.about(person.id)).map(({ type, data }) => [type, data]);
    expect(told).toEqual([
      ['identity.credentials.revoked', { user_id: person.id, reason: 'password_reset' }],
    ]);
    await events.close();
  });

  test('its answer waits a second', () => {
    expect(ANSWER_AFTER_MS).toBe(1_000);
  });

  test.each(['a known account', 'nobody'])(
    'the answer about %s waits its time, sent or not',
    async (whose) => {
      const login = whose === 'nobody' ? 'nobody-has-this-name' : (await join(world)).user.username;
      const startedAt = performance.now();
      expect((await forgot(login)).status).toBe(200);
      expect(performance.now() - startedAt).toBeGreaterThan(FORGOT_MS - 5);
    },
  );

  test('an unknown account answers like a known one, byte for byte', async () => {
    const person = await join(world);
    const [known, unknown] = [await forgot(person.user.username), await forgot('nobody-has-this-name')];
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text]);
    const [wrongCode, noAccount] = [
      await reset(person.user.username, '000000'),
      await reset('nobody', '000000'),
    ];
    expect(wrongCode.status).toBe(422);
    expect(Object.keys(wrongCode.body.errors)).toEqual(['code']);
    expect([noAccount.status, noAccount.text]).toEqual([wrongCode.status, wrongCode.text]);
  });

  const asked = async (): Promise<{ person: Person; code: string }> => {
    const person = await join(world);
    await forgot(person.user.username);
    const [code = ''] = await codesSent(person, 1);
    expect(code).toMatch(/^\d{6}$/);
    return { person, code };
  };

  test('the budget that is spent sends nothing more and hears no code, the right one included; 200 and 422 as ever', async () => {
    const { person, code } = await asked();
    for (let call = 2; call <= 4; call += 1) {
      expect((await forgot(person.user.email)).status).toBe(200);
      await codesSent(person, call);
    }
    // The fifth of the minute, by whatever door.
    const body = { current_password: 'not the password' };
    const fifth = await world.send('POST', '/auth/delete-account', { as: person.caller, body });
    expect(fifth.status).toBe(422);
    const sent = await codesSent(person, 4);
    expect(sent).toHaveLength(4);
    const [spent, nobody] = [await forgot(person.user.username), await forgot('nobody-has-this-name')];
    expect([spent.status, spent.text]).toEqual([nobody.status, nobody.text]);
    for (const name of ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining']) {
      expect(spent.headers.get(name)).toBeNull();
    }
    // What is asked for later has arrived.
    await asked();
    expect(await codesOf(person)).toEqual(sent);
    const refused = await reset(person.user.username, sent[0] ?? code);
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['code']]);
    await redis.del(...(await redis.keys(`${world.config.EVENTS_NAMESPACE}:identity:limit:*`)), 'nothing');
    expect((await reset(person.user.username, sent[0] ?? code)).status).toBe(200);
  });

  test('a code that went to the old phone is worth nothing once the phone has changed, by whomever', async () => {
    const operator = await joinAs(world, 'operator');
    const own = (person: Person, body: Record<string, unknown>) =>
      world.send('PUT', '/auth/me', { as: person.caller, body: { ...body, current_password: PASSWORD } });
    const operators = (person: Person, body: Record<string, unknown>) =>
      world.send('PUT', `/users/${person.id}`, { as: operator.caller, body });
    for (const change of [own, operators]) {
      const { person, code } = await asked();
      expect((await arm(person)).status).toBe(200);
      const [deletionCode = ''] = await codesOf(person);
      const phone = String(registration().phone);
      expect((await change(person, { phone })).status).toBe(200);
      expect((await reset(person.user.username, code)).status).toBe(422);
      expect((await commit(person, deletionCode)).status).toBe(422);
    }
  });

  test('a code outlives every other change of the account, and how often one guessed is not forgotten', async () => {
    const { person, code } = await asked();
    expect((await reset(person.user.username, wrong(code))).status).toBe(422);
    const body = { first_name: 'Other', phone: person.user.phone, email: `new.${person.user.email}` };
    const as = person.caller;
    expect(
      (await world.send('PUT', '/auth/me', { as, body: { ...body, current_password: PASSWORD } })).status,
    ).toBe(200);
    const counted = () =>
      world.database.collection('confirmation_codes').findOne({ _id: person.id as never });
    expect(await counted()).toMatchObject({ wrong_in_row: 1, reset: { tries: 1 } });
    const phone = String(registration().phone);
    await world.send('PUT', '/auth/me', { as, body: { phone, current_password: PASSWORD } });
    expect(await counted()).toMatchObject({ wrong_in_row: 1, reset: null });
  });

  test('a code does not outlive a change of the password', async () => {
    const { person, code } = await asked();
    const body = { current_password: PASSWORD, password: 'another password of mine' };
    expect((await world.send('PUT', '/auth/change-password', { as: person.caller, body })).status).toBe(200);
    expect((await reset(person.user.username, code)).status).toBe(422);
    expect((await logIn(world, person.user.username, 'another password of mine')).status).toBe(200);
  });

  test('a reset code does not delete an account, nor a deletion code reset a password', async () => {
    const { person, code } = await armed();
    expect((await reset(person.user.username, code)).status).toBe(422);
    expect((await commit(person, code)).status).toBe(202);
  });
});
