/** Concurrent requests: one token is granted once, one slot holds one grant, and no race is a 500. */
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { type Answer, eventually, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SlotDocument } from '../src/store/models/grants.ts';
import { say, storeThat } from './misbehaving-store.ts';
import {
  buyPremium,
  count,
  type Harness,
  newId,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startHarness,
  storeCalls,
} from './support.ts';

const TRANSACTION_TIMEOUT_MS = 300;

let harness: Harness;
/** Two instances on one database, each with its own limit of ten requests per user. */
let clients: [Send, Send];
beforeAll(async () => {
  harness = await startHarness();
  clients = [harness.send, (await harness.replica()).send];
});
afterAll(() => harness.close());

const atOnce = <T>(workers: number, work: (client: Send, index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: workers }, (_, index) => work(clients[index % 2] as Send, index)));

const statuses = (answers: Answer[]): Record<number, number> => {
  const counted: Record<number, number> = {};
  for (const { status } of answers) counted[status] = (counted[status] ?? 0) + 1;
  return counted;
};

describe('one token', () => {
  test('twenty presentations of a token by its owner are one grant and nineteen replays', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token);
    const answers = await atOnce(20, (client) => redeem(client, user, token));
    expect(statuses(answers)).toEqual({ 201: 1, 200: 19 });
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    expect(await count(harness, 'store_purchases', { purchase_token: token })).toBe(1);
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('one of two users who present a token owns it, and the other gets 404 each time', async () => {
    const users = [newUser(), newUser()] as const;
    const token = newToken();
    await putPurchase(harness, token);
    const answers = await atOnce(20, async (client, index) => ({
      by: users[Math.floor(index / 10)]?.userId,
      answer: await redeem(client, users[index < 10 ? 0 : 1], token),
    }));
    expect(statuses(answers.map(({ answer }) => answer))).toEqual({ 201: 1, 200: 9, 404: 10 });
    const owner = answers.find(({ answer }) => answer.status === 201)?.by;
    const theirs = answers.filter(({ by }) => by === owner).map(({ answer }) => answer.status);
    expect(theirs.every((status) => status < 300)).toBe(true);
    expect(
      await count(harness, 'subscriptions', { user_id: { $in: users.map(({ userId }) => userId) } }),
    ).toBe(1);
  });

  test('concurrent presentations of a token for two targets are one boost and its replays', async () => {
    const user = newUser();
    const gyms = [newId(), newId()];
    for (const id of gyms) harness.targets.gyms.set(id, { user_id: user.userId, is_active: true });
    const token = newToken();
    await putPurchase(harness, token, 'purchased', 'boost_basic');
    const answers = await atOnce(10, (client, index) =>
      redeem(client, user, token, {
        product_id: 'boost_basic',
        boostable_type: 'gym',
        boostable_id: gyms[index % 2],
      }),
    );
    expect(statuses(answers)).toEqual({ 201: 1, 200: 9 });
    expect(await count(harness, 'boosts', { boostable_id: { $in: gyms } })).toBe(1);
  });

  test('concurrent replays do not ask the store', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token);
    expect((await redeem(clients[0], user, token)).status).toBe(201);
    const calls = await storeCalls(harness, token);
    const answers = await atOnce(10, (client) => redeem(client, user, token));
    expect(statuses(answers)).toEqual({ 200: 10 });
    expect(await storeCalls(harness, token)).toBe(calls);
  });
});

describe('one slot', () => {
  test('twenty premium tokens of one user are one subscription and nineteen refunds', async () => {
    const user = newUser();
    const tokens = Array.from({ length: 20 }, newToken);
    await Promise.all(tokens.map((token) => putPurchase(harness, token)));
    const answers = await atOnce(20, (client, index) => redeem(client, user, tokens[index]!));
    expect(statuses(answers)).toEqual({ 201: 1, 400: 19 });
    for (const { status, body } of answers)
      if (status === 400) expect(body.code).toBe('store_purchase.premium_already_active');
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    // The background verifies attempts that were refused before the store was asked.
    harness.clock.advance(20_000);
    await harness.service.rounds.verifyAttempts();
    expect(await count(harness, 'refund_queue', { user_id: user.userId, resolved_at: null })).toBe(19);
    expect(await count(harness, 'store_purchase_attempts', { user_id: user.userId, state: 'open' })).toBe(0);
  });

  test('ten boost tokens for one gym by two users are one boost', async () => {
    const owner = newUser();
    const operator = newUser(['payments.view_own', 'payments.boost_all']);
    const gymId = newId();
    harness.targets.gyms.set(gymId, { user_id: owner.userId, is_active: true });
    const tokens = Array.from({ length: 10 }, newToken);
    await Promise.all(tokens.map((token) => putPurchase(harness, token, 'purchased', 'boost_pro')));
    const answers = await atOnce(10, (client, index) =>
      redeem(client, index % 3 === 0 ? operator : owner, tokens[index]!, {
        product_id: 'boost_pro',
        boostable_type: 'gym',
        boostable_id: gymId,
      }),
    );
    expect(statuses(answers)).toEqual({ 201: 1, 400: 9 });
    expect(await count(harness, 'boosts', { boostable_id: gymId })).toBe(1);
  });

  test('twenty concurrent wallet purchases are one subscription, charged once', async () => {
    const user = newUser();
    harness.wallet.balances.set(user.userId, 20 * PREMIUM);
    const answers = await atOnce(20, (client) => buyPremium(client, user));
    expect(statuses(answers)).toEqual({ 201: 1, 400: 19 });
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('concurrent redemptions and wallet purchases are one subscription and one payment', async () => {
    for (let round = 0; round < 2; round += 1) {
      const user = newUser();
      harness.wallet.balances.set(user.userId, 20 * PREMIUM);
      const tokens = Array.from({ length: 6 }, newToken);
      await Promise.all(tokens.map((token) => putPurchase(harness, token)));
      const answers = await atOnce(12, (client, index) =>
        index < 6 ? redeem(client, user, tokens[index]!) : buyPremium(client, user),
      );
      expect(statuses(answers)).toEqual({ 201: 1, 400: 11 });
      expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
      const charged = harness.wallet.bookings(user.userId, 'purchase').length;
      const redeemed = await count(harness, 'store_purchases', { user_id: user.userId });
      expect(charged + redeemed).toBe(1);
    }
  });

  test('a redemption that waits for the slot gets it if the wallet refuses the wallet purchase', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    harness.wallet.before = () => released;
    const buying = buyPremium(clients[0], user);
    await eventually(() => count(harness, 'wallet_purchases', { user_id: user.userId }).then(Boolean));
    const redeeming = redeem(clients[1], user, token);
    await eventually(async () => (await storeCalls(harness, token)) > 0);
    release();
    const [bought, redeemed] = await Promise.all([buying, redeeming]).finally(() => {
      harness.wallet.before = async () => undefined;
    });
    expect([bought.status, bought.body.code]).toEqual([400, 'payments.insufficient_balance']);
    expect(redeemed.status).toBe(201);
  });

  test('a redemption whose transaction times out gets the error of the occupied slot, not a 500', async () => {
    const user = newUser();
    const token = newToken();
    let releaseStore = (): void => undefined;
    const storeReleased = new Promise<void>((resolve) => {
      releaseStore = resolve;
    });
    const store = await storeThat((response, socket) => {
      void storeReleased.then(() => say(200, '{"purchaseState":0,"consumptionState":1}')(response, socket));
    });
    const timeout = { requestTransactionTimeoutMs: TRANSACTION_TIMEOUT_MS };
    const { send } = await harness.replica({ CAFEBAZAAR_BASE_URL: store.url }, timeout);
    const redeeming = redeem(send, user, token);
    const mine = { purchase_token: token };
    await eventually(() => count(harness, 'store_purchase_attempts', mine).then(Boolean));
    // Another transaction locks the attempt, which every try writes first, and the slot is taken in the meantime.
    const session = await harness.database.startSession();
    try {
      session.startTransaction();
      const attempts = harness.database.collection('store_purchase_attempts');
      await attempts.updateOne(mine, { $inc: { tries: 1 } }, { session });
      await harness.database.collection<SlotDocument>('slots').insertOne({
        _id: `premium:${user.userId}`,
        active_until: new Date(harness.clock.now().getTime() + DAY_MS),
        grant_id: 900_000,
        reserved_by: null,
        closed: false,
        version: 1,
      });
      releaseStore();
      await new Promise((resolve) => setTimeout(resolve, TRANSACTION_TIMEOUT_MS + 700));
      await session.abortTransaction();
      const answer = await redeeming;
      expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.premium_already_active']);
      expect(await count(harness, 'refund_queue', { ...mine, resolved_at: null })).toBe(1);
    } finally {
      await session.endSession();
      await store.close();
    }
  });
});
