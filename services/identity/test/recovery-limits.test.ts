/** Strangers cannot keep an owner from recovering or deleting their account, nor spend SMS without limit. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { type CommandWatch, monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import { type Answer, apiClient, eventually, testConfig } from '@fitness/shared/testing/harness.ts';
import type { SentCommand } from '@fitness/shared/testing/lookups.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../sandbox/src/service.ts';
import { REQUESTS_AT_ONCE, REQUESTS_WAITING } from '../src/app/reset-password.ts';
import { startIdentity } from '../src/service.ts';
import {
  type Harness,
  join,
  joinAs,
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
  startHarness(
    { KAVENEGAR_BASE_URL: `${sandbox.url}/kavenegar`, ...env },
    { responseDelayMs: 1, ...overrides },
  );

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
    replica = await startIdentity(harness.config, { clock: harness.clock, responseDelayMs: 1 });
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

  test('are all that is sent for one address; another address still gets a code', async () => {
    const person = await join(harness);
    const stranger = newAddress();
    for (let call = 1; call <= 7; call += 1) await forgot(harness, person.user.username, stranger);
    await waitForSms(person, 5);
    await settle(harness);
    expect(await smsOf(person)).toHaveLength(5);
    await forgot(harness, person.user.username);
    await waitForSms(person, 6);
  });

  test('and one more are the SMS of a day to a phone; signed in, the owner still gets a code', async () => {
    const person = await join(harness);
    for (let call = 1; call <= 10; call += 1) await forgot(harness, person.user.username);
    await waitForSms(person, 6);
    await settle(harness);
    expect(await smsOf(person)).toHaveLength(6);
    expect((await deleteAccount(harness, person, PASSWORD)).status).toBe(200);
    expect(await smsOf(person)).toHaveLength(7);
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

describe('requests of forgotten passwords', () => {
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

  let sms: Awaited<ReturnType<typeof startHeldSms>>;
  let harness: Harness;
  let watch: CommandWatch;
  beforeAll(async () => {
    sms = await startHeldSms();
    const env = {
      ...monitored({ MONGODB_URI: String(testConfig('identity').MONGODB_URI) }),
      ...{ KAVENEGAR_BASE_URL: sms.url, KAVENEGAR_TIMEOUT_MS: '60000', SMS_DEADLINE_MS: '60000' },
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
        { phone: ['Phone numbers of this country are not accepted.'] },
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
