/** What frequent and expensive requests may cost at most: database commands, and calls of other services. */
import { monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import { testConfig } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../sandbox/src/service.ts';
import { type Harness, join, logIn, PASSWORD, type Person, startHarness } from './support.ts';

let harness: Harness;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
let person: Person;
let referrer: Person;

beforeAll(async () => {
  sandbox = await startSandbox({ port: 0 });
  const { MONGODB_URI } = monitored({ MONGODB_URI: String(testConfig('identity').MONGODB_URI) });
  harness = await startHarness({ MONGODB_URI, KAVENEGAR_BASE_URL: `${sandbox.url}/kavenegar` });
});
afterAll(async () => {
  await harness.close();
  await sandbox.close();
});
beforeEach(async () => {
  person = await join(harness);
  referrer = await join(harness);
  await join(harness, { referral_code: referrer.user.referral_code });
});

/** More than once: what the service does by itself may fall into one of the runs. */
const RUNS = 3;

/** The commands and calls of the cheapest of several runs. The first one also opens what later ones use. */
const costOf = async (work: () => Promise<unknown>) => {
  const watch = watchCommands(harness.config.MONGODB_DATABASE);
  await work();
  const runs = [];
  for (let run = 0; run < RUNS; run += 1) {
    const before = { ...harness.standIns.calls };
    const sent = await watch.during(work);
    const { calls } = harness.standIns;
    runs.push({
      commands: sent.map(({ name, collection }) => `${name} ${collection}`.trim()).toSorted(),
      media: calls.media - before.media,
      subscriptions: calls.subscriptions - before.subscriptions,
      blockers: calls.blockers - before.blockers,
    });
  }
  return runs.reduce((least, one) => (one.commands.length < least.commands.length ? one : least));
};

const me = async ({ caller }: Person): Promise<void> => {
  expect((await harness.send('GET', '/auth/me', { as: caller })).status).toBe(200);
};

const signIn = async ({ user }: Person): Promise<void> => {
  expect((await logIn(harness, user.username)).status).toBe(200);
};

const arm = async ({ caller }: Person, status: number): Promise<void> => {
  const body = { current_password: PASSWORD };
  expect((await harness.send('POST', '/auth/delete-account', { as: caller, body })).status).toBe(status);
};

describe('the own account costs', () => {
  test('two commands, and one call of store-billing', async () => {
    const { commands, ...calls } = await costOf(() => me(person));
    expect(commands).toEqual(['find roles', 'find users']);
    expect(calls).toEqual({ media: 0, subscriptions: 1, blockers: 0 });
  });

  test('two commands more for a user with referrals', async () => {
    const { commands } = await costOf(() => me(referrer));
    expect(commands).toEqual(['aggregate users', 'find referral_scores', 'find roles', 'find users']);
  });
});

test('a log-in costs eight commands, and one call of store-billing', async () => {
  const { commands, ...calls } = await costOf(() => signIn(person));
  expect(commands).toEqual([
    'commitTransaction',
    'find login_keys',
    'find roles',
    'find second_factors',
    'find users',
    'findAndModify sequences',
    'insert tokens',
    'update login_keys',
  ]);
  expect(calls).toEqual({ media: 0, subscriptions: 1, blockers: 0 });
});

describe('phase 1 of deleting an account costs', () => {
  test('one command and one call for each blocker, where one applies', async () => {
    harness.standIns.blockers = [{ userId: person.id, code: 'gym_ownership', extras: { count: 1 } }];
    const { commands, ...calls } = await costOf(() => arm(person, 409));
    expect(commands).toEqual(['find users']);
    expect(calls).toEqual({ media: 0, subscriptions: 0, blockers: 5 });
  });

  test('four commands and one call for each blocker, where none applies', async () => {
    const { commands, ...calls } = await costOf(() => arm(person, 200));
    expect(commands).toEqual([
      'commitTransaction',
      'find users',
      'findAndModify confirmation_codes',
      'findAndModify rate_limits',
    ]);
    expect(calls).toEqual({ media: 0, subscriptions: 0, blockers: 5 });
  });
});
