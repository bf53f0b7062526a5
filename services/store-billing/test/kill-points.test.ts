/**
 * The process is killed before each command that a redemption, or a purchase from the wallet, sends its database: what
 * it began is finished or undone by another process, never half, never twice. The tests are what happens one after the
 * other to the same purchases, so they run in the order in which they stand.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { UserCaller } from '@fitness/shared/caller.ts';
import { MINUTE_MS, systemClock } from '@fitness/shared/clock.ts';
import { apiClient, eventually, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buyPremium,
  count,
  isConsumed,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startWorld,
  stirTransactions,
  storeCalls,
  type World,
} from './support.ts';

const VICTIM = fileURLToPath(new URL('./victim.ts', import.meta.url));
/** Processes at a time; each of them starts a whole service. */
const AT_ONCE = 3;
/** The database keeps what a dead process's transaction had locked for up to a minute, and one may wait for another. */
const RECOVERY_MS = 290_000;

let world: World;
const children = new Set<ChildProcess>();
beforeAll(async () => {
  world = await startWorld({}, systemClock.now());
  // The counters, and everything else that comes into being once.
  const token = newToken();
  await putPurchase(world, token);
  await redeem(world.send, newUser(), token);
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await world.close();
}, 120_000);

interface Case {
  user: UserCaller;
  token: string;
  key: string;
  /** Where it was killed; undefined when it survived its request. */
  killedBefore?: string | undefined;
  status?: number | undefined;
}

/** Starts a process, sends it one request and lets it die before the `killAt`-th command of that. */
const runVictim = async (
  killAt: number,
  request: (send: Send, each: Case) => Promise<{ status: number }>,
) => {
  const each: Case = { user: newUser(), token: newToken(), key: randomUUID() };
  await putPurchase(world, each.token);
  world.wallet.balances.set(each.user.userId, 2 * PREMIUM);
  const child = fork(VICTIM, {
    env: { PATH: process.env.PATH, ...world.variables, LOG_LEVEL: 'silent' },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  children.add(child);
  let said = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  const armed = once(child, 'message');
  child.send({ killAt });
  await armed;
  // With all that it has said.
  const exited = once(child, 'close');
  const answer = await request(apiClient(url), each).catch(() => undefined);
  each.status = answer?.status;
  // What follows the answer has its commands too.
  const idle = once(child, 'message');
  child.send({ tellWhenIdle: true }, () => undefined);
  await Promise.race([exited, idle]);
  child.kill('SIGKILL');
  await exited;
  children.delete(child);
  each.killedBefore = /killed before (.*)\n/.exec(said)?.[1]?.trim();
  return each;
};

/** Kills at the first command, the second, … until one survives. */
const killEverywhere = async (request: Parameters<typeof runVictim>[1]): Promise<Case[]> => {
  const cases: Case[] = [];
  while (cases.every(({ killedBefore }) => killedBefore !== undefined)) {
    const next = Array.from({ length: AT_ONCE }, (_, index) => cases.length + index + 1);
    cases.push(...(await Promise.all(next.map((killAt) => runVictim(killAt, request)))));
  }
  return cases;
};

const steps = (cases: Case[]): string[] => cases.flatMap(({ killedBefore }) => killedBefore ?? []);

let redemptions: Case[] = [];
let purchases: Case[] = [];
/** All of them first: what their transactions had locked becomes free for all of them in the same minute. */
beforeAll(async () => {
  redemptions = await killEverywhere((send, { user, token }) => redeem(send, user, token));
  purchases = await killEverywhere((send, { user, key }) => buyPremium(send, user, key));
}, 240_000);

const recovered = async (): Promise<boolean> => {
  world.clock.advance(2 * MINUTE_MS);
  await stirTransactions(world);
  const { rounds } = world.service;
  await Promise.all([rounds.verifyAttempts(), rounds.acknowledgeAll(), rounds.sweepWalletPurchases()]);
  const left = await Promise.all([
    count(world, 'store_purchase_attempts', { state: 'open' }),
    count(world, 'store_purchases', { acknowledge_due_at: { $ne: null } }),
    count(world, 'wallet_purchases', { state: { $in: ['reserved', 'refunding'] } }),
  ]);
  return left.every((open) => open === 0);
};

describe('a redemption, killed before each of its commands', () => {
  test('is at every step of it killed once', () => {
    expect(steps(redemptions).toSorted()).toEqual(
      [
        'aggregate',
        'update store_purchase_attempts',
        'findAndModify sequences',
        'update store_purchase_attempts',
        'insert store_purchases',
        'insert slots',
        'insert subscriptions',
        'findAndModify sequences',
        'insert outbox',
        'commitTransaction',
        'update refund_queue',
        'update store_purchases',
      ].toSorted(),
    );
  });

  test('has left the grant and its receipt, or neither', async () => {
    for (const { user, token } of redemptions)
      expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(
        await count(world, 'store_purchases', { purchase_token: token }),
      );
  });

  test(
    'is finished by another process once it was journalled: granted once, told, acknowledged, owed to nobody',
    async () => {
      await eventually(recovered, { timeoutMs: RECOVERY_MS, intervalMs: 500 });
      expect(await count(world, 'refund_queue', {})).toBe(0);
      for (const { user, token, killedBefore } of redemptions) {
        const journalled = await count(world, 'store_purchase_attempts', { purchase_token: token });
        expect(await count(world, 'store_purchases', { purchase_token: token })).toBe(journalled);
        expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(journalled);
        expect(await isConsumed(world, token, 'premium_plus')).toBe(journalled === 1);
        if (killedBefore === 'aggregate') expect(journalled).toBe(0);
        const mine = (event: { type: string; data: unknown }): boolean =>
          event.type === 'store_billing.store_purchase.granted' &&
          (event.data as { user_id: number }).user_id === user.userId;
        if (journalled === 1) await eventually(() => world.tap.events.some(mine));
        // Delivered more than once perhaps, but never another event.
        expect(new Set(world.tap.events.filter(mine).map(({ id }) => id)).size).toBe(journalled);
      }
    },
    RECOVERY_MS + 30_000,
  );

  test('presented again is a replay without a question, or granted now; another’s is 404', async () => {
    for (const { user, token } of redemptions) {
      const known = await count(world, 'store_purchases', { purchase_token: token });
      const calls = await storeCalls(world, token);
      expect((await redeem(world.send, user, token)).status).toBe(known === 1 ? 200 : 201);
      expect((await storeCalls(world, token)) - calls).toBe(1 - known);
      expect((await redeem(world.send, newUser(), token)).status).toBe(404);
      expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
    }
  });
});

describe('a purchase from the wallet, killed before each of its commands', () => {
  const outcomeOf = async ({ user }: Case) => ({
    charges: world.wallet.bookings(user.userId, 'purchase').length,
    refunds: world.wallet.bookings(user.userId, 'income').length,
    grants: await count(world, 'subscriptions', { user_id: user.userId }),
    balance: world.wallet.balances.get(user.userId),
  });
  const bought = { charges: 1, refunds: 0, grants: 1, balance: PREMIUM };
  const untouched = { charges: 0, refunds: 0, grants: 0, balance: 2 * PREMIUM };

  test('is killed in both of its transactions, and before, between and after them', () => {
    const killed = steps(purchases);
    expect(killed.filter((step) => step === 'commitTransaction')).toHaveLength(2);
    expect(killed).toEqual(
      expect.arrayContaining([
        'insert idempotency_keys',
        'insert wallet_purchases',
        'insert subscriptions',
        'update wallet_purchases',
        'insert outbox',
      ]),
    );
  });

  test('is charged and granted, or neither, once another process has gone on', async () => {
    await eventually(recovered, { timeoutMs: RECOVERY_MS, intervalMs: 500 });
    for (const each of purchases) expect([bought, untouched]).toContainEqual(await outcomeOf(each));
  }, 180_000);

  test('is finished by the same Idempotency-Key, charged once', async () => {
    for (const each of purchases) {
      const again = await buyPremium(world.send, each.user, each.key);
      expect(again.status).toBe(201);
      expect(await outcomeOf(each)).toEqual(bought);
      expect((await buyPremium(world.send, each.user, each.key)).text).toBe(again.text);
    }
  });
});
