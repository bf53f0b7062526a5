/** Strangers can neither keep owners from recovering or deleting their accounts nor send unlimited SMS. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Answer, eventually, testConfig } from '@fitness/shared/testing/harness.ts';
import { startTcpProxy, type TcpProxy } from '@fitness/shared/testing/tcp-proxy.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SmsSandbox, startSmsSandbox } from './sms-sandbox.ts';
import {
  type Harness,
  join,
  joinAs,
  logIn,
  newAddress,
  PASSWORD,
  type Person,
  registration,
  startHarness,
} from './support.ts';

/** Small limits; src/config.test.ts has the defaults. */
const LIMITS = {
  RESETS_PER_ACCOUNT: '6',
  RESETS_PER_ADDRESS: '3',
  RESETS_PER_ACCOUNT_AND_ADDRESS: '2',
  RESET_CODE_TRIES: '1',
  RESET_CODE_TRIES_IN_ALL: '3',
  SMS_ANONYMOUS_PER_PHONE: '2',
  SMS_SIGNED_IN_PER_PHONE: '2',
  SMS_COUNTRIES: 'IR,DE',
};

let sandbox: SmsSandbox;
let harness: Harness;
/** A service whose connection to MongoDB can be cut. */
let withoutRedis: Harness;
let database: TcpProxy;
beforeAll(async () => {
  sandbox = await startSmsSandbox();
  database = await startTcpProxy(String(testConfig('identity').MONGODB_URI));
  const sms = { KAVENEGAR_BASE_URL: sandbox.kavenegarUrl };
  harness = await startHarness({ ...sms, ...LIMITS });
  withoutRedis = await startHarness(
    { ...sms, REDIS_URL: 'redis://127.0.0.1:1', MONGODB_URI: database.uri },
    { databaseWaitMs: 1_000 },
  );
});
afterAll(async () => {
  await harness.close();
  await withoutRedis.close();
  await database.close();
  await sandbox.close();
});

type Address = ReturnType<typeof newAddress>;

const forgot = (login: string, headers: Address = newAddress(), at = harness): Promise<Answer> =>
  at.send('POST', '/auth/forgot-password', { body: { login }, headers });

const reset = (
  login: string,
  code = '00000000',
  headers: Address = newAddress(),
  at = harness,
): Promise<Answer> =>
  at.send('POST', '/auth/reset-password', {
    body: { login, code, password: 'a whole new password' },
    headers,
  });

const deleteAccount = ({ caller }: Person, password = 'not the password', at = harness) =>
  at.send('POST', '/auth/delete-account', { as: caller, body: { current_password: password } });

const codesOf = async ({ user }: Person): Promise<(string | null)[]> =>
  (await sandbox.received(user.phone)).map(({ code }) => code);

const waitForCode = async ({ user }: Person, count = 1): Promise<string> => {
  await sandbox.waitFor(user.phone, count);
  return sandbox.newestCode(user.phone);
};

/** Waits until every earlier request for a reset is handled, because responses do not wait for their SMS. */
const settle = async (): Promise<void> => {
  const other = await join(harness);
  await forgot(other.user.username);
  await waitForCode(other);
};

/** A person with a valid reset code, which was requested from this address. */
const requested = async (address = newAddress()): Promise<{ login: string; code: string }> => {
  const person = await join(harness);
  await forgot(person.user.username, address);
  return { login: person.user.username, code: await waitForCode(person) };
};

describe('the five calls a minute of an account', () => {
  test.each([
    ['with Redis', () => harness],
    ['without Redis', () => withoutRedis],
  ])('strangers use up at most two of the five calls, %s: the owner always has three', async (_how, at) => {
    const person = await join(at());
    const attempts = Array.from({ length: 20 }, () =>
      reset(person.user.username, undefined, newAddress(), at()),
    );
    for (const { status } of await Promise.all(attempts)) expect(status).toBe(422);
    const own = await Promise.all(Array.from({ length: 10 }, () => deleteAccount(person, undefined, at())));
    expect(own.map(({ status }) => status).sort()).toEqual([...Array(3).fill(422), ...Array(7).fill(429)]);
  });

  test('every call counts, whatever the kind of its token', async () => {
    const person = await join(harness);
    const call = (tokenKind: Person['caller']['tokenKind']) =>
      deleteAccount({ ...person, caller: { ...person.caller, tokenKind } });
    for (const kind of ['session', 'personal', 'restricted', 'oauth', 'session'] as const)
      expect((await call(kind)).status).toBe(422);
    const refused = await call('oauth');
    expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toEqual([429, '5']);
  });

  test('calls that the owner has used up are not available to strangers either', async () => {
    const home = newAddress();
    const person = await join(harness, {}, home);
    await forgot(person.user.username);
    const code = await waitForCode(person);
    for (let call = 2; call <= 5; call += 1) expect((await deleteAccount(person)).status).toBe(422);
    expect((await reset(person.user.username, code)).status).toBe(422);
    // The budget of SMS allows another one to this network.
    await forgot(person.user.username, home);
    await settle();
    expect(await codesOf(person)).toEqual([code]);
  });

  test('five requests of strangers leave the owner both phases of a deletion', async () => {
    const person = await join(harness);
    for (let call = 1; call <= 5; call += 1) await forgot(person.user.username);
    await waitForCode(person);
    expect((await deleteAccount(person, PASSWORD)).status).toBe(200);
    const body = { current_password: PASSWORD, confirmation_code: await waitForCode(person, 2) };
    const answer = await harness.send('POST', '/auth/delete-account', { as: person.caller, body });
    expect(answer.status).toBe(202);
  });
});

describe('the SMS to a phone', () => {
  test('one SMS a day is reserved for networks from which the account was registered or signed in', async () => {
    const [home, office] = [newAddress(), newAddress()];
    const [registered, signedIn] = [await join(harness, {}, home), await join(harness)];
    const body = { login: signedIn.user.email, password: PASSWORD };
    expect((await harness.send('POST', '/auth/login', { body, headers: office })).status).toBe(200);
    for (const [person, known] of [
      [registered, home],
      [signedIn, office],
    ] as const) {
      const { username } = person.user;
      for (let call = 1; call <= 3; call += 1) await forgot(username);
      await waitForCode(person);
      await settle();
      expect(await codesOf(person)).toHaveLength(1);
      await forgot(username, known);
      await waitForCode(person, 2);
      // Two SMS are the limit of a day.
      await forgot(username, known);
    }
    await settle();
    const [code = ''] = await codesOf(signedIn);
    expect([(await codesOf(registered)).length, (await codesOf(signedIn)).length]).toEqual([2, 2]);
    expect((await reset(signedIn.user.username, String(code))).status).toBe(200);
    // A signed-in owner still gets a code.
    expect((await deleteAccount(registered, PASSWORD)).status).toBe(200);
    expect(await codesOf(registered)).toHaveLength(3);
  });

  test('a phone has a daily limit of signed-in SMS, and a refused call has no effect', async () => {
    const person = await join(harness);
    for (let call = 1; call <= 2; call += 1) expect((await deleteAccount(person, PASSWORD)).status).toBe(200);
    const code = await waitForCode(person, 2);
    const refused = await deleteAccount(person, PASSWORD);
    expect([refused.status, refused.body]).toEqual([
      429,
      { message: 'Too many requests. Please try again later.' },
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000);
    expect(await codesOf(person)).toHaveLength(2);
    const body = { current_password: PASSWORD, confirmation_code: code };
    const answer = await harness.send('POST', '/auth/delete-account', { as: person.caller, body });
    expect(answer.status).toBe(202);
  });
});

describe('the limits of anonymous calls', () => {
  test('an account’s limit spans all addresses, and refused calls of an address do not count', async () => {
    const one = await requested();
    for (let call = 2; call <= 5; call += 1) await forgot(one.login);
    expect((await reset(one.login, one.code)).status).toBe(200);
    const other = await requested();
    for (let call = 2; call <= 6; call += 1) await forgot(other.login);
    await settle();
    expect((await reset(other.login, other.code)).status).toBe(422);

    const third = await requested();
    const spent = newAddress();
    for (let call = 1; call <= 3; call += 1) await reset(`nobody.${call}`, undefined, spent);
    for (let call = 1; call <= 6; call += 1) await reset(third.login, undefined, spent);
    expect((await reset(third.login, third.code)).status).toBe(200);
  });

  test('an address’s limit spans all accounts', async () => {
    const { login, code } = await requested();
    const address = newAddress();
    for (let call = 1; call <= 3; call += 1) await reset(`somebody.${call}`, undefined, address);
    expect((await reset(login, code, address)).status).toBe(422);
    expect((await reset(login, code)).status).toBe(200);
  });

  test('an address has its own limit of calls for one account, which spares those of others', async () => {
    const address = newAddress();
    const { login, code } = await requested(address);
    await forgot(login, address);
    await settle();
    // Calls that this limit refuses do not use up that of the account.
    for (let call = 1; call <= 6; call += 1) expect((await reset(login, code, address)).status).toBe(422);
    expect((await reset(login, code)).status).toBe(200);
  });

  test('responses are the same whichever limit is reached and whether or not the account exists', async () => {
    const { username } = (await join(harness)).user;
    const address = newAddress();
    for (const [call, status] of [
      [forgot, 200],
      [(login: string, from?: Address) => reset(login, undefined, from), 422],
    ] as const) {
      const answers = [await call(username), await call('nobody')];
      // Exceeds the two calls of an account and an address, then the three of the address, then the six of the account.
      for (let n = 1; n <= 4; n += 1) answers.push(await call(username, address));
      answers.push(await call('nobody', address));
      for (let n = 1; n <= 4; n += 1) answers.push(await call(username));
      for (const answer of answers) {
        expect([answer.status, answer.text]).toEqual([status, answers[0]?.text]);
        expect(answer.headers.get('retry-after')).toBeNull();
        expect(answer.headers.get('x-ratelimit-remaining')).toBeNull();
      }
    }
  });
});

describe('the attempts at a reset code', () => {
  test('an owner’s code survives wrong codes from other networks, until all have used their attempts', async () => {
    const [one, other] = [await requested(), await requested()];
    for (let network = 1; network <= 2; network += 1) await reset(one.login);
    expect((await reset(one.login, one.code)).status).toBe(200);
    for (let network = 1; network <= 3; network += 1) await reset(other.login);
    expect((await reset(other.login, other.code)).status).toBe(422);
  });

  test('a network has its own attempts at a code, even with many addresses of an IPv6 network', async () => {
    const { login, code } = await requested();
    await reset(login, undefined, { 'x-client-address': '2001:db8:7:7::1' });
    expect((await reset(login, code, { 'x-client-address': '2001:db8:7:7::2' })).status).toBe(422);
    expect((await reset(login, code, { 'x-client-address': '2001:db8:7:8::1' })).status).toBe(200);
  });
});

describe('forgot-password and reset-password with a token of the account', () => {
  const calling =
    (person: Person) =>
    (tokenKind: Person['caller']['tokenKind']): Person['caller'] => ({ ...person.caller, tokenKind });
  const forgotAs = (as: Person['caller'], login: string) =>
    harness.send('POST', '/auth/forgot-password', { as, body: { login }, headers: newAddress() });
  const resetAs = (as: Person['caller'], login: string, code = '00000000') =>
    harness.send('POST', '/auth/reset-password', {
      as,
      body: { login, code, password: 'a whole new password' },
      headers: newAddress(),
    });

  test('reset calls with any token share the limit of the deletion, by every name of the account', async () => {
    const person = await join(harness);
    const by = calling(person);
    const { username, email, phone } = person.user;
    expect((await forgotAs(by('session'), username)).status).toBe(200);
    expect((await forgotAs(by('oauth'), email.toUpperCase())).status).toBe(200);
    expect((await resetAs(by('personal'), phone.replace('+98', '0'))).status).toBe(422);
    expect((await resetAs(by('restricted'), username)).status).toBe(422);
    expect((await deleteAccount({ ...person, caller: by('oauth') })).status).toBe(422);
    const refused = [
      await forgotAs(by('personal'), username),
      await forgotAs(by('restricted'), username),
      await resetAs(by('session'), email),
      await resetAs(by('oauth'), email),
      await deleteAccount(person),
    ];
    for (const { status, body, headers } of refused) {
      expect([status, body]).toEqual([429, { message: 'Too many requests. Please try again later.' }]);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['5', '0']);
    }
  });

  test('reset calls of apps and restricted tokens get the same responses for every login', async () => {
    const [own, stranger, other] = [await join(harness), await join(harness), await join(harness)];
    const callAll = async (person: Person, login: string) => {
      const by = calling(person);
      const answers = [];
      for (const kind of ['restricted', 'oauth', 'restricted'] as const)
        answers.push(await resetAs(by(kind), login));
      for (const kind of ['oauth', 'restricted', 'oauth', 'restricted'] as const)
        answers.push(await forgotAs(by(kind), login));
      return answers.map(({ status, text, headers }) => [
        status,
        text,
        headers.get('retry-after') !== null,
        headers.get('x-ratelimit-remaining'),
      ]);
    };
    const answers = await callAll(own, own.user.phone);
    expect(answers.map(([status]) => status)).toEqual([422, 422, 422, 200, 200, 429, 429]);
    expect(await callAll(stranger, other.user.phone)).toEqual(answers);
    expect(await callAll(await join(harness), 'nobody@example.com')).toEqual(answers);
  });

  test('SMS for calls of apps and restricted tokens use the anonymous limit and not that of the user', async () => {
    const person = await join(harness);
    const { username } = person.user;
    const by = calling(person);
    expect((await forgotAs(by('restricted'), username)).status).toBe(200);
    const code = await waitForCode(person);
    for (const kind of ['oauth', 'restricted', 'oauth'] as const)
      expect((await forgotAs(by(kind), username)).status).toBe(200);
    await settle();
    expect(await codesOf(person)).toEqual([code]);
    // The fifth call is still within the limit.
    expect((await resetAs(by('oauth'), username, code)).status).toBe(200);
  });

  test('calls for another user’s account are anonymous, and only two of them a minute count', async () => {
    const [person, other] = [await join(harness), await join(harness)];
    for (const login of [other.user.username, 'nobody']) {
      for (let call = 1; call <= 3; call += 1) {
        expect((await forgotAs(person.caller, login)).status).toBe(200);
        expect((await resetAs(person.caller, login)).status).toBe(422);
      }
    }
    expect((await deleteAccount(person)).status).toBe(422);
    for (let call = 1; call <= 3; call += 1) expect((await deleteAccount(other)).status).toBe(422);
    expect((await deleteAccount(other)).status).toBe(429);
  });

  test('owners with a token can reset after strangers have used up the anonymous calls', async () => {
    const person = await join(harness);
    const { username } = person.user;
    for (let call = 1; call <= 7; call += 1) await forgot(username);
    await settle();
    expect(await codesOf(person)).toHaveLength(1);
    expect((await forgotAs(person.caller, username)).status).toBe(200);
    expect((await resetAs(person.caller, username, await waitForCode(person, 2))).status).toBe(200);
  });
});

test('a reset code can be copied with format characters and white space', async () => {
  const { login, code } = await requested();
  expect((await reset(login, `\u200e${code}\u200f `)).status).toBe(200);
});

describe('a phone that receives no SMS', () => {
  const [GERMAN, FRENCH, LANDLINE] = ['+4915112345678', '+33612345678', '+982188776655'];

  test.each([
    [FRENCH, 'Phone numbers from this country are not accepted.'],
    ['021-8877 6655', 'A landline cannot receive SMS messages. Enter a mobile number.'],
  ])('the phone %s is refused at registration and wherever a phone is changed', async (phone, text) => {
    const [person, operator] = [await join(harness), await joinAs(harness, 'operator')];
    const body = { phone, current_password: PASSWORD };
    for (const { status, body: answer } of [
      await harness.send('POST', '/auth/register', { body: registration({ phone }), headers: newAddress() }),
      await harness.send('PUT', '/auth/me', { as: person.caller, body }),
      await harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body }),
    ])
      expect([status, answer.errors]).toEqual([422, { phone: [text] }]);
  });

  test('an existing foreign phone or landline can be kept, and used to sign in', async () => {
    const person = await join(harness);
    const { database } = harness;
    for (const [phone, typed] of [
      [FRENCH, FRENCH],
      [LANDLINE, '021 8877 6655'],
    ] as const) {
      await database.collection('users').updateOne({ _id: person.id as never }, { $set: { phone } });
      await database
        .collection('login_keys')
        .insertOne({ _id: `phone:${phone}` as never, user_id: person.id });
      const body = { phone: typed, first_name: 'Other' };
      const answer = await harness.send('PUT', '/auth/me', { as: person.caller, body });
      expect([answer.status, answer.body.user]).toMatchObject([200, { first_name: 'Other', phone }]);
      expect((await logIn(harness, typed)).body.user.id).toBe(person.id);
    }
  });

  test('a foreign phone is accepted when its country is configured', async () => {
    expect((await join(harness, { phone: GERMAN })).user.phone).toBe(GERMAN);
  });
});

/** Holds requests to the SMS provider until `release`. */
const startHeldSms = async () => {
  const released = Promise.withResolvers<void>();
  let heldCount = 0;
  const server = createServer(async (request, response) => {
    const body = await text(request);
    heldCount += 1;
    await released.promise;
    const headers = { 'content-type': String(request.headers['content-type']) };
    const url = `${sandbox.kavenegarUrl}${String(request.url).replace('/kavenegar', '')}`;
    const answer = await fetch(url, { method: 'POST', headers, body });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/kavenegar`,
    heldCount: () => heldCount,
    release: () => released.resolve(),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
};

test('a response does not wait for its SMS, and a stopping process sends requested codes first', async () => {
  const sms = await startHeldSms();
  // Deadlines longer than the test holds the SMS.
  const patient = { KAVENEGAR_TIMEOUT_MS: '60000', SMS_DEADLINE_MS: '60000' };
  const stopping = await startHarness({ KAVENEGAR_BASE_URL: sms.url, ...patient });
  const person = await join(stopping);
  expect((await forgot(person.user.username, undefined, stopping)).status).toBe(200);
  await eventually(() => sms.heldCount() === 1);
  let isClosed = false;
  const closed = stopping.close().then(() => {
    isClosed = true;
  });
  await eventually(() =>
    fetch(`${stopping.url}/health/live`).then(
      () => false,
      () => true,
    ),
  );
  expect(isClosed).toBe(false);
  sms.release();
  await closed;
  expect(await codesOf(person)).toHaveLength(1);
  await sms.close();
});

test('a request that cannot be counted returns 503 for known and unknown accounts', async () => {
  const person = await join(withoutRedis);
  database.cut();
  try {
    for (const login of [person.user.username, 'nobody'])
      expect((await forgot(login, undefined, withoutRedis)).status).toBe(503);
  } finally {
    database.restore();
  }
  await eventually(async () => (await forgot(person.user.username, undefined, withoutRedis)).status === 200);
  await waitForCode(person);
});
