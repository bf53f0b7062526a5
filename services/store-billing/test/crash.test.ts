/** A process that is killed, at whatever step: what it began is finished or undone by another one, and never twice. */
import { fileURLToPath } from 'node:url';
import { MINUTE_MS, systemClock } from '@fitness/shared/clock.ts';
import { type CrashTestProcess, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import { apiClient, eventually, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buyPremium,
  count,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startWorld,
  storeCalls,
  unreachable,
  type World,
} from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

let world: World;
const processes: CrashTestProcess[] = [];
beforeAll(async () => {
  // The killed process runs by the system's clock, so the one that comes after it begins there.
  world = await startWorld({}, systemClock.now());
});
afterAll(async () => {
  for (const process of processes) await process.kill();
  await world.close();
});

interface Crashing {
  send: Send;
  kill(): Promise<void>;
}

/** The service as it runs in production, as a process of its own over the same database. */
const startProcess = async (): Promise<Crashing> => {
  const process = startCrashTestProcess(MAIN, {
    ...world.config,
    NODE_ENV: 'production',
    LOG_LEVEL: 'info',
  });
  processes.push(process);
  return { send: apiClient(await process.url()), kill: process.kill };
};

/** Nobody is left to answer: whatever the client sees is no answer. */
const cut = (request: Promise<unknown>): Promise<unknown> => request.catch(() => undefined);

const recover = async (): Promise<void> => {
  world.clock.advance(2 * MINUTE_MS);
  await world.service.rounds.sweepWalletPurchases();
  await world.service.rounds.verifyAttempts();
};

const recovered = async (): Promise<boolean> => {
  await recover();
  const open = await count(world, 'store_purchase_attempts', { state: 'open' });
  return open === 0 && (await count(world, 'wallet_purchases', { state: 'reserved' })) === 0;
};

describe('killed', () => {
  test('while the store is asked: another process asks again and grants', async () => {
    const crashing = await startProcess();
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token, 'slow');
    const request = cut(redeem(crashing.send, user, token));
    await eventually(async () => (await storeCalls(world, token)) === 1);
    await crashing.kill();
    await request;
    expect(await count(world, 'store_purchase_attempts', { purchase_token: token, state: 'open' })).toBe(1);
    await putPurchase(world, token, 'purchased');
    await recover();
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect((await redeem(world.send, user, token)).status).toBe(200);
  });

  test('between the wallet’s booking and the grant: granted once, charged once', async () => {
    const crashing = await startProcess();
    const user = newUser();
    world.wallet.balances.set(user.userId, PREMIUM);
    world.wallet.after = async () => {
      world.wallet.after = async () => undefined;
      await crashing.kill();
      await unreachable();
    };
    await cut(buyPremium(crashing.send, user));
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(0);
    await recover();
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(world.wallet.balances.get(user.userId)).toBe(0);
  });

  test('after the wallet’s booking, while a store redemption wants the same slot: the redemption is granted, the charge given back', async () => {
    const crashing = await startProcess();
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token);
    world.wallet.balances.set(user.userId, PREMIUM);
    world.wallet.after = async () => {
      world.wallet.after = async () => undefined;
      await crashing.kill();
      await unreachable();
    };
    const [redeemed] = await Promise.all([
      eventually(() => count(world, 'wallet_purchases', { user_id: user.userId }).then(Boolean)).then(() =>
        redeem(world.send, user, token),
      ),
      cut(buyPremium(crashing.send, user)),
    ]);
    expect(redeemed.status).toBe(201);
    await recover();
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(world.wallet.bookings(user.userId, 'income')).toHaveLength(1);
    expect(world.wallet.balances.get(user.userId)).toBe(PREMIUM);
    expect(await count(world, 'refund_queue', { user_id: user.userId })).toBe(0);
  });

  test('before the wallet has booked: undone when the money is not there, and the slot is free', async () => {
    const crashing = await startProcess();
    const user = newUser();
    world.wallet.before = async () => {
      world.wallet.before = async () => undefined;
      await crashing.kill();
      await unreachable();
    };
    await cut(buyPremium(crashing.send, user));
    expect(await count(world, 'wallet_purchases', { user_id: user.userId, state: 'reserved' })).toBe(1);
    await recover();
    expect(await count(world, 'wallet_purchases', { user_id: user.userId, state: 'undone' })).toBe(1);
    world.wallet.balances.set(user.userId, PREMIUM);
    expect((await buyPremium(world.send, user)).status).toBe(201);
  });

  test.each([1, 12])(
    'with %i of 24 purchases under way: nobody pays for nothing, nothing is given twice',
    async (underWay) => {
      const crashing = await startProcess();
      const redeemers = Array.from({ length: 12 }, () => ({ user: newUser(), token: newToken() }));
      const buyers = Array.from({ length: 12 }, () => newUser());
      for (const { token } of redeemers) await putPurchase(world, token);
      for (const { userId } of buyers) world.wallet.balances.set(userId, PREMIUM);
      const requests = [
        ...redeemers.flatMap(({ user, token }) => [
          cut(redeem(crashing.send, user, token)),
          cut(redeem(crashing.send, user, token)),
        ]),
        ...buyers.map((user) => cut(buyPremium(crashing.send, user))),
      ];
      const users = [...redeemers.map(({ user }) => user), ...buyers].map(({ userId }) => userId);
      const begun = async (): Promise<number> =>
        (await count(world, 'store_purchase_attempts', { user_id: { $in: users } })) +
        (await count(world, 'wallet_purchases', { user_id: { $in: users } }));
      await eventually(async () => (await begun()) >= underWay, { intervalMs: 1 });
      await crashing.kill();
      await Promise.all(requests);
      const open = await count(world, 'store_purchase_attempts', { state: 'open' });
      const reserved = await count(world, 'wallet_purchases', { state: 'reserved' });
      expect(open + reserved).toBeGreaterThan(0);
      await eventually(recovered);
      for (const { user, token } of redeemers) {
        // Who was journalled is served by the background; who was not presents his token again.
        const answer = await redeem(world.send, user, token);
        expect([200, 201]).toContain(answer.status);
        expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
      }
      for (const { userId } of buyers) {
        const charged = world.wallet.bookings(userId, 'purchase').length;
        expect(await count(world, 'subscriptions', { user_id: userId })).toBe(charged);
        expect(charged).toBeLessThanOrEqual(1);
        expect(await count(world, 'wallet_purchases', { user_id: userId, state: 'reserved' })).toBe(0);
      }
      const owed = await count(world, 'refund_queue', { user_id: { $in: users } });
      expect(owed).toBe(0);
    },
  );
});
