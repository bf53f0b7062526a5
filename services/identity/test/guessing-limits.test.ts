/** Passwords cannot be guessed in large numbers, and one address cannot occupy the service. */
import { OAUTH_PATHS } from '@fitness/contracts/oauth.ts';
import { createPkce } from '@fitness/contracts/testing/oauth-client.ts';
import type { Answer } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fromGateway, oauthOf } from './oauth-support.ts';
import {
  type Harness,
  join,
  newAddress,
  PASSWORD,
  type Person,
  registration,
  startHarness,
} from './support.ts';

const WRONG = 'not the password';
const INVALID = 422;
const LIMITED = 429;
/** Small limits; src/config.test.ts has the defaults. */
const LIMITS = {
  LOGINS_PER_ACCOUNT_AND_ADDRESS: '4',
  FAILED_LOGINS_PER_ADDRESS: '5',
  PASSWORD_CHECKS_PER_ACCOUNT: '4',
  REGISTRATIONS_PER_ADDRESS: '3',
  CLIENT_REGISTRATIONS_PER_ADDRESS: '3',
  AUTHORIZATIONS_PER_ADDRESS: '3',
};

let harness: Harness;
/** A demonstration with the cost of password checks in production, and a short queue of them. */
let demo: Harness;
beforeAll(async () => {
  const onlyOne = Object.fromEntries(Object.keys(LIMITS).map((name) => [name, '1']));
  harness = await startHarness(LIMITS);
  demo = await startHarness(
    { ...onlyOne, FAILED_LOGINS_PER_ADDRESS: '300', SEED_DEMO: '1', PASSWORD_QUEUE_MS: '1' },
    { passwordCost: undefined },
  );
});
afterAll(async () => {
  await harness.close();
  await demo.close();
});

const countOf = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

const expectLimited = (answer: Answer, limit: number): void => {
  expect([answer.status, answer.body]).toEqual([
    429,
    { message: 'Too many requests. Please try again later.' },
  ]);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(answer.headers.get('x-ratelimit-limit')).toBe(String(limit));
  expect(answer.headers.get('x-ratelimit-remaining')).toBe('0');
};

const logIn = (login: string, password: string, headers = newAddress()) =>
  harness.send('POST', '/auth/login', { body: { login, password }, headers });

describe('current_password', () => {
  const changePassword = (person: Person, password: string) =>
    harness.send('PUT', '/auth/change-password', {
      as: person.caller,
      body: { current_password: password, password: 'a better password' },
    });
  const changeEmail = (person: Person, password?: string) =>
    harness.send('PUT', '/auth/me', {
      as: person.caller,
      headers: newAddress(),
      body: { email: String(registration().email), current_password: password },
    });

  test('both routes together check current_password exactly as often as its limit for an account', async () => {
    const person = await join(harness);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? changePassword : changeEmail)(person, WRONG),
      ),
    );
    expect([countOf(answers, INVALID), countOf(answers, LIMITED)]).toEqual([4, 16]);
    expectLimited(await changePassword(person, PASSWORD), 4);
    expectLimited(await changeEmail(person, PASSWORD), 4);
  });

  test('the limit of current_password spares other requests, the deletion and other accounts', async () => {
    const [person, other] = [await join(harness), await join(harness)];
    // A missing password is no check.
    for (let call = 1; call <= 2; call += 1) expect((await changeEmail(person)).status).toBe(INVALID);
    for (let call = 1; call <= 4; call += 1)
      expect((await changePassword(person, WRONG)).status).toBe(INVALID);
    expect((await changePassword(person, PASSWORD)).status).toBe(LIMITED);
    const as = person.caller;
    expect((await harness.send('PUT', '/auth/me', { as, body: { height: 180 } })).status).toBe(200);
    const body = { current_password: WRONG };
    expect((await harness.send('POST', '/auth/delete-account', { as, body })).status).toBe(INVALID);
    expect((await changePassword(other, PASSWORD)).status).toBe(200);
  });
});

describe('sign-ins', () => {
  test('an account and an address have an exact limit of sign-ins over all of its names', async () => {
    const person = await join(harness);
    const names = [person.user.username, person.user.email, person.user.phone];
    const address = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => logIn(names[index % 3], WRONG, address)),
    );
    expect([countOf(answers, INVALID), countOf(answers, LIMITED)]).toEqual([4, 16]);
    for (const name of names) expectLimited(await logIn(name, PASSWORD, address), 4);
    expect((await logIn(person.user.email, PASSWORD)).status).toBe(200);
  });

  test('an address is limited over all accounts, and then even a correct password is refused', async () => {
    const person = await join(harness);
    const address = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => logIn(`somebody.${index}`, WRONG, address)),
    );
    expect([countOf(answers, INVALID), countOf(answers, LIMITED)]).toEqual([5, 15]);
    expectLimited(await logIn(person.user.username, PASSWORD, address), 5);
    expect((await logIn(person.user.username, PASSWORD)).status).toBe(200);
  });

  test('all addresses of an IPv6 network share one limit of failed sign-ins', async () => {
    const from = (address: string) => ({ 'x-client-address': address });
    const answers = [];
    for (let call = 1; call <= 6; call += 1) {
      answers.push(await logIn(`nobody.${call}`, WRONG, from(`2001:db8:1:2::${call}`)));
    }
    expect(answers.map(({ status }) => status)).toEqual([...Array(5).fill(INVALID), LIMITED]);
    expect((await logIn('nobody', WRONG, from('2001:db8:1:3::1'))).status).toBe(INVALID);
  });

  test('correct passwords do not count as failed sign-ins', async () => {
    const people = [await join(harness), await join(harness)];
    const address = newAddress();
    for (const { user } of [...people, ...people, ...people]) {
      expect((await logIn(user.username, PASSWORD, address)).status).toBe(200);
    }
    const wrong = [];
    for (let call = 1; call <= 6; call += 1) wrong.push(await logIn(`other.${call}`, WRONG, address));
    expect(wrong.map(({ status }) => status)).toEqual([...Array(5).fill(INVALID), LIMITED]);
  });
});

type Address = ReturnType<typeof newAddress>;

const register = (at: Harness, headers: Address, as?: Person['caller']) =>
  at.send('POST', '/auth/register', {
    body: registration(),
    headers,
    ...(as === undefined ? {} : { as }),
  });

describe('registrations from an address', () => {
  test('an address has an exact hourly limit of registrations, even for signed-in callers', async () => {
    const address = newAddress();
    const answers = await Promise.all(Array.from({ length: 10 }, () => register(harness, address)));
    expect([countOf(answers, 201), countOf(answers, LIMITED)]).toEqual([3, 7]);
    const refused = await register(harness, address, (await join(harness)).caller);
    expectLimited(refused, 3);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000);
    expect((await register(harness, newAddress())).status).toBe(201);
  });

  test('registrations are limited before their body is validated', async () => {
    const headers = newAddress();
    const statuses = [];
    for (let call = 1; call <= 4; call += 1)
      statuses.push(
        (await harness.send('POST', '/auth/register', { body: { username: 7 }, headers })).status,
      );
    expect(statuses).toEqual([422, 422, 422, LIMITED]);
  });
});

const changeNames = (at: Harness, person: Person, headers: Address, body: Record<string, unknown>) =>
  at.send('PUT', '/auth/me', {
    as: person.caller,
    headers,
    body: { current_password: PASSWORD, ...body },
  });

describe('new usernames, emails and phones of accounts, from an address', () => {
  test('an address has an exact hourly limit of name changes, whether the names are taken or not', async () => {
    const [one, other] = [await join(harness), await join(harness)];
    const address = newAddress();
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => changeNames(harness, one, address, { email: other.user.email })),
      ...Array.from({ length: 4 }, () => changeNames(harness, other, address, { phone: one.user.phone })),
    ]);
    expect([countOf(answers, INVALID), countOf(answers, LIMITED)]).toEqual([3, 5]);
    const free = String(registration().username);
    for (const username of [one.user.username, free])
      expectLimited(await changeNames(harness, other, address, { username }), 3);
    expect((await changeNames(harness, other, newAddress(), { username: free })).body.user.username).toBe(
      free,
    );
  });

  test('a request that changes none of the names is not counted', async () => {
    const person = await join(harness);
    const address = newAddress();
    const { username, email, phone } = person.user;
    const form = {
      username,
      email: email.toUpperCase(),
      phone: phone.replace('+98', '0'),
      first_name: 'Other',
    };
    for (let call = 1; call <= 4; call += 1) {
      const body = { ...form, current_password: undefined };
      expect((await changeNames(harness, person, address, body)).status).toBe(200);
    }
  });
});

const registerClient = async (at: Harness, { 'x-client-address': address }: Address) => {
  const answer = await fetch(`${at.url}${OAUTH_PATHS.register}`, {
    method: 'POST',
    headers: {
      ...(await fromGateway()),
      'x-client-address': address,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ client_name: 'A client', redirect_uris: ['https://client.example/callback'] }),
  });
  return { answer, body: (await answer.json()) as Record<string, unknown> };
};

const authorize = async (
  at: Harness,
  client_id: string,
  { 'x-client-address': address }: Address,
  state = 'state',
) => {
  const params = { client_id, code_challenge: createPkce().challenge, state };
  return fetch(`${at.url}${oauthOf(at).authorizeUrl(params)}`, {
    redirect: 'manual',
    headers: { ...(await fromGateway()), 'x-client-address': address },
  });
};

describe('OAuth clients at an address', () => {
  test('an address has an exact hourly limit of client registrations', async () => {
    const address = newAddress();
    const statuses = await Promise.all(
      Array.from({ length: 10 }, async () => (await registerClient(harness, address)).answer.status),
    );
    expect(statuses.sort()).toEqual([...Array(3).fill(201), ...Array(7).fill(LIMITED)]);
    const { answer, body } = await registerClient(harness, address);
    expect(body).toEqual({ message: 'Too many requests. Please try again later.' });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(3_000);
    expect((await oauthOf(harness).register()).status).toBe(201);
  });

  test('an address has an exact limit of authorizations; refused and too long requests store nothing', async () => {
    const stored = (): Promise<number> =>
      harness.database.collection('oauth_records').countDocuments({ _id: /^Interaction/ as never });
    const client = await oauthOf(harness).newClient();
    const address = newAddress();
    const long = await authorize(harness, client, address, 'x'.repeat(4_096));
    expect([long.status, long.headers.get('content-type')]).toEqual([
      400,
      expect.stringContaining('text/html'),
    ]);
    expect(await stored()).toBe(0);
    const answers = await Promise.all(Array.from({ length: 10 }, () => authorize(harness, client, address)));
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array(3).fill(303),
      ...Array(7).fill(LIMITED),
    ]);
    expect(await stored()).toBe(3);
    const other = await authorize(harness, client, newAddress(), 'x'.repeat(3_000));
    expect(other.status).toBe(303);
  });
});

describe('a demonstration', () => {
  test('registrations, name changes, clients and authorizations are unlimited for demonstrations', async () => {
    const headers = newAddress();
    const person = await join(demo, {}, headers);
    expect((await register(demo, headers)).status).toBe(201);
    for (let call = 1; call <= 2; call += 1) {
      const body = { username: String(registration().username), current_password: undefined };
      expect((await changeNames(demo, person, headers, body)).status).toBe(200);
      expect((await registerClient(demo, headers)).answer.status).toBe(201);
    }
    const client = await oauthOf(demo).newClient();
    for (let call = 1; call <= 2; call += 1)
      expect((await authorize(demo, client, headers)).status).toBe(303);
  });
});

test('sign-ins that find the queue of password checks full return 503 with Retry-After', async () => {
  const address = newAddress();
  const attempt = (index: number) =>
    demo.send('POST', '/auth/login', {
      body: { login: `somebody.${index}`, password: WRONG },
      headers: address,
    });
  // With the cost of production, a check takes longer than the queue allows.
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => attempt(index)));
  const refused = answers.filter(({ status }) => status !== INVALID);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, headers } of refused) {
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  }
  expect((await attempt(40)).status).toBe(INVALID);
});
