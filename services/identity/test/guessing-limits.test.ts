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

const NO_REDIS = { REDIS_URL: 'redis://127.0.0.1:1' };
const WRONG = 'not the password';
const INVALID = 422;
const LIMITED = 429;

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

const logIn = (harness: Harness, login: string, password: string, headers = newAddress()) =>
  harness.send('POST', '/auth/login', { body: { login, password }, headers });

describe.each([
  ['with Redis', {}],
  ['without Redis', NO_REDIS],
])('current_password, %s', (_name, env) => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness(env);
  });
  afterAll(() => harness.close());

  const changePassword = (person: Person, password: string) =>
    harness.send('PUT', '/auth/change-password', {
      as: person.caller,
      body: { current_password: password, password: 'a better password' },
    });
  const changeEmail = (person: Person, password?: string) =>
    harness.send('PUT', '/auth/me', {
      as: person.caller,
      body: { email: String(registration().email), current_password: password },
    });

  test('both routes together check current_password exactly ten times a minute for an account', async () => {
    const person = await join(harness);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? changePassword : changeEmail)(person, WRONG),
      ),
    );
    expect([countOf(answers, INVALID), countOf(answers, LIMITED)]).toEqual([10, 10]);
    expectLimited(await changePassword(person, PASSWORD), 10);
    expectLimited(await changeEmail(person, PASSWORD), 10);
  });

  test('the limit of current_password spares other requests, the deletion and other accounts', async () => {
    const [person, other] = [await join(harness), await join(harness)];
    for (let call = 1; call <= 3; call += 1) expect((await changeEmail(person)).status).toBe(INVALID);
    await Promise.all(Array.from({ length: 10 }, () => changePassword(person, WRONG)));
    expect((await changePassword(person, PASSWORD)).status).toBe(LIMITED);
    const as = person.caller;
    expect((await harness.send('PUT', '/auth/me', { as, body: { height: 180 } })).status).toBe(200);
    const body = { current_password: WRONG };
    expect((await harness.send('POST', '/auth/delete-account', { as, body })).status).toBe(INVALID);
    expect((await changePassword(other, PASSWORD)).status).toBe(200);
  });
});

describe('sign-ins of an account and an address', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness.close());

  test('an account and an address have exactly ten sign-ins a minute over all of its names', async () => {
    const person = await join(harness);
    const names = [person.user.username, person.user.email, person.user.phone];
    const address = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 21 }, (_, index) => logIn(harness, names[index % 3], WRONG, address)),
    );
    expect([countOf(answers, INVALID), countOf(answers, LIMITED)]).toEqual([10, 11]);
    for (const name of names) expectLimited(await logIn(harness, name, PASSWORD, address), 10);
    expect((await logIn(harness, person.user.email, PASSWORD)).status).toBe(200);
  });
});

describe.each([
  ['with Redis', {}],
  ['without Redis', NO_REDIS],
])('failed sign-ins of an address, %s', (_name, env) => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ FAILED_LOGINS_PER_ADDRESS: '5', ...env });
  });
  afterAll(() => harness.close());

  test('an address is limited over all accounts, and then even a correct password is refused', async () => {
    const person = await join(harness);
    const address = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => logIn(harness, `somebody.${index}`, WRONG, address)),
    );
    expect([countOf(answers, INVALID), countOf(answers, LIMITED)]).toEqual([5, 15]);
    expectLimited(await logIn(harness, person.user.username, PASSWORD, address), 5);
    expect((await logIn(harness, person.user.username, PASSWORD)).status).toBe(200);
  });

  test('all addresses of an IPv6 network share one limit of failed sign-ins', async () => {
    const from = (address: string) => ({ 'x-client-address': address });
    const answers = [];
    for (let call = 1; call <= 6; call += 1) {
      answers.push(await logIn(harness, `nobody.${call}`, WRONG, from(`2001:db8:1:2::${call}`)));
    }
    expect(answers.map(({ status }) => status)).toEqual([...Array(5).fill(INVALID), LIMITED]);
    expect((await logIn(harness, 'nobody', WRONG, from('2001:db8:1:3::1'))).status).toBe(INVALID);
  });

  test('correct passwords do not count as failed sign-ins', async () => {
    const people = await Promise.all(Array.from({ length: 8 }, () => join(harness)));
    const address = newAddress();
    for (const { user } of people) {
      expect((await logIn(harness, user.username, PASSWORD, address)).status).toBe(200);
    }
    const wrong = [];
    for (let call = 1; call <= 6; call += 1)
      wrong.push(await logIn(harness, `other.${call}`, WRONG, address));
    expect(wrong.map(({ status }) => status)).toEqual([...Array(5).fill(INVALID), LIMITED]);
  });
});

describe('registrations from an address', () => {
  const from = (harness: Harness, headers: ReturnType<typeof newAddress>, as?: Person['caller']) =>
    harness.send('POST', '/auth/register', {
      body: registration(),
      headers,
      ...(as === undefined ? {} : { as }),
    });

  test('an address has an exact hourly limit of registrations, even for signed-in callers', async () => {
    const harness = await startHarness({ REGISTRATIONS_PER_ADDRESS: '3' });
    try {
      const address = newAddress();
      const answers = await Promise.all(Array.from({ length: 10 }, () => from(harness, address)));
      expect([countOf(answers, 201), countOf(answers, LIMITED)]).toEqual([3, 7]);
      const refused = await from(harness, address, (await join(harness)).caller);
      expectLimited(refused, 3);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000);
      expect((await from(harness, newAddress())).status).toBe(201);
    } finally {
      await harness.close();
    }
  });

  test('registrations are limited before their body is validated', async () => {
    const harness = await startHarness({ REGISTRATIONS_PER_ADDRESS: '2' });
    try {
      const headers = newAddress();
      const send = () => harness.send('POST', '/auth/register', { body: { username: 7 }, headers });
      expect([await send(), await send(), await send()].map(({ status }) => status)).toEqual([
        422,
        422,
        LIMITED,
      ]);
    } finally {
      await harness.close();
    }
  });

  test('registrations are unlimited for demonstrations', async () => {
    const harness = await startHarness({ REGISTRATIONS_PER_ADDRESS: '1', SEED_DEMO: '1' });
    try {
      const address = newAddress();
      for (let call = 1; call <= 3; call += 1) expect((await from(harness, address)).status).toBe(201);
    } finally {
      await harness.close();
    }
  });
});

describe('new usernames, emails and phones of accounts, from an address', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ REGISTRATIONS_PER_ADDRESS: '3' });
  });
  afterAll(() => harness.close());

  const put = (person: Person, headers: ReturnType<typeof newAddress>, body: Record<string, unknown>) =>
    harness.send('PUT', '/auth/me', {
      as: person.caller,
      headers,
      body: { current_password: PASSWORD, ...body },
    });

  test('an address has an exact hourly limit of name changes, whether the names are taken or not', async () => {
    const [one, other] = [await join(harness), await join(harness)];
    const address = newAddress();
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => put(one, address, { email: other.user.email })),
      ...Array.from({ length: 4 }, () => put(other, address, { phone: one.user.phone })),
    ]);
    expect([countOf(answers, INVALID), countOf(answers, LIMITED)]).toEqual([3, 5]);
    const free = String(registration().username);
    for (const username of [one.user.username, free])
      expectLimited(await put(other, address, { username }), 3);
    expect((await put(other, newAddress(), { username: free })).body.user.username).toBe(free);
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
    for (let call = 1; call <= 5; call += 1) {
      const body = { ...form, current_password: undefined };
      expect((await put(person, address, body)).status).toBe(200);
    }
  });

  test('name changes are unlimited for demonstrations', async () => {
    const demo = await startHarness({ REGISTRATIONS_PER_ADDRESS: '1', SEED_DEMO: '1' });
    try {
      const person = await join(demo);
      const headers = newAddress();
      for (let call = 1; call <= 3; call += 1) {
        const body = { username: String(registration().username) };
        const answer = await demo.send('PUT', '/auth/me', { as: person.caller, headers, body });
        expect(answer.status).toBe(200);
      }
    } finally {
      await demo.close();
    }
  });
});

describe('registrations of OAuth clients from an address', () => {
  const register = async (harness: Harness, address: string) => {
    const answer = await fetch(`${harness.url}${OAUTH_PATHS.register}`, {
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

  test('an address has an exact hourly limit of client registrations', async () => {
    const harness = await startHarness({ CLIENT_REGISTRATIONS_PER_ADDRESS: '3' });
    try {
      const statuses = await Promise.all(
        Array.from({ length: 10 }, async () => (await register(harness, '192.0.2.1')).answer.status),
      );
      expect(statuses.sort()).toEqual([...Array(3).fill(201), ...Array(7).fill(LIMITED)]);
      const { answer, body } = await register(harness, '192.0.2.1');
      expect(body).toEqual({ message: 'Too many requests. Please try again later.' });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(3_000);
      expect((await oauthOf(harness).register()).status).toBe(201);
    } finally {
      await harness.close();
    }
  });

  test('client registrations are unlimited for demonstrations', async () => {
    const harness = await startHarness({ CLIENT_REGISTRATIONS_PER_ADDRESS: '1', SEED_DEMO: '1' });
    try {
      for (let call = 1; call <= 3; call += 1) {
        expect((await register(harness, '192.0.2.1')).answer.status).toBe(201);
      }
    } finally {
      await harness.close();
    }
  });
});

describe('requests for an OAuth authorization from an address', () => {
  const stored = (harness: Harness): Promise<number> =>
    harness.database.collection('oauth_records').countDocuments({ _id: /^Interaction/ as never });

  const authorize = async (harness: Harness, address: string, state = 'state') => {
    const client = oauthOf(harness);
    const params = { client_id: await clientOf(harness), code_challenge: createPkce().challenge, state };
    return fetch(`${harness.url}${client.authorizeUrl(params)}`, {
      redirect: 'manual',
      headers: { ...(await fromGateway()), 'x-client-address': address },
    });
  };
  const clients = new Map<Harness, Promise<string>>();
  const clientOf = (harness: Harness): Promise<string> => {
    const client = clients.get(harness) ?? oauthOf(harness).newClient();
    clients.set(harness, client);
    return client;
  };

  test('an address has an exact limit of authorizations; refused and too long requests store nothing', async () => {
    const harness = await startHarness({ AUTHORIZATIONS_PER_ADDRESS: '3' });
    try {
      const long = await authorize(harness, '192.0.2.1', 'x'.repeat(4_096));
      expect([long.status, long.headers.get('content-type')]).toEqual([
        400,
        expect.stringContaining('text/html'),
      ]);
      expect(await stored(harness)).toBe(0);
      const answers = await Promise.all(Array.from({ length: 10 }, () => authorize(harness, '192.0.2.1')));
      expect(answers.map(({ status }) => status).sort()).toEqual([
        ...Array(3).fill(303),
        ...Array(7).fill(LIMITED),
      ]);
      expect(await stored(harness)).toBe(3);
      const other = await authorize(harness, '192.0.2.2', 'x'.repeat(3_000));
      expect(other.status).toBe(303);
    } finally {
      await harness.close();
    }
  });

  test('authorizations are unlimited for demonstrations', async () => {
    const harness = await startHarness({ AUTHORIZATIONS_PER_ADDRESS: '1', SEED_DEMO: '1' });
    try {
      for (let call = 1; call <= 3; call += 1) {
        expect((await authorize(harness, '192.0.2.1')).status).toBe(303);
      }
    } finally {
      await harness.close();
    }
  });
});

test('sign-ins that find the queue of password checks full return 503 with Retry-After', async () => {
  // With the cost of production, a check takes longer than the queue allows.
  const harness = await startHarness({ PASSWORD_QUEUE_MS: '1' }, { passwordCost: undefined });
  try {
    const address = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => logIn(harness, `somebody.${index}`, WRONG, address)),
    );
    const refused = answers.filter(({ status }) => status !== INVALID);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, headers } of refused) {
      expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    }
    expect((await logIn(harness, 'somebody', WRONG, address)).status).toBe(INVALID);
  } finally {
    await harness.close();
  }
});
