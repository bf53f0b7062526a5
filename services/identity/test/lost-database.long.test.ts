/** The database is lost before or right after each command of a request: 503, and its body is true afterwards. */
import { CLIENT_ADDRESS_HEADER } from '@fitness/shared/http/gateway-protocol.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { type Answer, gatewayContext, type Send } from '@fitness/shared/testing/harness.ts';
import { type LosingInstances, startLosingInstances } from '@fitness/shared/testing/lost-database.ts';
import { startMongoProxy } from '@fitness/shared/testing/mongo-proxy.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../sandbox/src/service.ts';
import { startIdentity } from '../src/service.ts';
import { type Harness, join, PASSWORD, type Person, startHarness } from './support.ts';

let harness: Harness;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
let instances: LosingInstances;

beforeAll(async () => {
  sandbox = await startSandbox({ port: 0 });
  harness = await startHarness({ KAVENEGAR_BASE_URL: `${sandbox.url}/kavenegar` });
  const { config, clock } = harness;
  instances = await startLosingInstances('identity', config.MONGODB_URI, (uri, overrides) =>
    startIdentity({ ...config, MONGODB_URI: uri }, { ...overrides, clock }),
  );
});

afterAll(async () => {
  await instances?.close();
  await harness?.close();
  await sandbox?.close();
});

/** More than the commands of any of these requests. */
const COMMANDS = 16;

const people = (prepare: () => Promise<Person>): Promise<Person[]> =>
  Promise.all(Array.from({ length: COMMANDS }, prepare));

const newestCode = async ({ user }: Person): Promise<string> => {
  const url = `${sandbox.url}/_sandbox/sms?receptor=${encodeURIComponent(user.phone)}`;
  const { data } = (await (await fetch(url)).json()) as { data: { code: string }[] };
  return data[0]?.code ?? '';
};

const deleteAccount = (send: Send, person: Person, body: Record<string, unknown>): Promise<Answer> =>
  send('POST', '/auth/delete-account', {
    as: person.caller,
    body: { current_password: PASSWORD, ...body },
  });

const armed = async (): Promise<Person> => {
  const person = await join(harness);
  const answer = await deleteAccount(harness.send, person, {});
  if (answer.status !== 200) throw new Error(`phase 1: ${answer.status} ${answer.text}`);
  return person;
};

const isScheduled = async ({ id }: Person): Promise<boolean> => {
  const user = await harness.database.collection('users').findOne({ _id: id as never });
  return user?.deletion_scheduled_at != null;
};

const SIDES = ['before', 'after'] as const;

describe.each(SIDES)('the database is lost %s', (side) => {
  test('phase 2 of delete-account returns 503, and without `outcome_unknown` nothing is scheduled', async () => {
    const cases = await Promise.all(
      (await people(armed)).map(async (person) => ({ person, code: await newestCode(person) })),
    );
    const losses = await instances.loseAtEach(side, cases, (send, { person, code }) =>
      deleteAccount(send, person, { confirmation_code: code }),
    );
    expect(losses.map(({ at }) => at)).toContain('commitTransaction');
    for (const { at, answer, case: lostCase } of losses) {
      expect({ at, status: answer.status }).toEqual({ at, status: 503 });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      const { code } = answer.body;
      expect([undefined, 'outcome_unknown']).toContain(code);
      if (code === undefined)
        expect({ at, scheduled: await isScheduled(lostCase.person) }).toEqual({ at, scheduled: false });
    }
    const committed = losses
      .filter(({ at }) => at === 'commitTransaction')
      .map(({ answer }) => answer.body.code);
    expect(committed).toContain('outcome_unknown');
  });

  test('a sign-in returns 503 if a server is lost at any of its commands', async () => {
    const { user } = await join(harness);
    // Different addresses, because sign-ins are limited by account and address.
    const addresses = Array.from({ length: COMMANDS }, (_, index) => `10.1.${SIDES.indexOf(side)}.${index}`);
    const losses = await instances.loseAtEach(side, addresses, (send, address) =>
      send('POST', '/auth/login', {
        body: { login: user.username, password: PASSWORD },
        headers: { [CLIENT_ADDRESS_HEADER]: address },
      }),
    );
    expect(losses.length).toBeGreaterThan(2);
    for (const { at, answer } of losses) expect({ at, status: answer.status }).toEqual({ at, status: 503 });
  });
});

test('a registration of an OAuth client returns 503 with Retry-After when the database is lost', async () => {
  const proxy = await startMongoProxy(harness.config.MONGODB_URI);
  const instance = await startIdentity(
    { ...harness.config, MONGODB_URI: proxy.uri },
    { clock: harness.clock, databaseWaitMs: 300 },
  );
  try {
    const cut = proxy.cutAt((command, collection) => command === 'insert' && collection === 'oauth_clients');
    const context = gatewayContext('identity');
    const [answer] = await Promise.all([
      fetch(`${instance.url}/oauth/register`, {
        method: 'POST',
        headers: { [CALLER_HEADER]: context, 'content-type': 'application/json' },
        body: JSON.stringify({ client_name: 'App', redirect_uris: ['https://app.example/back'] }),
      }),
      cut,
    ]);
    expect([answer.status, await answer.json()]).toEqual([503, { error: 'temporarily_unavailable' }]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  } finally {
    proxy.restore();
    await instance.close();
    await proxy.close();
  }
});
