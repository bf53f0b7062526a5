/**
 * A process is killed while its instances of the service wait, each before another command that a redemption, or a
 * purchase from the wallet, sends its database: what it began is finished or undone by another process, never half,
 * never twice. The tests are what happens one after the other to the same purchases, so they run in the order in which
 * they stand.
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { UserCaller } from '@fitness/shared/caller.ts';
import { MINUTE_MS, systemClock } from '@fitness/shared/clock.ts';
import { type CrashTestProcess, openInstance, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
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
  storeCalls,
  type World,
} from './support.ts';

const PROGRAM = fileURLToPath(new URL('./crash-process.ts', import.meta.url));

let world: World;
let process: CrashTestProcess | undefined;
afterAll(async () => {
  await process?.kill();
  await world.close();
});

interface Case {
  user: UserCaller;
  token: string;
  key: string;
  /** The command before which it was killed; undefined when its request was done. */
  killedBefore: string | undefined;
}

type Request = (send: Send, each: Omit<Case, 'killedBefore'>) => Promise<unknown>;

/** Lets instances come to their first command, to the second, … until one has done everything. */
const stopEverywhere = async (crashing: CrashTestProcess, request: Request): Promise<Case[]> => {
  const cases: Case[] = [];
  for (let nth = 1; ; nth += 1) {
    const each = { user: newUser(), token: newToken(), key: randomUUID() };
    await putPurchase(world, each.token);
    world.wallet.balances.set(each.user.userId, 2 * PREMIUM);
    const instance = await openInstance(crashing, nth);
    const killedBefore = await instance.heldBefore(request(apiClient(instance.url), each));
    cases.push({ ...each, killedBefore });
    if (killedBefore === undefined) return cases;
  }
};

const steps = (cases: Case[]): string[] => cases.flatMap(({ killedBefore }) => killedBefore ?? []);

let redemptions: Case[] = [];
let purchases: Case[] = [];
beforeAll(async () => {
  world = await startWorld({}, systemClock.now());
  // The counters, and everything else that comes into being once.
  const token = newToken();
  await putPurchase(world, token);
  await redeem(world.send, newUser(), token);
  process = startCrashTestProcess(PROGRAM, { ...world.config, LOG_LEVEL: 'silent' });
  redemptions = await stopEverywhere(process, (send, { user, token }) => redeem(send, user, token));
  purchases = await stopEverywhere(process, (send, { user, key }) => buyPremium(send, user, key));
  await process.kill();
});

const recovered = async (): Promise<boolean> => {
  world.clock.advance(2 * MINUTE_MS);
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

  test('has left the grant and its receipt when it was committed, and neither before', async () => {
    for (const { user, token, killedBefore } of redemptions) {
      const grants = await count(world, 'subscriptions', { user_id: user.userId });
      expect(await count(world, 'store_purchases', { purchase_token: token })).toBe(grants);
      const afterCommit = [undefined, 'update refund_queue', 'update store_purchases'].includes(killedBefore);
      expect({ killedBefore, grants }).toEqual({ killedBefore, grants: afterCommit ? 1 : 0 });
    }
  });

  test('is finished by another process once it was journalled: granted once, told, acknowledged, owed to nobody', async () => {
    await eventually(recovered);
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
  });

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
    expect(steps(purchases)).toEqual([
      'insert idempotency_keys',
      'find wallet_purchases',
      'find slots',
      'insert slots',
      'findAndModify sequences',
      'update slots',
      'insert wallet_purchases',
      'commitTransaction',
      'find wallet_purchases',
      'update slots',
      'insert subscriptions',
      'update wallet_purchases',
      'update idempotency_keys',
      'findAndModify sequences',
      'insert outbox',
      'commitTransaction',
      'update idempotency_keys',
    ]);
  });

  test('is charged and granted, or neither, once another process has gone on', async () => {
    await eventually(recovered);
    for (const each of purchases) expect([bought, untouched]).toContainEqual(await outcomeOf(each));
  });

  test('is finished by the same Idempotency-Key, charged once', async () => {
    for (const each of purchases) {
      const again = await buyPremium(world.send, each.user, each.key);
      expect(again.status).toBe(201);
      expect(await outcomeOf(each)).toEqual(bought);
      expect((await buyPremium(world.send, each.user, each.key)).text).toBe(again.text);
    }
  });
});
