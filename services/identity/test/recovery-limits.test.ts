/** Strangers cannot keep an owner from recovering or deleting their account, nor spend SMS without limit. */
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

/** Registers a new user from this address. */
const joinFrom = async (harness: Harness, headers: Address): Promise<Person> => {
  const { status, body } = await harness.send('POST', '/auth/register', { body: registration(), headers });
  expect(status).toBe(201);
  return {
    ...{ id: body.user.id, token: body.token, user: body.user },
    caller: await callerOf(harness, body.token),
  };
};

/** Waits until every earlier request of a reset was handled: responses do not wait for their SMS. */
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

  test('are reduced by two at most by strangers: of ten concurrent calls of the owner three are heard', async () => {
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
    'count every call of a %s token',
    async (tokenKind) => {
      const person = await join(harness);
      const own = { ...person, caller: { ...person.caller, tokenKind } };
      for (let call = 1; call <= 5; call += 1) expect((await deleteAccount(harness, own)).status).toBe(422);
      const refused = await deleteAccount(harness, own);
      expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toEqual([429, '5']);
    },
  );

  test('are spent for strangers too when the owner has spent them', async () => {
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

  test('leave the owner both phases of a deletion', async () => {
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

  test('are all that is sent for strangers; the address that the account was opened from still gets a code', async () => {
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

  test('and one by the owner are the SMS of a day to a phone; signed in, the owner still gets a code', async () => {
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

  test('are answered at once, whether or not the account exists: twenty in a row in less than five seconds', async () => {
    const person = await join(harness);
    const startedAt = performance.now();
    for (let call = 1; call <= 10; call += 1) {
      expect((await forgot(harness, person.user.username)).status).toBe(200);
      expect((await forgot(harness, 'nobody')).status).toBe(200);
    }
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test('have the same answers, whichever limit is reached, and whether or not the account exists', async () => {
    const person = await join(harness);
    const address = newAddress();
    const { username } = person.user;
    for (const [ask, status] of [
      [forgot, 200],
      [(at: Harness, login: string, from: Address) => reset(at, login, undefined, from), 422],
    ] as const) {
      const answers = [
        await ask(harness, username, newAddress()),
        await ask(harness, 'nobody', newAddress()),
      ];
      // Beyond the five a minute of an account and address, then the thirty of the address.
      for (let call = 1; call <= 6; call += 1) answers.push(await ask(harness, username, address));
      for (let call = 1; call <= 6; call += 1) answers.push(await ask(harness, 'nobody', address));
      for (let call = 1; call <= 20; call += 1) await ask(harness, `nobody.${call}`, address);
      answers.push(await ask(harness, username, address), await ask(harness, 'nobody', address));
      for (const answer of answers) {
        expect([answer.status, answer.text]).toEqual([status, answers[0]?.text]);
        expect(answer.headers.get('retry-after')).toBeNull();
        expect(answer.headers.get('x-ratelimit-remaining')).toBeNull();
      }
    }
  });
});

describe('with a token of the account, forgot-password and reset-password', () => {
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
    'count fully with a %s token, by every name of the account, and are then 429 as its deletion is',
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
    'are the same with a %s token for every login, so that an app does not learn the phone and e-mail of its user',
    async (tokenKind) => {
      const [own, stranger, other] = [await join(harness), await join(harness), await join(harness)];
      const ask = async (person: Person, login: string) => {
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
      const answers = await ask(own, own.user.phone);
      expect(answers.map(([status]) => status)).toEqual([422, 422, 422, 422, 200, 429, 429]);
      expect(await ask(stranger, other.user.phone)).toEqual(answers);
      expect(await ask(await join(harness), 'nobody@example.com')).toEqual(answers);
    },
  );

  test.each(['restricted', 'oauth'] as const)(
    'send with a %s token what is sent anonymously, and no SMS at the cost of its user',
    async (tokenKind) => {
      const person = await join(harness);
      const { username } = person.user;
      const as = { ...person.caller, tokenKind };
      expect((await forgotAs(as, username)).status).toBe(200);
      const [code = ''] = await waitForSms(person, 1);
      for (let call = 1; call <= 3; call += 1) expect((await forgotAs(as, username)).status).toBe(200);
      await settle(harness);
      expect(await smsOf(person)).toHaveLength(1);
      // The fifth call is heard.
      expect((await resetAs(as, username, code)).status).toBe(200);
    },
  );

  test('are anonymous for the account of somebody else: the same answers, and only two a minute count', async () => {
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

  test('work after strangers have used up what is anonymous, and the new password is set', async () => {
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

describe('a stranger who knows a user name', () => {
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
  /** Five wrong codes, and more than are heard. */
  const guess = async (login: string, address: Address): Promise<void> => {
    for (let call = 1; call <= 5; call += 1)
      expect((await reset(harness, login, undefined, address)).status).toBe(422);
  };

  test('does not void the code of the owner by five wrong ones, but by twenty of four networks', async () => {
    const owner = newAddress();
    const one = await requestedBy(owner);
    for (let network = 1; network <= 3; network += 1) await guess(one.login, newAddress());
    expect((await reset(harness, one.login, one.code, owner)).status).toBe(200);

    const other = await requestedBy(owner);
    for (let network = 1; network <= 4; network += 1) await guess(other.login, newAddress());
    expect((await reset(harness, other.login, other.code, owner)).status).toBe(422);
  });

  test('has five tries a code from one network, also with many addresses of one IPv6 network', async () => {
    const { login, code } = await requestedBy(newAddress());
    const inOne = (host: number) => ({ 'x-client-address': `2001:db8:7:7::${host}` });
    for (let host = 1; host <= 5; host += 1) await reset(harness, login, undefined, inOne(host));
    expect((await reset(harness, login, code, inOne(6))).status).toBe(422);
    expect((await reset(harness, login, code, { 'x-client-address': '2001:db8:7:8::1' })).status).toBe(200);
  });

  test('leaves one of the SMS of a day to a network from which the account has signed in', async () => {
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
    // Six are all of a day.
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

  /** A person whose reset code is valid, after one call from an address of its own. */
  const requested = async (): Promise<{ login: string; code: string }> => {
    const person = await join(harness);
    await forgot(harness, person.user.username);
    const [code = ''] = await waitForSms(person, 1);
    return { login: person.user.username, code };
  };

  test('of an account hold over all addresses, and refused calls of one address do not count', async () => {
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

  test('of an address hold over all accounts', async () => {
    const { login, code } = await requested();
    const address = newAddress();
    for (let call = 1; call <= 3; call += 1) await reset(harness, `somebody.${call}`, undefined, address);
    expect((await reset(harness, login, code, address)).status).toBe(422);
    expect((await reset(harness, login, code)).status).toBe(200);
  });
});

/** Holds what is sent to the SMS provider until `release`. */
const startHeldSms = async () => {
  const released = Promise.withResolvers<void>();
  let held = 0;
  const server = createServer(async (request, response) => {
    const body = await text(request);
    held += 1;
    await released.promise;
    const headers = { 'content-type': String(request.headers['content-type']) };
    const answer = await fetch(`${sandbox.url}${request.url}`, { method: 'POST', headers, body });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/kavenegar`,
    held: () => held,
    release: () => released.resolve(),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
};

/** Longer than a test holds an SMS. */
const PATIENT_SMS = { KAVENEGAR_TIMEOUT_MS: '60000', SMS_DEADLINE_MS: '60000' };

describe('requests of forgotten passwords', () => {
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

  test('cause no query past the limit of their address', async () => {
    const address = newAddress();
    const commands = await watch.during(async () => {
      for (let call = 1; call <= 40; call += 1)
        expect((await forgot(harness, `nobody.${call}`, address)).status).toBe(200);
    });
    expect(commands.filter(isLookUp).length).toBeLessThanOrEqual(3);
  });

  test('are worked on a few at a time; of those past the places nothing is sent, and all are answered', async () => {
    const people = await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, () => join(harness)));
    const commands = await watch.during(async () => {
      for (const person of people) await forgot(harness, person.user.username);
      await eventually(() => sms.held() === REQUESTS_AT_ONCE);
      for (let call = 1; call <= REQUESTS_WAITING + 50; call += 1)
        expect((await forgot(harness, `nobody.${call}`)).status).toBe(200);
      sms.release();
      await Promise.all(people.map((person) => waitForSms(person, 1)));
      // Until those that waited are done, so that a new one has a place.
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

test('all SMS that are asked for anonymously share a daily limit, with an alert at 80 %', async () => {
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
    // Signed in, the same person gets a code.
    expect((await deleteAccount(harness, refused, PASSWORD)).status).toBe(200);
    expect((await smsOf(refused)).map(({ length }) => length)).toEqual([6]);
  } finally {
    await harness.close();
  }
});

test('SMS that a signed-in user asks for are limited a day and phone, without effect of a refused call', async () => {
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

  test('is refused at registration and wherever a phone is changed', async () => {
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

  test('that an account has already can be kept', async () => {
    const person = await join(harness);
    const set = { $set: { phone: GERMAN } };
    await harness.database.collection('users').updateOne({ _id: person.id as never }, set);
    const body = { phone: GERMAN, first_name: 'Other' };
    const answer = await harness.send('PUT', '/auth/me', { as: person.caller, body });
    expect([answer.status, answer.body.user.first_name]).toEqual([200, 'Other']);
  });

  test('is accepted when its country is configured', async () => {
    const both = await startHarness({ SMS_COUNTRIES: 'IR,DE' });
    try {
      expect((await join(both, { phone: GERMAN })).user.phone).toBe(GERMAN);
      await join(both);
    } finally {
      await both.close();
    }
  });
});

test('a process that is stopped sends the codes first that were asked for', async () => {
  const held = await startHeldSms();
  const harness = await start({ KAVENEGAR_BASE_URL: held.url, ...PATIENT_SMS });
  const person = await join(harness);
  expect((await forgot(harness, person.user.username)).status).toBe(200);
  await eventually(() => held.held() === 1);
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
  held.release();
  await closed;
  expect(await smsOf(person)).toHaveLength(1);
  await held.close();
});

test('a request that cannot be counted is 503, for a known and an unknown account', async () => {
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

describe('a landline, which gets no SMS,', () => {
  const LANDLINE = '+982188776655';
  let harness: Harness;
  beforeAll(async () => {
    harness = await start();
  });
  afterAll(() => harness.close());

  test.each([LANDLINE, '021-8877 6655', '۰۲۱۸۸۷۷۶۶۵۵'])(
    'is refused at registration and wherever a phone is changed: %s',
    async (phone) => {
      const person = await join(harness);
      const operator = await joinAs(harness, 'operator');
      const body = { phone, current_password: PASSWORD };
      for (const { status, body: answered } of [
        await harness.send('POST', '/auth/register', {
          body: registration({ phone }),
          headers: newAddress(),
        }),
        await harness.send('PUT', '/auth/me', { as: person.caller, body }),
        await harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body }),
      ])
        expect([status, answered.errors]).toEqual([
          422,
          { phone: ['A landline cannot receive SMS messages. Enter a mobile number.'] },
        ]);
    },
  );

  test('that an account has already can be kept, and signs in', async () => {
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
