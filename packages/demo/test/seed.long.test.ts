import { createLog } from '@fitness/shared/kernel/log.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createDemoApi } from '../src/api.ts';
import { startDemoSeed } from '../src/seed.ts';
import { seedAccounts } from '../src/seed-accounts.ts';
import { type FakePlatform, type FakeUser, startFakePlatform } from './fake-platform.ts';

let platform: FakePlatform;
beforeEach(async () => {
  platform = await startFakePlatform();
});
afterEach(() => platform.close());

const log = createLog({ service: 'test', level: 'silent' });
const administrator = { username: 'administrator', password: 'demo-password-1' };

const seed = async ({ hasBank = true } = {}): Promise<void> => {
  platform.requests = [];
  const sandboxUrl = hasBank ? platform.url : undefined;
  const api = createDemoApi({ apiUrl: platform.url, sandboxUrl, signal: new AbortController().signal });
  await seedAccounts({ api, administrator, hasBank, log });
};

const user = (username: string): FakeUser => {
  const match = platform.users.find((other) => other.username === username);
  if (match === undefined) throw new Error(`there is no ${username}`);
  return match;
};

/** The demo data, without ids. */
const snapshot = (): unknown => ({
  accounts: Object.fromEntries(
    platform.users.map(({ username, phone, roles, subscribed }) => [
      username,
      [phone, roles.map(({ name }) => name), subscribed],
    ]),
  ),
  balances: Object.fromEntries(platform.users.map((other) => [other.username, platform.balanceOf(other)])),
  gyms: platform.gyms.map((gym) => gym.user_id === user('owner').id),
  posts: platform.posts.map(({ title, user_id: id, is_draft: isDraft, media }) => [
    title,
    id === user('owner').id,
    isDraft,
    media.length,
  ]),
  services: platform.services.map((service) => service.user_id === user('trainer').id),
  trainees: platform.trainees.map((trainee) => trainee.buyer_id === user('athlete').id),
  payments: platform.payments
    .map(({ user_id: id, type, amount, is_done: isDone }) => {
      const payer = platform.users.find((other) => other.id === id)?.username;
      return `${payer} ${type} ${amount} ${isDone ? 'done' : 'pending'}`;
    })
    .sort(),
});

const CONTRACT = {
  accounts: {
    administrator: ['+989120000001', ['administrator'], false],
    operator: ['+989120000002', ['operator'], false],
    athlete: ['+989120000003', ['member'], false],
    owner: ['+989120000004', ['member'], false],
    trainer: ['+989120000005', ['member'], false],
    premium: ['+989120000006', ['member'], true],
    saver: ['+989120000007', ['member'], false],
  },
  balances: { administrator: 0, operator: 0, athlete: 0, owner: 0, trainer: 0, premium: 0, saver: 250_000 },
  gyms: [true],
  posts: [
    ['Three exercises for your back', true, false, 1],
    ['صبحانهٔ پیش از تمرین', true, false, 1],
    ['New routes on the climbing wall', true, false, 1],
  ],
  services: [true],
  trainees: [true],
  payments: [
    'athlete deposit 500000 done',
    'athlete purchase 500000 done',
    'premium deposit 1999000 done',
    'premium purchase 1999000 done',
    'saver deposit 300000 done',
    'saver withdrawal 50000 pending',
    'trainer commission 50000 done',
    'trainer income 500000 done',
    'trainer withdrawal 450000 done',
  ],
};

describe('the demo data', () => {
  test('the demo data matches the contract, and each account has exactly its blockers', async () => {
    await seed();
    expect(snapshot()).toEqual(CONTRACT);
    expect(platform.users.map(({ password }) => password)).toEqual(Array(7).fill('demo-password-1'));
    expect(user('athlete').email).toBe('athlete@example.com');
  });

  test('a second start changes nothing', async () => {
    await seed();
    const before = structuredClone([platform.users, platform.payments, platform.gyms]);
    await seed();
    expect([platform.users, platform.payments, platform.gyms]).toEqual(before);
    expect(new Set(platform.requests)).toEqual(new Set(['POST /auth/register', 'POST /auth/login']));
  });

  test.each(['lost before', 'lost after'] as const)(
    'a start that is interrupted at any request (%s its effect) is completed by the next',
    async (fault) => {
      await seed();
      const total = platform.requests.length;
      expect(total).toBeGreaterThan(40);
      for (let cutAt = 1; cutAt <= total; cutAt += 1) {
        await platform.close();
        platform = await startFakePlatform();
        platform.faultAt = (request) =>
          request >= cutAt ? (request === cutAt ? fault : 'lost before') : undefined;
        await expect(seed()).rejects.toThrow();
        platform.faultAt = () => undefined;
        await seed();
        expect([cutAt, snapshot()]).toEqual([cutAt, CONTRACT]);
      }
    },
  );

  test('repeated interruptions do not change the result', async () => {
    for (let cutAt = 5; cutAt <= 60; cutAt += 5) {
      platform.faultAt = (request) => (request >= cutAt ? 'lost after' : undefined);
      await seed().catch(() => undefined);
    }
    platform.faultAt = () => undefined;
    await seed();
    // Requests may have had effects before an interruption, and those without a key may have been repeated.
    expect(snapshot()).toMatchObject({ balances: CONTRACT.balances, trainees: [true] });
  });

  test('a payment that the bank has lost is replaced', async () => {
    platform.faultAt = (_request, name) => (name.startsWith('POST /_sandbox') ? 'lost before' : undefined);
    await expect(seed()).rejects.toThrow();
    platform.faultAt = () => undefined;
    platform.losePayments();
    const lost = platform.payments.splice(0);
    expect(lost.map(({ is_done: isDone }) => isDone)).toEqual([false, false, false]);
    await seed();
    expect(snapshot()).toEqual(CONTRACT);
  });

  test('a request is repeated after a 503', async () => {
    const failed = new Set<string>();
    platform.faultAt = (_request, name) => {
      if (
        failed.has(name) ||
        name === 'POST /auth/register' ||
        /^POST .*\/pay$|^POST \/(gyms|media|posts|training-services)$/.test(name)
      ) {
        return undefined;
      }
      failed.add(name);
      return 'unavailable';
    };
    await seed();
    expect(snapshot()).toEqual(CONTRACT);
    expect(failed.size).toBeGreaterThan(10);
  });
});

describe('data that a user has changed', () => {
  beforeEach(() => seed());

  test('an account with a changed password is not modified', async () => {
    user('saver').password = 'my own password';
    const before = structuredClone(user('saver'));
    await seed();
    expect(user('saver')).toEqual(before);
    expect(platform.users).toHaveLength(7);
  });

  test('an account with a pending deletion is not modified', async () => {
    Object.assign(user('athlete'), { deletion_requested_at: '2026-01-01 00:00:00', height: null });
    const before = structuredClone(user('athlete'));
    await seed();
    expect(user('athlete')).toEqual(before);
  });

  test('deleted, paid out or revoked data is not restored', async () => {
    platform.gyms.length = 0;
    platform.posts.length = 0;
    platform.trainees.length = 0;
    user('premium').subscribed = false;
    user('operator').roles = [];
    const pending = platform.payments.find(({ is_done: isDone }) => !isDone);
    Object.assign(pending ?? {}, { rejected_at: '2026-01-01 00:00:00' });
    const before = structuredClone([platform.users, platform.payments]);
    await seed();
    expect([platform.users, platform.payments]).toEqual(before);
    expect([platform.gyms, platform.posts, platform.trainees]).toEqual([[], [], []]);
  });

  test('a changed administrator password postpones only the steps that need the operator', async () => {
    await platform.close();
    platform = await startFakePlatform();
    user('administrator').password = 'my own password';
    await seed();
    expect(platform.balanceOf(user('saver'))).toBe(250_000);
    expect(user('operator').roles.map(({ name }) => name)).toEqual(['member']);
    user('administrator').password = 'demo-password-1';
    await seed();
    expect(snapshot()).toEqual(CONTRACT);
  });
});

describe('a seed without a bank', () => {
  test('accounts, a gym and a training service are created, and a later start with a bank adds the payments', async () => {
    await seed({ hasBank: false });
    expect(platform.users).toHaveLength(7);
    expect([platform.gyms.length, platform.services.length, platform.payments.length]).toEqual([1, 1, 0]);
    await seed();
    expect(snapshot()).toEqual(CONTRACT);
  });
});

describe('startDemoSeed', () => {
  const start = (servicesReady: () => Promise<boolean>) =>
    startDemoSeed({
      apiUrl: platform.url,
      sandboxUrl: platform.url,
      administrator,
      servicesReady,
      identityReady: async () => true,
      log,
    });

  test('the seed waits for the services and is done when the data is complete', async () => {
    let ready = false;
    let checks = 0;
    const seeding = start(async () => {
      checks += 1;
      return ready;
    });
    await eventually(() => checks >= 2);
    expect([seeding.isDone(), platform.requests]).toEqual([false, []]);
    ready = true;
    await eventually(() => seeding.isDone());
    expect(snapshot()).toEqual(CONTRACT);
    await seeding.stop();
  });

  test('the seed calls only identity if the data is complete, even while a service is down', async () => {
    await seed();
    platform.requests = [];
    const seeding = start(async () => false);
    await eventually(() => seeding.isDone());
    expect(new Set(platform.requests)).toEqual(new Set(['POST /auth/register', 'POST /auth/login']));
    expect(snapshot()).toEqual(CONTRACT);
    await seeding.stop();
  });

  test('the seed waits for a service that is down while the data is incomplete', async () => {
    await seed();
    user('premium').height = null;
    platform.requests = [];
    let ready = false;
    let checks = 0;
    const seeding = start(async () => {
      checks += 1;
      return ready;
    });
    await eventually(() => platform.requests.length > 0);
    const seen = checks;
    await eventually(() => checks >= seen + 2);
    expect(seeding.isDone()).toBe(false);
    ready = true;
    await eventually(() => seeding.isDone());
    expect(user('premium').height).not.toBeNull();
    expect(snapshot()).toEqual(CONTRACT);
    await seeding.stop();
  });

  test('the seed retries after a failure', async () => {
    platform.faultAt = (request) => (request === 20 ? 'lost before' : undefined);
    const seeding = start(async () => true);
    await eventually(() => seeding.isDone());
    expect(snapshot()).toEqual(CONTRACT);
    await seeding.stop();
  });

  test('the seed stops at once', async () => {
    const seeding = start(async () => false);
    const startedAt = performance.now();
    await seeding.stop();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(seeding.isDone()).toBe(false);
  });
});
