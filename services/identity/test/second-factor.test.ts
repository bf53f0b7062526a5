/** Second factors (RFC 6238): setting up, signing in, recovery codes and removing. */
import { createPkce } from '@fitness/contracts/testing/oauth-client.ts';
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Answer } from '@fitness/shared/testing/harness.ts';
import { TOTP_STEP_MS } from '@fitness/shared/testing/totp.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { issueCode } from '../src/domain/confirmation-code.ts';
import { userLimitKey } from '../src/domain/limit-keys.ts';
import { createUseCases } from '../src/use-cases.ts';
import { watchEvents } from './events.ts';
import { createOauthUser, oauthOf } from './oauth-support.ts';
import { openReplica, type Replica } from './purge-support.ts';
import { arm, begin, codeOf, disarm, logInWith, setUp, wrongCodeOf } from './second-factor-support.ts';
import {
  type Harness,
  isLive,
  join,
  joinAs,
  logIn,
  newAddress,
  PASSWORD,
  type Person,
  startHarness,
} from './support.ts';

/**
 * The daily limit in these tests; src/config.test.ts has the default. Correct codes count while they are compared, so it is
 * not below the number of concurrent ones.
 */
const WRONG_CODES = 20;
const TOO_MANY = WRONG_CODES + 5;

let harness: Harness;
/** Another replica of the service. */
let replica: Replica;
/** Runs once before the next transaction of the replica. */
let meanwhile: (() => Promise<Answer>) | undefined;
beforeAll(async () => {
  harness = await startHarness({ WRONG_SECOND_FACTOR_CODES_PER_ACCOUNT: String(WRONG_CODES) });
  replica = await openReplica(harness.config, harness.clock, (dependencies) => {
    const { store } = dependencies;
    const transaction: typeof store.transaction = async (work, options) => {
      const action = meanwhile;
      meanwhile = undefined;
      await action?.();
      return store.transaction(work, options);
    };
    return { ...dependencies, store: { ...store, transaction } };
  });
});
afterAll(async () => {
  await replica.close();
  await harness.close();
});

const fieldsOf = ({ status, body }: Answer): unknown[] => [status, Object.keys(body.errors ?? {})];
const refused = (field: string) => [422, [field]];
const REQUIRED = { totp: ['Enter a code from your authenticator app, or a recovery code.'] };
const USED = { totp: ['This code has already been used. Wait for the next one.'] };
const WRONG = { totp: ['This code is incorrect.'] };
const countOf = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;
const atOnce = <Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));
const twenty = (work: (index: number) => Promise<Answer>): Promise<Answer[]> => atOnce(20, work);

const changesOf = async ({ caller: as }: Person): Promise<string[]> =>
  (await harness.send('GET', '/notifications', { as })).body.data.map(
    ({ type, data }: { type: string; data: { change: string } }) =>
      type === 'security_alert' ? data.change : type,
  );

/** How many wrong codes the person has left for the day. */
const attemptsLeft = async ({ id }: Person): Promise<number> => {
  const { limiter, limits } = replica.dependencies;
  return (await limiter.peek(limits.wrongSecondFactorCodes, userLimitKey(id))).remaining;
};

/** All documents about second factors as text. */
const storedText = async (): Promise<string> =>
  JSON.stringify(await harness.database.collection('second_factors').find().toArray());

describe('setting up', () => {
  test('a second factor is armed only once a code for its secret is entered, which is used up', async () => {
    const person = await join(harness);
    const setup = await begin(harness, person);
    expect([setup.status, Object.keys(setup.body)]).toEqual([200, ['secret', 'otpauth_url']]);
    const { secret, otpauth_url: url } = setup.body;
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(new URL(url).searchParams.get('secret')).toBe(secret);
    expect(url).toContain(encodeURIComponent(person.user.username));
    expect((await logIn(harness, person.user.username)).status).toBe(200);

    const wrong = await arm(harness, person, wrongCodeOf(harness, secret));
    expect([wrong.status, wrong.body.errors]).toEqual([422, WRONG]);
    expect((await logIn(harness, person.user.username)).status).toBe(200);

    const armed = await arm(harness, person, codeOf(harness, secret));
    expect([armed.status, Object.keys(armed.body)]).toEqual([200, ['recovery_codes']]);
    expect(new Set(armed.body.recovery_codes).size).toBe(10);
    const withoutCode = await logIn(harness, person.user.username);
    expect([withoutCode.status, withoutCode.body.errors]).toEqual([422, REQUIRED]);
    // The code that armed the factor is not accepted again.
    expect((await logInWith(harness, person, codeOf(harness, secret))).body.errors).toEqual(USED);
    expect(await changesOf(person)).toEqual(['second_factor_armed']);
  });

  test('neither the secret nor a recovery code is stored in readable form', async () => {
    const person = await join(harness);
    const { recoveryCodes, secret } = await setUp(harness, person);
    const text = await storedText();
    for (const shown of [secret, ...recoveryCodes.flatMap((code) => [code, code.replaceAll('-', '')])])
      expect(text).not.toContain(shown);
  });

  test('setting up ends every other session, personal token and app, but not this session', async () => {
    const person = await createOauthUser(harness);
    const events = await watchEvents(harness);
    const session = (await logIn(harness, person.user.username)).body.token;
    const body = { name: 'created with the password only' };
    const created = await harness.send('POST', '/auth/tokens', { as: person.caller, body });
    const oauth = oauthOf(harness);
    const app = await oauth.connect(person);
    const others = [session, created.body.token, app.accessToken];
    const { secret } = (await begin(harness, person)).body;
    await arm(harness, person, wrongCodeOf(harness, secret));
    for (const token of others) expect(await isLive(harness, token)).toBe(true);
    expect((await arm(harness, person, codeOf(harness, secret))).status).toBe(200);
    for (const token of others) expect(await isLive(harness, token)).toBe(false);
    expect((await oauth.refresh(app.clientId, app.refreshToken)).status).toBe(400);
    expect(await isLive(harness, person.token)).toBe(true);
    expect(await events.publishedAbout(person.id)).toEqual([
      { type: 'identity.credentials.revoked', data: { user_id: person.id, reason: 'second_factor_armed' } },
    ]);
    await events.close();
  });

  test('a session that ended during its request can neither set up nor remove a second factor', async () => {
    const person = await join(harness);
    const { secret } = (await begin(harness, person)).body;
    await harness.send('POST', '/auth/logout', { as: person.caller });
    const answers = [
      await arm(harness, person, codeOf(harness, secret)),
      await begin(harness, person),
      await disarm(harness, person, undefined),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
    expect((await logIn(harness, person.user.username)).status).toBe(200);
    expect(await changesOf(person)).toEqual([]);
  });

  test('setting up requires a session and the password, which is checked ten times a minute', async () => {
    const person = await join(harness);
    expect(
      fieldsOf(await harness.send('POST', '/auth/second-factor', { as: person.caller, body: {} })),
    ).toEqual(refused('current_password'));
    for (const tokenKind of ['personal', 'restricted', 'oauth'] as const) {
      const other = { ...person, caller: { ...person.caller, tokenKind } };
      expect((await begin(harness, other)).status).toBe(403);
      expect((await arm(harness, other, '123456')).status).toBe(403);
      expect((await disarm(harness, other, '123456')).status).toBe(403);
    }
    const answers = await atOnce(12, (index) =>
      index % 2 === 0 ? begin(harness, person, 'wrong') : disarm(harness, person, '123456', 'wrong'),
    );
    expect([countOf(answers, 422), countOf(answers, 429)]).toEqual([10, 2]);
    expect((await begin(harness, person)).status).toBe(429);
  });

  test('a new setup replaces the earlier secret, and a setup ends after ten minutes', async () => {
    const person = await join(harness);
    const older = (await begin(harness, person)).body.secret;
    const { secret } = (await begin(harness, person)).body;
    expect(secret).not.toBe(older);
    expect(fieldsOf(await arm(harness, person, codeOf(harness, older)))).toEqual(refused('totp'));
    harness.clock.advance(10 * MINUTE_MS);
    const late = await arm(harness, person, codeOf(harness, secret));
    expect(fieldsOf(late)).toEqual(refused('totp'));
    expect(late.body.errors.totp[0]).toContain('Request a new secret first');
    const never = await join(harness);
    expect(fieldsOf(await arm(harness, never, '123456'))).toEqual(refused('totp'));
  });

  test('setup returns 409 while a second factor is active, and leaves it unchanged', async () => {
    const person = await join(harness);
    const { secret } = await setUp(harness, person);
    const answers = [await begin(harness, person), await arm(harness, person, codeOf(harness, secret))];
    expect(answers.map(({ status }) => status)).toEqual([409, 409]);
    expect((await logInWith(harness, person, codeOf(harness, secret))).status).toBe(200);
  });

  test('one of twenty concurrent requests with one code turns it on, and the others report that it is on', async () => {
    const person = await join(harness);
    const { secret } = (await begin(harness, person)).body;
    const answers = await twenty(() => arm(harness, person, codeOf(harness, secret)));
    const armed = answers.filter(({ status }) => status === 200);
    expect(armed).toHaveLength(1);
    expect(countOf(answers, 409)).toBe(answers.length - 1);
    expect((await logInWith(harness, person, armed[0]?.body.recovery_codes[0])).status).toBe(200);
    expect((await changesOf(person)).filter((change) => change === 'second_factor_armed')).toHaveLength(1);
  });
});

describe('signing in', () => {
  test('a sign-in asks for the code only after a correct password', async () => {
    const person = await join(harness);
    const { secret } = await setUp(harness, person);
    const unknown = await logIn(harness, 'nobody.at.all', 'not the password');
    for (const totp of [undefined, codeOf(harness, secret), wrongCodeOf(harness, secret)]) {
      const { status, text } = await logInWith(harness, person, totp, 'not the password');
      expect([status, text]).toEqual([422, unknown.text]);
    }
    const withoutCode = await logInWith(harness, person, undefined);
    expect([withoutCode.status, withoutCode.body.errors]).toEqual([422, REQUIRED]);
    const signedIn = await logInWith(harness, person, codeOf(harness, secret));
    expect(signedIn.status).toBe(200);
    expect(Object.keys(signedIn.body)).toEqual(['token', 'token_type', 'expires_at', 'user']);
    expect(await isLive(harness, signedIn.body.token)).toBe(true);
  });

  test('a sign-in whose code is no short text is rejected with 422 under totp', async () => {
    const person = await join(harness);
    await setUp(harness, person);
    for (const totp of [['123456'], { $gt: '' }, 123_456, '', '1'.repeat(101)])
      expect([totp, fieldsOf(await logInWith(harness, person, totp))]).toEqual([totp, refused('totp')]);
  });

  test('a sign-in without a second factor ignores a code', async () => {
    const person = await join(harness);
    expect((await logInWith(harness, person, '123456')).status).toBe(200);
  });

  test('a sign-in accepts codes up to one step before and after, but not two', async () => {
    const person = await join(harness);
    const { secret } = await setUp(harness, person);
    for (const steps of [-2, 2]) {
      const answer = await logInWith(harness, person, codeOf(harness, secret, steps));
      expect([answer.status, answer.body.errors]).toEqual([422, WRONG]);
    }
    for (const steps of [-1, 0]) {
      expect((await logInWith(harness, person, codeOf(harness, secret, steps))).status).toBe(200);
    }
    // A code may have any digits, and a space.
    const code = codeOf(harness, secret, 1);
    const persian = code.replaceAll(/\d/g, (digit) => String.fromCharCode(0x06f0 + Number(digit)));
    expect((await logInWith(harness, person, ` ${persian.slice(0, 3)} ${persian.slice(3)}`)).status).toBe(
      200,
    );
  });

  test('a code is accepted once, and no code of an earlier step afterwards', async () => {
    const person = await join(harness);
    const { secret } = await setUp(harness, person);
    const code = codeOf(harness, secret, 1);
    expect((await logInWith(harness, person, code)).status).toBe(200);
    for (const replayed of [code, codeOf(harness, secret), codeOf(harness, secret, -1)]) {
      const answer = await logInWith(harness, person, replayed);
      expect([answer.status, answer.body.errors]).toEqual([422, USED]);
    }
    harness.clock.advance(2 * TOTP_STEP_MS);
    expect((await logInWith(harness, person, codeOf(harness, secret))).status).toBe(200);
  });

  test('one of twenty concurrent sign-ins with the same code succeeds', async () => {
    const person = await join(harness);
    const { secret } = await setUp(harness, person);
    const code = codeOf(harness, secret);
    const answers = await twenty(() => logInWith(harness, person, code));
    expect([countOf(answers, 200), countOf(answers, 422)]).toEqual([1, 19]);
    // The first session and the session of this sign-in.
    expect(await harness.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(2);
    // Neither a correct code nor a replayed one is a guess.
    expect(await attemptsLeft(person)).toBe(WRONG_CODES);
    await logInWith(harness, person, wrongCodeOf(harness, secret));
    expect(await attemptsLeft(person)).toBe(WRONG_CODES - 1);
    harness.clock.advance(TOTP_STEP_MS);
    expect((await logInWith(harness, person, codeOf(harness, secret))).status).toBe(200);
  });
});

describe('a recovery code', () => {
  test('a recovery code signs in once, in any spelling, and the owner is notified', async () => {
    const person = await join(harness);
    const { recoveryCodes } = await setUp(harness, person);
    const [first = '', second = ''] = recoveryCodes;
    expect((await logInWith(harness, person, first)).status).toBe(200);
    const again = await logInWith(harness, person, first);
    expect([again.status, again.body.errors]).toEqual([422, WRONG]);
    expect((await logInWith(harness, person, second.toLowerCase().replaceAll('-', ' '))).status).toBe(200);
    expect(await changesOf(person)).toEqual([
      'recovery_code_used',
      'recovery_code_used',
      'second_factor_armed',
    ]);
  });

  test('one of twenty concurrent sign-ins with the same recovery code succeeds', async () => {
    const person = await join(harness);
    const { recoveryCodes } = await setUp(harness, person);
    const answers = await twenty(() => logInWith(harness, person, recoveryCodes[3]));
    expect(countOf(answers, 200)).toBe(1);
    const used = (await changesOf(person)).filter((change) => change === 'recovery_code_used');
    expect(used).toHaveLength(1);
  });
});

describe('wrong codes', () => {
  test('an account has an exact limit of wrong codes, beyond which only recovery codes work', async () => {
    const [person, other] = [await join(harness), await join(harness)];
    const { secret, recoveryCodes } = await setUp(harness, person);
    const others = await setUp(harness, other);
    const wrong = wrongCodeOf(harness, secret);
    const answers = await atOnce(TOO_MANY, (index) =>
      logInWith(harness, person, index % 4 === 0 ? 'AAAA-BBBB' : wrong),
    );
    expect([countOf(answers, 422), countOf(answers, 429)]).toEqual([WRONG_CODES, TOO_MANY - WRONG_CODES]);
    const limited = await logInWith(harness, person, codeOf(harness, secret));
    expect([limited.status, limited.body]).toEqual([
      429,
      { message: 'Too many requests. Please try again later.' },
    ]);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await disarm(harness, person, codeOf(harness, secret))).status).toBe(429);
    expect((await logInWith(harness, person, recoveryCodes[0])).status).toBe(200);
    // A recovery code of another account is wrong.
    expect((await logInWith(harness, other, recoveryCodes[1])).body.errors).toEqual(WRONG);
    expect((await logInWith(harness, other, codeOf(harness, others.secret))).status).toBe(200);
    const locked = (await changesOf(person)).filter((change) => change === 'second_factor_locked');
    expect(locked).toHaveLength(1);
  });

  test('guessed codes are limited during the setup too, and those beyond the limit are not compared', async () => {
    const person = await join(harness);
    const { secret } = (await begin(harness, person)).body;
    const { dependencies } = replica;
    const { secretBox } = dependencies;
    let compared = 0;
    const open: typeof secretBox.open = (sealed, owner) => {
      compared += 1;
      return secretBox.open(sealed, owner);
    };
    const { ownSecondFactor } = createUseCases({ ...dependencies, secretBox: { ...secretBox, open } });
    const wrong = wrongCodeOf(harness, secret);
    const outcomes = await atOnce(TOO_MANY, () =>
      ownSecondFactor.arm(person.caller, wrong).catch(({ kind }: { kind: string }) => kind),
    );
    expect(outcomes.filter((kind) => kind === 'validation')).toHaveLength(WRONG_CODES);
    expect(outcomes.filter((kind) => kind === 'rate_limited')).toHaveLength(TOO_MANY - WRONG_CODES);
    expect(compared).toBe(WRONG_CODES);
    // A correct code is refused too.
    const late = ownSecondFactor.arm(person.caller, codeOf(harness, secret));
    await expect(late).rejects.toMatchObject({ kind: 'rate_limited' });
    expect(compared).toBe(WRONG_CODES);
  });

  test('a stranger without the password cannot use up the limit of wrong codes', async () => {
    const person = await join(harness);
    const { secret } = await setUp(harness, person);
    await atOnce(3, () => logInWith(harness, person, wrongCodeOf(harness, secret), 'not the password'));
    expect(await attemptsLeft(person)).toBe(WRONG_CODES);
    expect((await logInWith(harness, person, codeOf(harness, secret))).status).toBe(200);
  });

  test('with another SECOND_FACTOR_KEY all app codes are wrong, but a recovery code signs in', async () => {
    const person = await join(harness);
    const { secret, recoveryCodes } = await setUp(harness, person);
    const logged: string[] = [];
    const log = createLog({
      service: 'identity',
      level: 'error',
      destination: { write: (line) => void logged.push(line) },
    });
    const config = {
      ...harness.config,
      SECOND_FACTOR_KEY: 'another key for tests, thirty-two characters or more',
    };
    const other = await openReplica(config, harness.clock, (dependencies) => ({ ...dependencies, log }));
    try {
      const { signIn } = createUseCases(other.dependencies);
      const client = { address: '192.0.2.1', userAgent: undefined };
      const { username: login } = person.user;
      const match = await other.dependencies.store.users.findLogin(login);
      const signInWith = (totp: string | undefined) =>
        signIn.signIn({ login, password: PASSWORD, totp, client, match });
      await expect(signInWith(codeOf(harness, secret))).rejects.toMatchObject({
        kind: 'validation',
        fields: { totp: [{ key: 'auth.totp_rejected' }] },
      });
      expect(logged).toHaveLength(1);
      expect(JSON.parse(logged[0] ?? '')).toMatchObject({ user_id: person.id });
      expect(logged[0]).toContain('SECOND_FACTOR_KEY');
      // Not counted as a guess, so that the owner is not locked out with the correct key.
      expect(await attemptsLeft(person)).toBe(WRONG_CODES);
      expect((await signInWith(recoveryCodes[0])).user._id).toBe(person.id);
    } finally {
      await other.close();
    }
    expect((await logInWith(harness, person, codeOf(harness, secret))).status).toBe(200);
  });
});

describe('removing', () => {
  test('removing requires the password and a code, and the owner is notified', async () => {
    const person = await join(harness);
    const { secret } = await setUp(harness, person);
    const code = codeOf(harness, secret);
    expect(fieldsOf(await disarm(harness, person, code, 'not the password'))).toEqual(
      refused('current_password'),
    );
    expect((await disarm(harness, person, undefined)).body.errors).toEqual(REQUIRED);
    expect((await disarm(harness, person, wrongCodeOf(harness, secret))).body.errors).toEqual(WRONG);
    expect((await logIn(harness, person.user.username)).status).toBe(422);
    const removed = await disarm(harness, person, code);
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect((await logIn(harness, person.user.username)).status).toBe(200);
    expect(await changesOf(person)).toEqual(['second_factor_removed', 'second_factor_armed']);
    // A client may repeat the request after a lost response.
    expect((await disarm(harness, person, code)).status).toBe(204);
    expect(await changesOf(person)).toHaveLength(2);
  });

  test('a recovery code removes the second factor, but a used code does not', async () => {
    const person = await join(harness);
    const { secret, recoveryCodes } = await setUp(harness, person);
    const code = codeOf(harness, secret);
    await logInWith(harness, person, code);
    expect((await disarm(harness, person, code)).body.errors).toEqual(USED);
    expect((await disarm(harness, person, recoveryCodes[9])).status).toBe(204);
    expect(await changesOf(person)).toEqual([
      'second_factor_removed',
      'recovery_code_used',
      'second_factor_armed',
    ]);
    const next = await setUp(harness, person);
    expect((await logInWith(harness, person, recoveryCodes[0])).status).toBe(422);
    expect((await logInWith(harness, person, next.recoveryCodes[0])).status).toBe(200);
  });

  test('a removal and sign-ins that race for one code use it once', async () => {
    for (let round = 0; round < 2; round += 1) {
      const person = await join(harness);
      const { recoveryCodes } = await setUp(harness, person);
      const code = recoveryCodes[0];
      const [removed, ...logins] = await Promise.all([
        disarm(harness, person, code),
        ...Array.from({ length: 4 }, () => logInWith(harness, person, code)),
      ]);
      const signedIn = countOf(logins, 200);
      expect([signedIn + countOf(logins, 422), [204, 422].includes(removed?.status ?? 0)]).toEqual([4, true]);
      const changes = await changesOf(person);
      expect(changes.filter((change) => change === 'recovery_code_used')).toHaveLength(1);
      const isOff = removed?.status === 204;
      expect(changes.includes('second_factor_removed')).toBe(isOff);
      // While the factor is armed, the code signs in once.
      if (!isOff) expect(signedIn).toBe(1);
      expect((await logIn(harness, person.user.username)).status).toBe(isOff ? 200 : 422);
    }
  });
});

const removeByOperator = (operator: Person, { id }: Person): Promise<Answer> =>
  harness.send('DELETE', `/users/${id}/second-factor`, { as: operator.caller });

describe('removing by an operator', () => {
  test('an operator’s removal ends the credentials of the person who set it up, and lets the owner in', async () => {
    const [thief, operator] = [await join(harness), await joinAs(harness, 'operator')];
    const owner = (await logIn(harness, thief.user.username)).body.token;
    const events = await watchEvents(harness);
    await setUp(harness, thief);
    expect(await isLive(harness, owner)).toBe(false);
    expect((await logIn(harness, thief.user.username)).status).toBe(422);

    const removed = await removeByOperator(operator, thief);
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect(await isLive(harness, thief.token)).toBe(false);
    expect((await logIn(harness, thief.user.username)).status).toBe(200);
    expect(await changesOf(thief)).toEqual(['second_factor_removed', 'second_factor_armed']);
    const { data } = (await harness.send('GET', '/notifications', { as: thief.caller })).body;
    expect([data[0].data.by, data[0].body]).toEqual([
      'operator',
      'Our team made this change. If you did not ask for it, contact us.',
    ]);
    expect(await events.publishedAbout(thief.id)).toEqual(
      ['second_factor_armed', 'second_factor_removed'].map((reason) => ({
        type: 'identity.credentials.revoked',
        data: { user_id: thief.id, reason },
      })),
    );
    await events.close();
  });

  test('a removal by an operator changes nothing without a factor, and returns 404 for unknown accounts', async () => {
    const [person, operator] = [await join(harness), await joinAs(harness, 'operator')];
    const { secret } = (await begin(harness, person)).body;
    expect((await removeByOperator(operator, person)).status).toBe(204);
    expect([await isLive(harness, person.token), await changesOf(person)]).toEqual([true, []]);
    // A pending setup can be completed.
    expect((await arm(harness, person, codeOf(harness, secret))).status).toBe(200);
    expect((await removeByOperator(operator, { ...person, id: 999_999_999 })).status).toBe(404);
  });

  test('only an operator’s session may remove another, less powerful account’s second factor', async () => {
    const [member, person] = [await join(harness), await join(harness)];
    const [operator, administrator] = [
      await joinAs(harness, 'operator'),
      await joinAs(harness, 'administrator'),
    ];
    const armed = [person, operator, administrator];
    for (const one of armed) await setUp(harness, one);
    const personal = { ...operator, caller: { ...operator.caller, tokenKind: 'personal' as const } };
    const answers = [
      await removeByOperator(member, person),
      await removeByOperator(personal, person),
      await removeByOperator(operator, administrator),
      await removeByOperator(operator, operator),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    for (const one of armed) expect(await isLive(harness, one.token)).toBe(true);
    for (const one of armed) expect((await logIn(harness, one.user.username)).status).toBe(422);
    expect((await removeByOperator(administrator, operator)).status).toBe(204);
  });

  test('twenty concurrent removals by an operator take effect once', async () => {
    const [person, operator] = [await join(harness), await joinAs(harness, 'operator')];
    await setUp(harness, person);
    const answers = await twenty(() => removeByOperator(operator, person));
    expect(countOf(answers, 204)).toBe(20);
    expect(await changesOf(person)).toEqual(['second_factor_removed', 'second_factor_armed']);
  });
});

describe('a sign-in whose second factor is changed after it was verified', () => {
  const signIn = async ({ user }: Person, totp: string | undefined, during: () => Promise<Answer>) => {
    meanwhile = during;
    const client = { address: '192.0.2.1', userAgent: undefined };
    const match = await replica.dependencies.store.users.findLogin(user.username);
    const credentials = { login: user.username, password: PASSWORD, totp, client, match };
    return createUseCases(replica.dependencies).signIn.signIn(credentials);
  };
  const tokensOf = ({ id }: Person): Promise<number> =>
    harness.database.collection('tokens').countDocuments({ user_id: id });

  test('a sign-in needs a code if a second factor was armed meanwhile', async () => {
    const person = await join(harness);
    const { secret } = (await begin(harness, person)).body;
    const signedIn = signIn(person, undefined, () => arm(harness, person, codeOf(harness, secret)));
    await expect(signedIn).rejects.toMatchObject({ fields: { totp: [{ key: 'auth.totp_required' }] } });
    expect(await tokensOf(person)).toBe(1);
  });

  test('a sign-in needs no code if the second factor was removed meanwhile', async () => {
    const person = await join(harness);
    const { secret, recoveryCodes } = await setUp(harness, person);
    const code = codeOf(harness, secret);
    const { user } = await signIn(person, code, () => disarm(harness, person, recoveryCodes[0]));
    expect(user._id).toBe(person.id);
  });

  test('one of twenty concurrent transactions uses a code', async () => {
    const person = await join(harness);
    await setUp(harness, person);
    const { store } = replica.dependencies;
    const factor = await store.secondFactors.find(person.id);
    const [secret, step, hash] = [
      factor?.secret ?? '',
      (factor?.last_step ?? 0) + 1,
      factor?.recovery_codes[0] ?? '',
    ];
    const uses = [
      (session: ClientSession) => store.secondFactors.acceptStep(session, person.id, secret, step),
      (session: ClientSession) => store.secondFactors.spendRecoveryCode(session, person.id, secret, hash),
    ];
    for (const use of uses) {
      const used = await Promise.all(Array.from({ length: 20 }, () => store.transaction(use)));
      expect(used.filter(Boolean)).toHaveLength(1);
    }
  });

  test('a sign-in whose code was used meanwhile is refused and issues no token', async () => {
    const person = await join(harness);
    const { secret, recoveryCodes } = await setUp(harness, person);
    const code = codeOf(harness, secret);
    const late = signIn(person, code, () => logInWith(harness, person, code));
    await expect(late).rejects.toMatchObject({ fields: { totp: [{ key: 'auth.totp_used' }] } });
    const again = signIn(person, recoveryCodes[1], () => logInWith(harness, person, recoveryCodes[1]));
    await expect(again).rejects.toMatchObject({ fields: { totp: [{ key: 'auth.totp_rejected' }] } });
    // The first session, and the two sign-ins that came first.
    expect(await tokensOf(person)).toBe(3);
  });
});

test('a password reset leaves the second factor on if the phone was proven', async () => {
  const person = await join(harness);
  await harness.database
    .collection('users')
    .updateOne({ _id: person.id as never }, { $set: { phone_proven: true } });
  const { secret } = await setUp(harness, person);
  const reset = issueCode('reset', '12345678', harness.clock.now());
  await harness.database
    .collection('confirmation_codes')
    .updateOne({ _id: person.id as never }, { $set: { reset } }, { upsert: true });
  const body = { login: person.user.username, code: '12345678', password: 'another password of mine' };
  const headers = newAddress();
  expect((await harness.send('POST', '/auth/reset-password', { body, headers })).status).toBe(200);
  const withoutCode = await logInWith(harness, person, undefined, body.password);
  expect([withoutCode.status, withoutCode.body.errors]).toEqual([422, REQUIRED]);
  expect((await logInWith(harness, person, codeOf(harness, secret), body.password)).status).toBe(200);
});

test('an erasure removes the second factor', async () => {
  const [person, administrator] = [await join(harness), await joinAs(harness, 'administrator')];
  await setUp(harness, person);
  const factors = harness.database.collection('second_factors');
  expect(await factors.countDocuments({ _id: person.id as never })).toBe(1);
  const erased = await harness.send('DELETE', `/users/${person.id}`, { as: administrator.caller });
  expect(erased.status).toBe(204);
  expect(await factors.countDocuments({ _id: person.id as never })).toBe(0);
  expect((await begin(harness, person)).status).toBe(401);
  expect(await factors.countDocuments({ _id: person.id as never })).toBe(0);
});

describe('the sign-in page of OAuth', () => {
  const openLogin = async () => {
    const oauth = oauthOf(harness);
    const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
    const browser = oauth.browse();
    return { browser, page: await browser.follow(await browser.get(oauth.authorizeUrl(params))) };
  };
  const FIELD = 'autocomplete="one-time-code"';

  test('the sign-in page asks for a code only after a correct password, and accepts it once', async () => {
    const person = await join(harness);
    const { secret } = await setUp(harness, person);
    const { browser, page } = await openLogin();
    const credentials = { login: person.user.username, password: PASSWORD };
    const submit = (fields: Record<string, string>) => browser.submit(page, 'login', fields);
    const wrongPassword = await submit({ ...credentials, password: 'not the password' });
    expect([wrongPassword.status, wrongPassword.html.includes(FIELD)]).toEqual([422, false]);
    const codePage = await submit(credentials);
    expect([codePage.status, codePage.html.includes(FIELD)]).toEqual([422, true]);
    expect(codePage.html).toContain('Enter a code from your authenticator app');
    expect(codePage.html).not.toContain(PASSWORD);
    const wrong = await submit({ ...credentials, totp: wrongCodeOf(harness, secret) });
    expect([wrong.status, wrong.html.includes('This code is incorrect.')]).toEqual([422, true]);
    const code = codeOf(harness, secret);
    const consent = await browser.follow(await submit({ ...credentials, totp: code }));
    expect(consent.html).toContain('You are signed in as');
    const later = await openLogin();
    const replayed = await later.browser.submit(later.page, 'login', { ...credentials, totp: code });
    expect([replayed.status, replayed.html.includes('already been used')]).toEqual([422, true]);
    expect((await logInWith(harness, person, code)).body.errors).toEqual(USED);
  });

  test('a sign-in without a code is granted nothing once a second factor is set up', async () => {
    const person = await createOauthUser(harness);
    const oauth = oauthOf(harness);
    const client_id = await oauth.newClient();
    const browser = oauth.browse();
    const consent = await oauth.signIn(
      browser,
      { client_id, code_challenge: createPkce().challenge },
      { login: person.login, password: person.password },
    );
    expect(consent.html).toContain('You are signed in as');
    const { secret } = (await begin(harness, person)).body;
    expect((await arm(harness, person, codeOf(harness, secret))).status).toBe(200);
    const { status, location } = await browser.follow(await browser.submit(consent, 'allow'));
    expect([status, location]).toEqual([400, undefined]);
    const grants = { user_id: person.id, _id: /^Grant:/ as never };
    expect(await harness.database.collection('oauth_records').countDocuments(grants)).toBe(0);
  });
});
