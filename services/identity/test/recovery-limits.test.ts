/** Strangers can neither keep owners from recovering or deleting their accounts nor send unlimited SMS. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { type CommandWatch, monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import { type Answer, apiClient, eventually, testConfig } from '@fitness/shared/testing/harness.ts';
import type { SentCommand } from '@fitness/shared/testing/lookups.ts';
import { startTcpProxy } from '@fitness/shared/testing/tcp-proxy.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../sandbox/src/service.ts';
import { REQUESTS_AT_ONCE, REQUESTS_WAITING } from '../src/app/sign-in/reset-password.ts';
import { startIdentity } from '../src/service.ts';
import {
  callerOf,
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

const NO_REDIS = { REDIS_URL: 'redis://127.0.0.1:1' };

let sandbox: Awaited<ReturnType<typeof startSandbox>>;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

const start = (env: Record<string, string> = {}, overrides: Parameters<typeof startHarness>[1] = {}) =>
  startHarness({ KAVENEGAR_BASE_URL: `${sandbox.url}/kavenegar`, ...env }, overrides);

type Address = ReturnType<typeof newAddress>;

const forgot = (harness: Harness, login: string, headers: Address = newAddress()): Promise<Answer> =>
  harness.send('POST', '/auth/forgot-password', { body: { login }, headers });

const reset = (
  harness: Harness,
  login: string,
  code = '00000000',
  headers: Address = newAddress(),
): Promise<Answer> =>
  harness.send('POST', '/auth/reset-password', {
    body: { login, code, password: 'a whole new password' },
    headers,
  });

const deleteAccount = (harness: Harness, person: Person, password = 'not the password') =>
  harness.send('POST', '/auth/delete-account', { as: person.caller, body: { current_password: password } });

const smsOf = async ({ user }: Person): Promise<string[]> => {
  const answer = await fetch(`${sandbox.url}/_sandbox/sms?receptor=${encodeURIComponent(user.phone)}`);
  return ((await answer.json()) as { data: { code: string }[] }).data.map(({ code }) => code);
};

const waitForSms = (person: Person, count: number): Promise<string[]> =>
  eventually(async () => {
    const codes = await smsOf(person);
    return codes.length >= count && codes;
  });

/** Registers a user from this address. */
const joinFrom = async (harness: Harness, headers: Address): Promise<Person> => {
  const { status, body } = await harness.send('POST', '/auth/register', { body: registration(), headers });
  expect(status).toBe(201);
  return {
    ...{ id: body.user.id, token: body.token, user: body.user },
    caller: await callerOf(harness, body.token),
  };
};

/** Waits until every earlier request for a reset is handled, because responses do not wait for their SMS. */
const settle = async (harness: Harness): Promise<void> => {
  const other = await join(harness);
  await forgot(harness, other.user.username);
  await waitForSms(other, 1);
};

describe.each([
  ['with Redis', {}],
  ['without Redis', NO_REDIS],
])('the five calls a minute of an account, %s', (_name, env) => {
  let harness: Harness;
  let replica: Awaited<ReturnType<typeof startIdentity>>;
  let replicas: Harness['send'][];
  beforeAll(async () => {
    harness = await start(env);
    replica = await startIdentity(harness.config, { clock: harness.clock });
    replicas = [harness.send, apiClient('identity', replica.url)];
  });
  afterAll(async () => {
    await replica.close();
    await harness.close();
  });

  test('strangers use up at most two of the five calls: the owner always has three', async () => {
    const person = await join(harness);
    const attempts = Array.from({ length: 20 }, (_, index) =>
      reset({ ...harness, send: replicas[index % 2] as Harness['send'] }, person.user.username),
    );
    for (const { status } of await Promise.all(attempts)) expect(status).toBe(422);
    const own = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        deleteAccount({ ...harness, send: replicas[index % 2] as Harness['send'] }, person),
      ),
    );
    expect(own.map(({ status }) => status).sort()).toEqual([...Array(3).fill(422), ...Array(7).fill(429)]);
  });

  test.each(['session', 'personal', 'restricted', 'oauth'] as const)(
    'every call with a %s token counts',
    async (tokenKind) => {
      const person = await join(harness);
      const own = { ...person, caller: { ...person.caller, tokenKind } };
      for (let call = 1; call <= 5; call += 1) expect((await deleteAccount(harness, own)).status).toBe(422);
      const refused = await deleteAccount(harness, own);
      expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toEqual([429, '5']);
    },
  );

  test('calls that the owner has used up are not available to strangers either', async () => {
    const person = await join(harness);
    await forgot(harness, person.user.username);
    const [code = ''] = await waitForSms(person, 1);
    for (let call = 2; call <= 5; call += 1) expect((await deleteAccount(harness, person)).status).toBe(422);
    expect((await reset(harness, person.user.username, code)).status).toBe(422);
    await forgot(harness, person.user.username);
    await settle(harness);
    expect(await smsOf(person)).toEqual([code]);
  });
});

describe('five requests of a stranger', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await start();
  });
  afterAll(() => harness.close());

  test('five requests of a stranger leave the owner both phases of a deletion', async () => {
    const person = await join(harness);
    const stranger = newAddress();
    for (let call = 1; call <= 5; call += 1) await forgot(harness, person.user.username, stranger);
    await waitForSms(person, 5);
    const armed = await deleteAccount(harness, person, PASSWORD);
    expect(armed.status).toBe(200);
    const [code = ''] = await smsOf(person);
    const body = { current_password: PASSWORD, confirmation_code: code };
    const answer = await harness.send('POST', '/auth/delete-account', { as: person.caller, body });
    expect(answer.status).toBe(202);
  });

  test('a stranger gets at most five codes sent, and the account’s first network still gets one', async () => {
    const home = newAddress();
    const person = await joinFrom(harness, home);
    const stranger = newAddress();
    for (let call = 1; call <= 7; call += 1) await forgot(harness, person.user.username, stranger);
    await waitForSms(person, 5);
    await settle(harness);
    expect(await smsOf(person)).toHaveLength(5);
    await forgot(harness, person.user.username, home);
    await waitForSms(person, 6);
  });

  test('six anonymous SMS a day are sent to a phone, and a signed-in owner still gets a code', async () => {
    const home = newAddress();
    const person = await joinFrom(harness, home);
    for (let call = 1; call <= 10; call += 1) await forgot(harness, person.user.username);
    await waitForSms(person, 5);
    await forgot(harness, person.user.username, home);
    await waitForSms(person, 6);
    await forgot(harness, person.user.username, home);
    await settle(harness);
    expect(await smsOf(person)).toHaveLength(6);
    expect((await deleteAccount(harness, person, PASSWORD)).status).toBe(200);
    expect(await smsOf(person)).toHaveLength(7);
  });

  test('requests for known and unknown accounts return at once', async () => {
    const person = await join(harness);
    const startedAt = performance.now();
    for (let call = 1; call <= 10; call += 1) {
      expect((await forgot(harness, person.user.username)).status).toBe(200);
      expect((await forgot(harness, 'nobody')).status).toBe(200);
    }
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test('responses are the same whichever limit is reached and whether or not the account exists', async () => {
    const person = await join(harness);
    const address = newAddress();
    const { username } = person.user;
    for (const [call, status] of [
      [forgot, 200],
      [(at: Harness, login: string, from: Address) => reset(at, login, undefined, from), 422],
    ] as const) {
      const answers = [
        await call(harness, username, newAddress()),
        await call(harness, 'nobody', newAddress()),
      ];
      // Exceeds the five calls per minute of an account and an address, then the thirty of the address.
      for (let n = 1; n <= 6; n += 1) answers.push(await call(harness, username, address));
      for (let n = 1; n <= 6; n += 1) answers.push(await call(harness, 'nobody', address));
      for (let n = 1; n <= 20; n += 1) await call(harness, `nobody.${n}`, address);
      answers.push(await call(harness, username, address), await call(harness, 'nobody', address));
      for (const answer of answers) {
        expect([answer.status, answer.text]).toEqual([status, answers[0]?.text]);
        expect(answer.headers.get('retry-after')).toBeNull();
        expect(answer.headers.get('x-ratelimit-remaining')).toBeNull();
      }
    }
  });
});

describe('forgot-password and reset-password with a token of the account', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await start({ SMS_ANONYMOUS_PER_PHONE: '1' });
  });
  afterAll(() => harness.close());

  const forgotAs = (as: Person['caller'], login: string) =>
    harness.send('POST', '/auth/forgot-password', { as, body: { login }, headers: newAddress() });
  const resetAs = (as: Person['caller'], login: string, code = '00000000') =>
    harness.send('POST', '/auth/reset-password', {
      as,
      body: { login, code, password: 'a whole new password' },
      headers: newAddress(),
    });

  test.each(['session', 'personal', 'restricted', 'oauth'] as const)(
    'reset calls with a %s token share the limit of the deletion, by every name of the account',
    async (tokenKind) => {
      const person = await join(harness);
      const as = { ...person.caller, tokenKind };
      const { username, email, phone } = person.user;
      expect((await forgotAs(as, username)).status).toBe(200);
      expect((await forgotAs(as, email.toUpperCase())).status).toBe(200);
      expect((await resetAs(as, phone.replace('+98', '0'))).status).toBe(422);
      expect((await resetAs(as, username)).status).toBe(422);
      expect((await deleteAccount(harness, { ...person, caller: as })).status).toBe(422);
      const refused = [
        await forgotAs(as, username),
        await resetAs(as, email),
        await deleteAccount(harness, { ...person, caller: as }),
      ];
      for (const { status, body, headers } of refused) {
        expect([status, body]).toEqual([429, { message: 'Too many requests. Please try again later.' }]);
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
        expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['5', '0']);
      }
    },
  );

  test.each(['restricted', 'oauth'] as const)(
    'reset calls with a %s token get the same responses for every login',
    async (tokenKind) => {
      const [own, stranger, other] = [await join(harness), await join(harness), await join(harness)];
      const callAll = async (person: Person, login: string) => {
        const as = { ...person.caller, tokenKind };
        const answers = [];
        for (let call = 1; call <= 4; call += 1) answers.push(await resetAs(as, login));
        for (let call = 1; call <= 3; call += 1) answers.push(await forgotAs(as, login));
        return answers.map(({ status, text, headers }) => [
          status,
          text,
          headers.get('retry-after') !== null,
          headers.get('x-ratelimit-remaining'),
        ]);
      };
      const answers = await callAll(own, own.user.phone);
      expect(answers.map(([status]) => status)).toEqual([422, 422, 422, 422, 200, 429, 429]);
      expect(await callAll(stranger, other.user.phone)).toEqual(answers);
      expect(await callAll(await join(harness), 'nobody@example.com')).toEqual(answers);
    },
  );

  test.each(['restricted', 'oauth'] as const)(
    'SMS for calls with a %s token use the anonymous limit and not that of its user',
    async (tokenKind) => {
      const person = await join(harness);
      const { username } = person.user;
      const as = { ...person.caller, tokenKind };
      expect((await forgotAs(as, username)).status).toBe(200);
      const [code = ''] = await waitForSms(person, 1);
      for (let call = 1; call <= 3; call += 1) expect((await forgotAs(as, username)).status).toBe(200);
      await settle(harness);
      expect(await smsOf(person)).toHaveLength(1);
      // The fifth call is still within the limit.
      expect((await resetAs(as, username, code)).status).toBe(200);
    },
  );

  test('calls for another user’s account are anonymous, and only two of them a minute count', async () => {
    const [person, other] = [await join(harness), await join(harness)];
    for (const login of [other.user.username, 'nobody']) {
      for (let call = 1; call <= 6; call += 1) {
        expect((await forgotAs(person.caller, login)).status).toBe(200);
        expect((await resetAs(person.caller, login)).status).toBe(422);
      }
    }
    expect((await deleteAccount(harness, person)).status).toBe(422);
    for (let call = 1; call <= 3; call += 1) expect((await deleteAccount(harness, other)).status).toBe(422);
  });

  test('owners with a token can reset after strangers have used up the anonymous calls', async () => {
    const person = await join(harness);
    const { username } = person.user;
    for (let call = 1; call <= 25; call += 1) await forgot(harness, username);
    await settle(harness);
    expect(await smsOf(person)).toHaveLength(1);
    expect((await forgotAs(person.caller, username)).status).toBe(200);
    const [code = ''] = await waitForSms(person, 2);
    expect((await resetAs(person.caller, username, code)).status).toBe(200);
  });
});

describe('a stranger who knows a username', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await start({ RESETS_PER_ACCOUNT: '1000', CODE_CALLS_ANONYMOUS: '0' });
  });
  afterAll(() => harness.close());

  const requestedBy = async (owner: Address): Promise<{ login: string; code: string }> => {
    const person = await join(harness);
    await forgot(harness, person.user.username, owner);
    const [code = ''] = await waitForSms(person, 1);
    return { login: person.user.username, code };
  };
  /** Enters five wrong codes, as many as a network may. */
  const guess = async (login: string, address: Address): Promise<void> => {
    for (let call = 1; call <= 5; call += 1)
      expect((await reset(harness, login, undefined, address)).status).toBe(422);
  };

  test('an owner’s code survives wrong codes from three networks, but not twenty from four', async () => {
    const owner = newAddress();
    const one = await requestedBy(owner);
    for (let network = 1; network <= 3; network += 1) await guess(one.login, newAddress());
    expect((await reset(harness, one.login, one.code, owner)).status).toBe(200);

    const other = await requestedBy(owner);
    for (let network = 1; network <= 4; network += 1) await guess(other.login, newAddress());
    expect((await reset(harness, other.login, other.code, owner)).status).toBe(422);
  });

  test('a network has five attempts at a code, even with many addresses of an IPv6 network', async () => {
    const { login, code } = await requestedBy(newAddress());
    const inOne = (host: number) => ({ 'x-client-address': `2001:db8:7:7::${host}` });
    for (let host = 1; host <= 5; host += 1) await reset(harness, login, undefined, inOne(host));
    expect((await reset(harness, login, code, inOne(6))).status).toBe(422);
    expect((await reset(harness, login, code, { 'x-client-address': '2001:db8:7:8::1' })).status).toBe(200);
  });

  test('one SMS a day is reserved for networks from which the account has signed in', async () => {
    const home = newAddress();
    const person = await join(harness);
    const body = { login: person.user.email, password: PASSWORD };
    expect((await harness.send('POST', '/auth/login', { body, headers: home })).status).toBe(200);
    for (let call = 1; call <= 12; call += 1) await forgot(harness, person.user.username);
    await waitForSms(person, 5);
    await settle(harness);
    expect(await smsOf(person)).toHaveLength(5);
    await forgot(harness, person.user.username, home);
    await waitForSms(person, 6);
    // Six SMS are the limit of a day.
    await forgot(harness, person.user.username, home);
    await settle(harness);
    const codes = await smsOf(person);
    expect(codes).toHaveLength(6);
    expect((await reset(harness, person.user.username, codes[0], home)).status).toBe(200);
  });
});

describe('the limits of anonymous calls', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await start({ RESETS_PER_ACCOUNT: '4', RESETS_PER_ADDRESS: '3' });
  });
  afterAll(() => harness.close());

  /** A person with a valid reset code, after one call from a new address. */
  const requested = async (): Promise<{ login: string; code: string }> => {
    const person = await join(harness);
    await forgot(harness, person.user.username);
    const [code = ''] = await waitForSms(person, 1);
    return { login: person.user.username, code };
  };

  test('an account’s limit spans all addresses, and refused calls of an address do not count', async () => {
    const one = await requested();
    for (let call = 2; call <= 3; call += 1) await reset(harness, one.login);
    expect((await reset(harness, one.login, one.code)).status).toBe(200);
    const other = await requested();
    for (let call = 2; call <= 4; call += 1) await reset(harness, other.login);
    expect((await reset(harness, other.login, other.code)).status).toBe(422);

    const third = await requested();
    const spent = newAddress();
    for (let call = 1; call <= 3; call += 1) await reset(harness, `nobody.${call}`, undefined, spent);
    for (let call = 1; call <= 5; call += 1) await reset(harness, third.login, undefined, spent);
    expect((await reset(harness, third.login, third.code)).status).toBe(200);
  });

  test('an address’s limit spans all accounts', async () => {
    const { login, code } = await requested();
    const address = newAddress();
    for (let call = 1; call <= 3; call += 1) await reset(harness, `somebody.${call}`, undefined, address);
    expect((await reset(harness, login, code, address)).status).toBe(422);
    expect((await reset(harness, login, code)).status).toBe(200);
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
    const answer = await fetch(`${sandbox.url}${request.url}`, { method: 'POST', headers, body });
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

/** Deadlines longer than a test holds an SMS. */
const PATIENT_SMS = { KAVENEGAR_TIMEOUT_MS: '60000', SMS_DEADLINE_MS: '60000' };

describe('requests for forgotten passwords', () => {
  let sms: Awaited<ReturnType<typeof startHeldSms>>;
  let harness: Harness;
  let watch: CommandWatch;
  beforeAll(async () => {
    sms = await startHeldSms();
    const env = {
      ...monitored({ MONGODB_URI: String(testConfig('identity').MONGODB_URI) }),
      ...{ KAVENEGAR_BASE_URL: sms.url, ...PATIENT_SMS },
      RESETS_PER_ADDRESS: '3',
    };
    harness = await start(env);
    watch = watchCommands(harness.config.MONGODB_DATABASE);
  });
  afterAll(async () => {
    sms.release();
    await harness.close();
    await sms.close();
  });

  const isLookUp = ({ name, collection, command }: SentCommand): boolean =>
    name === 'find' && collection === 'login_keys' && JSON.stringify(command.filter).includes('nobody.');

  test('requests beyond the limit of their address cause no query', async () => {
    const address = newAddress();
    const commands = await watch.during(async () => {
      for (let call = 1; call <= 40; call += 1)
        expect((await forgot(harness, `nobody.${call}`, address)).status).toBe(200);
    });
    expect(commands.filter(isLookUp).length).toBeLessThanOrEqual(3);
  });

  test('a few requests are handled at once; those beyond the queue succeed but are dropped', async () => {
    const people = await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, () => join(harness)));
    const commands = await watch.during(async () => {
      for (const person of people) await forgot(harness, person.user.username);
      await eventually(() => sms.heldCount() === REQUESTS_AT_ONCE);
      for (let call = 1; call <= REQUESTS_WAITING + 50; call += 1)
        expect((await forgot(harness, `nobody.${call}`)).status).toBe(200);
      sms.release();
      await Promise.all(people.map((person) => waitForSms(person, 1)));
      // Waits until the queue has a place for a new request.
      const others: Person[] = [];
      await eventually(async () => {
        const other = await join(harness);
        others.push(other);
        await forgot(harness, other.user.username);
        const sent = await Promise.all(others.map(smsOf));
        return sent.some(({ length }) => length === 1);
      });
    });
    const lookedUp = commands.filter(isLookUp).length;
    expect(lookedUp).toBeGreaterThan(REQUESTS_WAITING / 2);
    expect(lookedUp).toBeLessThanOrEqual(REQUESTS_WAITING);
  });
});

test('anonymously requested SMS share a daily limit, with an alert at 80 %', async () => {
  const lines: string[] = [];
  const log = createLog({
    service: 'identity',
    level: 'error',
    destination: { write: (line) => void lines.push(line) },
  });
  const harness = await start({ SMS_ANONYMOUS_DAILY_LIMIT: '5' }, { log });
  const counted = async (budget: string): Promise<number> => {
    const text = await (await fetch(`${harness.url}/metrics`)).text();
    const line = text
      .split('\n')
      .find((each) => each.startsWith('anonymous_sms_total') && each.includes(`"${budget}"`));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  const alerts = () =>
    lines.filter((line) => line.includes('daily limit')).map((line) => JSON.parse(line).used);
  try {
    const people = await Promise.all(Array.from({ length: 6 }, () => join(harness)));
    for (const person of people.slice(0, 3)) await forgot(harness, person.user.username);
    await Promise.all(people.slice(0, 3).map((person) => waitForSms(person, 1)));
    expect([await counted('ok'), await counted('alert'), alerts()]).toEqual([3, 0, []]);
    for (const person of people.slice(3)) {
      await forgot(harness, person.user.username);
      await eventually(
        async () => (await counted('alert')) + (await counted('spent')) > people.indexOf(person) - 3,
      );
    }
    expect([await counted('ok'), await counted('alert'), await counted('spent')]).toEqual([3, 2, 1]);
    expect(alerts()).toEqual([4, 5]);
    const refused = people[5] as Person;
    await waitForSms(people[4] as Person, 1);
    // A signed-in call still gets a code.
    expect((await deleteAccount(harness, refused, PASSWORD)).status).toBe(200);
    expect((await smsOf(refused)).map(({ length }) => length)).toEqual([6]);
  } finally {
    await harness.close();
  }
});

test('a phone has a daily limit of signed-in SMS, and a refused call has no effect', async () => {
  const harness = await start({ SMS_SIGNED_IN_PER_PHONE: '2' });
  try {
    const person = await join(harness);
    for (let call = 1; call <= 2; call += 1) {
      expect((await deleteAccount(harness, person, PASSWORD)).status).toBe(200);
    }
    const [code = ''] = await smsOf(person);
    const refused = await deleteAccount(harness, person, PASSWORD);
    expect([refused.status, refused.body]).toEqual([
      429,
      { message: 'Too many requests. Please try again later.' },
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000);
    expect(await smsOf(person)).toHaveLength(2);
    const body = { current_password: PASSWORD, confirmation_code: code };
    const answer = await harness.send('POST', '/auth/delete-account', { as: person.caller, body });
    expect(answer.status).toBe(202);
  } finally {
    await harness.close();
  }
});

describe('a phone of another country', () => {
  const GERMAN = '+4915112345678';
  let harness: Harness;
  beforeAll(async () => {
    harness = await start();
  });
  afterAll(() => harness.close());

  test('a foreign phone is refused at registration and wherever a phone is changed', async () => {
    const person = await join(harness);
    const operator = await joinAs(harness, 'operator');
    const answers = [
      await harness.send('POST', '/auth/register', { body: registration({ phone: GERMAN }) }),
      await harness.send('PUT', '/auth/me', {
        as: person.caller,
        body: { phone: GERMAN, current_password: PASSWORD },
      }),
      await harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body: { phone: GERMAN } }),
    ];
    for (const { status, body } of answers) {
      expect([status, body.errors]).toEqual([
        422,
        { phone: ['Phone numbers from this country are not accepted.'] },
      ]);
    }
  });

  test('an existing foreign phone can be kept', async () => {
    const person = await join(harness);
    const set = { $set: { phone: GERMAN } };
    await harness.database.collection('users').updateOne({ _id: person.id as never }, set);
    const body = { phone: GERMAN, first_name: 'Other' };
    const answer = await harness.send('PUT', '/auth/me', { as: person.caller, body });
    expect([answer.status, answer.body.user.first_name]).toEqual([200, 'Other']);
  });

  test('a foreign phone is accepted when its country is configured', async () => {
    const both = await startHarness({ SMS_COUNTRIES: 'IR,DE' });
    try {
      expect((await join(both, { phone: GERMAN })).user.phone).toBe(GERMAN);
      await join(both);
    } finally {
      await both.close();
    }
  });
});

test('a stopping process sends requested codes first', async () => {
  const sms = await startHeldSms();
  const harness = await start({ KAVENEGAR_BASE_URL: sms.url, ...PATIENT_SMS });
  const person = await join(harness);
  expect((await forgot(harness, person.user.username)).status).toBe(200);
  await eventually(() => sms.heldCount() === 1);
  let isClosed = false;
  const closed = harness.close().then(() => {
    isClosed = true;
  });
  await eventually(() =>
    fetch(`${harness.url}/health/live`).then(
      () => false,
      () => true,
    ),
  );
  expect(isClosed).toBe(false);
  sms.release();
  await closed;
  expect(await smsOf(person)).toHaveLength(1);
  await sms.close();
});

test('a request that cannot be counted returns 503 for known and unknown accounts', async () => {
  const proxy = await startTcpProxy(String(testConfig('identity').MONGODB_URI));
  const harness = await start({ ...NO_REDIS, MONGODB_URI: proxy.uri });
  try {
    const person = await join(harness);
    proxy.cut();
    for (const login of [person.user.username, 'nobody'])
      expect((await forgot(harness, login)).status).toBe(503);
    proxy.restore();
    await eventually(async () => (await forgot(harness, person.user.username)).status === 200);
    await waitForSms(person, 1);
  } finally {
    proxy.restore();
    await harness.close();
    await proxy.close();
  }
});

describe('a landline', () => {
  const LANDLINE = '+982188776655';
  let harness: Harness;
  beforeAll(async () => {
    harness = await start();
  });
  afterAll(() => harness.close());

  test.each([LANDLINE, '021-8877 6655', '۰۲۱۸۸۷۷۶۶۵۵'])(
    'the landline %s is refused at registration and wherever a phone is changed',
    async (phone) => {
      const person = await join(harness);
      const operator = await joinAs(harness, 'operator');
      const body = { phone, current_password: PASSWORD };
      for (const { status, body: answer } of [
        await harness.send('POST', '/auth/register', {
          body: registration({ phone }),
          headers: newAddress(),
        }),
        await harness.send('PUT', '/auth/me', { as: person.caller, body }),
        await harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body }),
      ])
        expect([status, answer.errors]).toEqual([
          422,
          { phone: ['A landline cannot receive SMS messages. Enter a mobile number.'] },
        ]);
    },
  );

  test('an existing landline can be kept and used to sign in', async () => {
    const person = await join(harness);
    const { database } = harness;
    const set = { $set: { phone: LANDLINE } };
    await database.collection('users').updateOne({ _id: person.id as never }, set);
    const key = { _id: `phone:${LANDLINE}` as never, user_id: person.id };
    await database.collection('login_keys').insertOne(key);
    const body = { phone: '021 8877 6655', first_name: 'Other' };
    const answer = await harness.send('PUT', '/auth/me', { as: person.caller, body });
    expect([answer.status, answer.body.user]).toMatchObject([200, { first_name: 'Other', phone: LANDLINE }]);
    expect((await logIn(harness, '02188776655')).body.user.id).toBe(person.id);
  });
});
