/** Whoever comes at once: one token is granted once, one slot holds one grant, and no race is a 500. */

import { DAY_MS } from '@fitness/shared/clock.ts';
import { type Answer, eventually, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SlotDocument } from '../src/store/models.ts';
import { say, storeThat } from './misbehaving-store.ts';
import {
  buyPremium,
  count,
  newId,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startWorld,
  storeCalls,
  type World,
} from './support.ts';

const PATIENCE_MS = 1_000;

let world: World;
/** Two processes over one database; each lets ten requests of a user through. */
let doors: [Send, Send];
beforeAll(async () => {
  world = await startWorld();
  doors = [world.send, (await world.replica()).send];
});
afterAll(() => world.close());

const atOnce = <T>(workers: number, work: (door: Send, index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: workers }, (_, index) => work(doors[index % 2] as Send, index)));

const statuses = (answers: Answer[]): Record<number, number> => {
  const counted: Record<number, number> = {};
  for (const { status } of answers) counted[status] = (counted[status] ?? 0) + 1;
  return counted;
};

describe('one token', () => {
  test('twenty presentations by its owner: one 201, nineteen replays, one grant', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token);
    const answers = await atOnce(20, (door) => redeem(door, user, token));
    expect(statuses(answers)).toEqual({ 201: 1, 200: 19 });
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    expect(await count(world, 'store_purchases', { purchase_token: token })).toBe(1);
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('twenty presentations by two users: one of them owns it, the other one gets 404 each time', async () => {
    const users = [newUser(), newUser()] as const;
    const token = newToken();
    await putPurchase(world, token);
    const answers = await atOnce(20, async (door, index) => ({
      by: users[Math.floor(index / 10)]?.userId,
      answer: await redeem(door, users[index < 10 ? 0 : 1], token),
    }));
    expect(statuses(answers.map(({ answer }) => answer))).toEqual({ 201: 1, 200: 9, 404: 10 });
    const owner = answers.find(({ answer }) => answer.status === 201)?.by;
    const theirs = answers.filter(({ by }) => by === owner).map(({ answer }) => answer.status);
    expect(theirs.every((status) => status < 300)).toBe(true);
    expect(await count(world, 'subscriptions', { user_id: { $in: users.map(({ userId }) => userId) } })).toBe(
      1,
    );
  });

  test('fifty presentations by five users: one grant', async () => {
    const users = Array.from({ length: 5 }, () => newUser());
    const token = newToken();
    await putPurchase(world, token);
    const answers = await atOnce(50, (door, index) => redeem(door, users[index % 5]!, token));
    expect(statuses(answers)).toEqual({ 201: 1, 200: 9, 404: 40 });
    expect(await count(world, 'store_purchases', { purchase_token: token })).toBe(1);
  });

  test('for two targets at once: one boost, the others see it as their replay', async () => {
    const user = newUser();
    const gyms = [newId(), newId()];
    for (const id of gyms) world.targets.gyms.set(id, { user_id: user.userId, is_active: true });
    const token = newToken();
    await putPurchase(world, token, 'purchased', 'boost_basic');
    const answers = await atOnce(10, (door, index) =>
      redeem(door, user, token, {
        product_id: 'boost_basic',
        boostable_type: 'gym',
        boostable_id: gyms[index % 2],
      }),
    );
    expect(statuses(answers)).toEqual({ 201: 1, 200: 9 });
    expect(await count(world, 'boosts', { boostable_id: { $in: gyms } })).toBe(1);
  });

  test('a replay storm asks the store nothing', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token);
    expect((await redeem(doors[0], user, token)).status).toBe(201);
    const calls = await storeCalls(world, token);
    const answers = await atOnce(10, (door) => redeem(door, user, token));
    expect(statuses(answers)).toEqual({ 200: 10 });
    expect(await storeCalls(world, token)).toBe(calls);
  });
});

describe('one slot', () => {
  test('twenty different premium tokens of one user: one subscription, and what else was confirmed is owed back', async () => {
    const user = newUser();
    const tokens = Array.from({ length: 20 }, newToken);
    await Promise.all(tokens.map((token) => putPurchase(world, token)));
    const answers = await atOnce(20, (door, index) => redeem(door, user, tokens[index]!));
    expect(statuses(answers)).toEqual({ 201: 1, 400: 19 });
    for (const { status, body } of answers)
      if (status === 400) expect(body.code).toBe('store_purchase.premium_already_active');
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
    // Those that were refused before the store was asked are verified by the background.
    world.clock.advance(20_000);
    await world.service.rounds.verifyAttempts();
    expect(await count(world, 'refund_queue', { user_id: user.userId, resolved_at: null })).toBe(19);
    expect(await count(world, 'store_purchase_attempts', { user_id: user.userId, state: 'open' })).toBe(0);
  });

  test('ten different boost tokens for one gym by two users: one boost', async () => {
    const owner = newUser();
    const operator = newUser(['payments.view_own', 'payments.boost_all']);
    const gymId = newId();
    world.targets.gyms.set(gymId, { user_id: owner.userId, is_active: true });
    const tokens = Array.from({ length: 10 }, newToken);
    await Promise.all(tokens.map((token) => putPurchase(world, token, 'purchased', 'boost_pro')));
    const answers = await atOnce(10, (door, index) =>
      redeem(door, index % 3 === 0 ? operator : owner, tokens[index]!, {
        product_id: 'boost_pro',
        boostable_type: 'gym',
        boostable_id: gymId,
      }),
    );
    expect(statuses(answers)).toEqual({ 201: 1, 400: 9 });
    expect(await count(world, 'boosts', { boostable_id: gymId })).toBe(1);
  });

  test('twenty wallet purchases at once: one subscription, charged once', async () => {
    const user = newUser();
    world.wallet.balances.set(user.userId, 20 * PREMIUM);
    const answers = await atOnce(20, (door) => buyPremium(door, user));
    expect(statuses(answers)).toEqual({ 201: 1, 400: 19 });
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('store redemptions and wallet purchases at once: one subscription; who was charged has it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const user = newUser();
      world.wallet.balances.set(user.userId, 20 * PREMIUM);
      const tokens = Array.from({ length: 6 }, newToken);
      await Promise.all(tokens.map((token) => putPurchase(world, token)));
      const answers = await atOnce(12, (door, index) =>
        index < 6 ? redeem(door, user, tokens[index]!) : buyPremium(door, user),
      );
      expect(statuses(answers)).toEqual({ 201: 1, 400: 11 });
      expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
      const charged = world.wallet.bookings(user.userId, 'purchase').length;
      const redeemed = await count(world, 'store_purchases', { user_id: user.userId });
      expect(charged + redeemed).toBe(1);
    }
  });

  test('a wallet purchase that the wallet refuses leaves the slot to the store redemption that waits for it', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.wallet.before = () => held;
    const buying = buyPremium(doors[0], user);
    await eventually(() => count(world, 'wallet_purchases', { user_id: user.userId }).then(Boolean));
    const redeeming = redeem(doors[1], user, token);
    await eventually(async () => (await storeCalls(world, token)) > 0);
    release();
    const [bought, redeemed] = await Promise.all([buying, redeeming]).finally(() => {
      world.wallet.before = async () => undefined;
    });
    expect([bought.status, bought.body.code]).toEqual([400, 'payments.insufficient_balance']);
    expect(redeemed.status).toBe(201);
  });

  test('a redemption that others outrun until its patience ends hears what they made of the slot, not 500', async () => {
    const user = newUser();
    const token = newToken();
    let answerOf = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      answerOf = resolve;
    });
    const store = await storeThat((response, socket) => {
      void held.then(() => say(200, '{"purchaseState":0,"consumptionState":1}')(response, socket));
    });
    const patience = { requestPatienceMs: PATIENCE_MS };
    const { send } = await world.replica({ CAFEBAZAAR_BASE_URL: store.url }, patience);
    const redeeming = redeem(send, user, token);
    const mine = { purchase_token: token };
    await eventually(() => count(world, 'store_purchase_attempts', mine).then(Boolean));
    // Somebody holds what every attempt of its transaction writes first, and the slot is taken meanwhile.
    const session = await world.database.startSession();
    try {
      session.startTransaction();
      const attempts = world.database.collection('store_purchase_attempts');
      await attempts.updateOne(mine, { $inc: { tries: 1 } }, { session });
      await world.database.collection<SlotDocument>('slots').insertOne({
        _id: `premium:${user.userId}`,
        active_until: new Date(world.clock.now().getTime() + DAY_MS),
        grant_id: 900_000,
        reserved_by: null,
        closed: false,
        version: 1,
      });
      answerOf();
      await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS + 2_000));
      await session.abortTransaction();
      const answer = await redeeming;
      expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.premium_already_active']);
      expect(await count(world, 'refund_queue', { ...mine, resolved_at: null })).toBe(1);
    } finally {
      await session.endSession();
      await store.close();
    }
  });
});
