/**
 * A redemption and a wallet purchase, killed before each of their database commands: one process runs many instances of
 * the service, each stopped before another command, and is killed. Another process then finishes or undoes each purchase
 * once. The tests are consecutive steps on the same purchases, so their order matters. kill-points.test.ts kills at the commits,
 * kill-points.long.test.ts before every command.
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { MINUTE_MS, systemClock } from '@fitness/shared/kernel/clock.ts';
import { type CrashTestProcess, openInstance, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import { apiClient, eventually, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  buyPremium,
  count,
  type Harness,
  isConsumed,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startHarness,
  storeCalls,
} from './support.ts';

const PROGRAM = fileURLToPath(new URL('./crash-process.ts', import.meta.url));

/** The commands of each request, in their order. */
const COMMANDS = {
  redemption: [
    'aggregate',
    'update store_purchase_attempts',
    'findAndModify sequences',
    'find refund_queue',
    'update store_purchase_attempts',
    'insert store_purchases',
    'insert slots',
    'insert subscriptions',
    'findAndModify sequences',
    'insert outbox',
    'commitTransaction',
    'update refund_queue',
    'update store_purchases',
  ],
  purchase: [
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
  ],
};

let harness: Harness;
let process: CrashTestProcess | undefined;

interface Case {
  user: UserCaller;
  token: string;
  key: string;
  /** The command before which it was killed; undefined if the request had completed. */
  killedBefore: string | undefined;
}

type Request = (send: Send, each: Omit<Case, 'killedBefore'>) => Promise<unknown>;

/** Stops one instance before its `nth` command. */
const stopBefore = async (crashing: CrashTestProcess, nth: number, request: Request): Promise<Case> => {
  const each = { user: newUser(), token: newToken(), key: randomUUID() };
  await putPurchase(harness, each.token);
  harness.wallet.balances.set(each.user.userId, 2 * PREMIUM);
  const instance = await openInstance(crashing, nth);
  const killedBefore = await instance.heldBefore(request(apiClient('store-billing', instance.url), each));
  return { ...each, killedBefore };
};

/** Stops one instance before its first command, one before its second, and so on, until one completes. */
const stopEverywhere = async (crashing: CrashTestProcess, request: Request): Promise<Case[]> => {
  const cases: Case[] = [];
  for (let nth = 1; ; nth += 1) {
    const stopped = await stopBefore(crashing, nth, request);
    cases.push(stopped);
    if (stopped.killedBefore === undefined) return cases;
  }
};

/** Allows extra kills, because on a busy machine the driver may repeat a transaction, which is then killed again. */
const expectKilledAt = (cases: Case[], expected: readonly string[]): void => {
  const killed = cases.flatMap(({ killedBefore }) => killedBefore ?? []);
  const missing = expected.filter((step) => {
    const at = killed.indexOf(step);
    if (at >= 0) killed.splice(at, 1);
    return at < 0;
  });
  expect(missing).toEqual([]);
  expect(expected).toEqual(expect.arrayContaining(killed));
};

/** On a busy machine the driver may repeat a transaction, and another command is the nth. */
const MAX_CASES = 20;

let redemptions: Case[] = [];
let purchases: Case[] = [];
const start = async (points: KillPoints): Promise<void> => {
  harness = await startHarness({}, systemClock.now());
  // Creates the counters and everything else that is created once.
  const token = newToken();
  await putPurchase(harness, token);
  await redeem(harness.send, newUser(), token);
  const crashing = startCrashTestProcess(PROGRAM, { ...harness.config, LOG_LEVEL: 'silent' });
  process = crashing;
  const stopAt = async (name: keyof KillPoints, request: Request): Promise<Case[]> => {
    const cases: Case[] = [];
    for (const nth of points[name] ?? [])
      do cases.push(await stopBefore(crashing, nth, request));
      while (cases.at(-1)?.killedBefore !== COMMANDS[name][nth - 1] && cases.length < MAX_CASES);
    return points[name] === undefined ? stopEverywhere(crashing, request) : cases;
  };
  redemptions = await stopAt('redemption', (send, { user, token }) => redeem(send, user, token));
  purchases = await stopAt('purchase', (send, { user, key }) => buyPremium(send, user, key));
  await crashing.kill();
  // What ten seconds would do: the killed process may hold the lease of the outbox.
  await harness.database.collection('relay_leases').updateMany({}, { $set: { until: new Date(0) } });
};

const recovered = async (): Promise<boolean> => {
  harness.clock.advance(2 * MINUTE_MS);
  const { rounds } = harness.service;
  await Promise.all([rounds.verifyAttempts(), rounds.acknowledgePurchases(), rounds.sweepWalletPurchases()]);
  const left = await Promise.all([
    count(harness, 'store_purchase_attempts', { state: 'open' }),
    count(harness, 'store_purchases', { acknowledge_due_at: { $ne: null } }),
    count(harness, 'wallet_purchases', { state: { $in: ['reserved', 'refunding'] } }),
  ]);
  return left.every((open) => open === 0);
};

/** Numbers of commands before which the process is killed; without them, before each command. */
interface KillPoints {
  redemption?: readonly number[];
  purchase?: readonly number[];
}

export const testKillPoints = (points: KillPoints = {}): void => {
  beforeAll(() => start(points));
  afterAll(async () => {
    await process?.kill();
    await harness.close();
  });

  test('each request was killed before the expected commands', () => {
    for (const [cases, name] of [
      [redemptions, 'redemption'],
      [purchases, 'purchase'],
    ] as const)
      expectKilledAt(
        cases,
        COMMANDS[name].filter((_, index) => points[name]?.includes(index + 1) ?? true),
      );
  });

  test('a killed redemption leaves grant and receipt after the commit, and neither before', async () => {
    for (const { user, token, killedBefore } of redemptions) {
      const grants = await count(harness, 'subscriptions', { user_id: user.userId });
      expect(await count(harness, 'store_purchases', { purchase_token: token })).toBe(grants);
      const afterCommit = [undefined, 'update refund_queue', 'update store_purchases'].includes(killedBefore);
      expect({ killedBefore, grants }).toEqual({ killedBefore, grants: afterCommit ? 1 : 0 });
    }
  });

  test('another process finishes each journaled redemption: granted, published and acknowledged once', async () => {
    await eventually(recovered);
    expect(await count(harness, 'refund_queue', {})).toBe(0);
    for (const { user, token, killedBefore } of redemptions) {
      const journalled = await count(harness, 'store_purchase_attempts', { purchase_token: token });
      expect(await count(harness, 'store_purchases', { purchase_token: token })).toBe(journalled);
      expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(journalled);
      expect(await isConsumed(harness, token, 'premium_plus')).toBe(journalled === 1);
      if (killedBefore === 'aggregate') expect(journalled).toBe(0);
      const mine = (event: { type: string; data: unknown }): boolean =>
        event.type === 'store_billing.store_purchase.granted' &&
        (event.data as { user_id: number }).user_id === user.userId;
      if (journalled === 1) await eventually(() => harness.tap.events.some(mine));
      // Delivery is at least once, so events are counted by id.
      expect(new Set(harness.tap.events.filter(mine).map(({ id }) => id)).size).toBe(journalled);
    }
  });

  test('a killed redemption that is presented again is a replay or a grant, and 404 for others', async () => {
    for (const { user, token } of redemptions) {
      const receipts = await count(harness, 'store_purchases', { purchase_token: token });
      const calls = await storeCalls(harness, token);
      expect((await redeem(harness.send, user, token)).status).toBe(receipts === 1 ? 200 : 201);
      expect((await storeCalls(harness, token)) - calls).toBe(1 - receipts);
      expect((await redeem(harness.send, newUser(), token)).status).toBe(404);
      expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    }
  });
  const outcomeOf = async ({ user }: Case) => ({
    charges: harness.wallet.bookings(user.userId, 'purchase').length,
    refunds: harness.wallet.bookings(user.userId, 'income').length,
    grants: await count(harness, 'subscriptions', { user_id: user.userId }),
    balance: harness.wallet.balances.get(user.userId),
  });
  const bought = { charges: 1, refunds: 0, grants: 1, balance: PREMIUM };
  const untouched = { charges: 0, refunds: 0, grants: 0, balance: 2 * PREMIUM };

  test('a killed wallet purchase ends both charged and granted, or neither', async () => {
    await eventually(recovered);
    for (const each of purchases) expect([bought, untouched]).toContainEqual(await outcomeOf(each));
  });

  test('the same Idempotency-Key finishes a killed wallet purchase, charged once', async () => {
    for (const each of purchases) {
      const again = await buyPremium(harness.send, each.user, each.key);
      expect(again.status).toBe(201);
      expect(await outcomeOf(each)).toEqual(bought);
      expect((await buyPremium(harness.send, each.user, each.key)).text).toBe(again.text);
    }
  });
};
