/** After a process is killed, another one finishes or undoes each of its purchases once. */
import { fileURLToPath } from 'node:url';
import { MINUTE_MS, systemClock } from '@fitness/shared/kernel/clock.ts';
import { type CrashTestProcess, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import { apiClient, eventually, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buyPremium,
  count,
  type Harness,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startHarness,
  storeCalls,
  unreachable,
} from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

let harness: Harness;
const processes: CrashTestProcess[] = [];
beforeAll(async () => {
  // The killed process uses the system clock, so the other process's clock starts at the same time.
  harness = await startHarness({}, systemClock.now());
});
afterAll(async () => {
  for (const process of processes) await process.kill();
  await harness.close();
});

interface Crashing {
  send: Send;
  kill(): Promise<void>;
}

/** The service in its own process on the same database. */
const startProcess = async (): Promise<Crashing> => {
  const process = startCrashTestProcess(MAIN, {
    ...harness.config,
    NODE_ENV: 'development',
    LOG_LEVEL: 'info',
  });
  processes.push(process);
  return { send: apiClient('store-billing', await process.url()), kill: () => process.kill() };
};

/** The process is killed, so the request fails. */
const ignoreFailure = (request: Promise<unknown>): Promise<unknown> => request.catch(() => undefined);

const recover = async (): Promise<void> => {
  harness.clock.advance(2 * MINUTE_MS);
  await harness.service.rounds.sweepWalletPurchases();
  await harness.service.rounds.verifyAttempts();
};

const recovered = async (): Promise<boolean> => {
  await recover();
  const open = await count(harness, 'store_purchase_attempts', { state: 'open' });
  return open === 0 && (await count(harness, 'wallet_purchases', { state: 'reserved' })) === 0;
};

describe('killed', () => {
  test('a purchase whose process is killed while the store is asked is granted by another process', async () => {
    const crashing = await startProcess();
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token, 'slow');
    const request = ignoreFailure(redeem(crashing.send, user, token));
    await eventually(async () => (await storeCalls(harness, token)) === 1);
    await crashing.kill();
    await request;
    expect(await count(harness, 'store_purchase_attempts', { purchase_token: token, state: 'open' })).toBe(1);
    await putPurchase(harness, token, 'purchased');
    await recover();
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect((await redeem(harness.send, user, token)).status).toBe(200);
  });

  test('a process killed between booking and grant leads to one grant and one charge', async () => {
    const crashing = await startProcess();
    const user = newUser();
    harness.wallet.balances.set(user.userId, PREMIUM);
    harness.wallet.after = async () => {
      harness.wallet.after = async () => undefined;
      await crashing.kill();
      await unreachable();
    };
    await ignoreFailure(buyPremium(crashing.send, user));
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(0);
    await recover();
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(harness.wallet.balances.get(user.userId)).toBe(0);
  });

  test('a redemption that waits for a killed wallet purchase is granted, and the charge refunded', async () => {
    const crashing = await startProcess();
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token);
    harness.wallet.balances.set(user.userId, PREMIUM);
    harness.wallet.after = async () => {
      harness.wallet.after = async () => undefined;
      await crashing.kill();
      await unreachable();
    };
    const [redeemed] = await Promise.all([
      eventually(() => count(harness, 'wallet_purchases', { user_id: user.userId }).then(Boolean)).then(() =>
        redeem(harness.send, user, token),
      ),
      ignoreFailure(buyPremium(crashing.send, user)),
    ]);
    expect(redeemed.status).toBe(201);
    await recover();
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(harness.wallet.bookings(user.userId, 'income')).toHaveLength(1);
    expect(harness.wallet.balances.get(user.userId)).toBe(PREMIUM);
    expect(await count(harness, 'refund_queue', { user_id: user.userId })).toBe(0);
  });

  test('a purchase killed before its booking is undone if the balance is too low, freeing the slot', async () => {
    const crashing = await startProcess();
    const user = newUser();
    harness.wallet.before = async () => {
      harness.wallet.before = async () => undefined;
      await crashing.kill();
      await unreachable();
    };
    await ignoreFailure(buyPremium(crashing.send, user));
    expect(await count(harness, 'wallet_purchases', { user_id: user.userId, state: 'reserved' })).toBe(1);
    await recover();
    expect(await count(harness, 'wallet_purchases', { user_id: user.userId, state: 'undone' })).toBe(1);
    harness.wallet.balances.set(user.userId, PREMIUM);
    expect((await buyPremium(harness.send, user)).status).toBe(201);
  });

  test.each([1, 12])(
    'each paid purchase is granted once after a kill with %i of 24 purchases started',
    async (underWay) => {
      const crashing = await startProcess();
      const redeemers = Array.from({ length: 12 }, () => ({ user: newUser(), token: newToken() }));
      const buyers = Array.from({ length: 12 }, () => newUser());
      for (const { token } of redeemers) await putPurchase(harness, token);
      for (const { userId } of buyers) harness.wallet.balances.set(userId, PREMIUM);
      // At least one purchase is under way at the kill.
      let release = (): void => undefined;
      const killed = new Promise<void>((resolve) => {
        release = resolve;
      });
      harness.wallet.before = async ([booking]) => {
        if (booking?.user_id === buyers[0]?.userId) await killed;
      };
      const requests = [
        ...redeemers.flatMap(({ user, token }) => [
          ignoreFailure(redeem(crashing.send, user, token)),
          ignoreFailure(redeem(crashing.send, user, token)),
        ]),
        ...buyers.map((user) => ignoreFailure(buyPremium(crashing.send, user))),
      ];
      const users = [...redeemers.map(({ user }) => user), ...buyers].map(({ userId }) => userId);
      const started = async (): Promise<number> =>
        (await count(harness, 'store_purchase_attempts', { user_id: { $in: users } })) +
        (await count(harness, 'wallet_purchases', { user_id: { $in: users } }));
      await eventually(async () => (await started()) >= underWay, { intervalMs: 1 });
      await crashing.kill();
      release();
      await Promise.all(requests);
      const open = await count(harness, 'store_purchase_attempts', { state: 'open' });
      const reserved = await count(harness, 'wallet_purchases', { state: 'reserved' });
      expect(open + reserved).toBeGreaterThan(0);
      await eventually(recovered);
      for (const { user, token } of redeemers) {
        // The background grants what is in the journal; all other tokens are granted now.
        const answer = await redeem(harness.send, user, token);
        expect([200, 201]).toContain(answer.status);
        expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
      }
      for (const { userId } of buyers) {
        const charged = harness.wallet.bookings(userId, 'purchase').length;
        expect(await count(harness, 'subscriptions', { user_id: userId })).toBe(charged);
        expect(charged).toBeLessThanOrEqual(1);
        expect(await count(harness, 'wallet_purchases', { user_id: userId, state: 'reserved' })).toBe(0);
      }
      const due = await count(harness, 'refund_queue', { user_id: { $in: users } });
      expect(due).toBe(0);
    },
  );
});
