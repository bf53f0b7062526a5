/** buy-premium and boost from the wallet: the saga, its refusals, and its interruption at every step. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { badRequest, message } from '@fitness/shared/kernel/error.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  advancedReplica,
  BASIC,
  buyPremium,
  count,
  type Harness,
  newId,
  newToken,
  newUser,
  PREMIUM,
  publish,
  putPurchase,
  redeem,
  startHarness,
  unreachable,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const noop = async (): Promise<void> => undefined;
const withBalance = (permissions?: Parameters<typeof caller>[1]) => {
  const user = permissions === undefined ? newUser() : caller(newId(), permissions);
  harness.wallet.balances.set(user.userId, 10 * PREMIUM);
  return user;
};
const ownGym = (userId: number): number => {
  const id = newId();
  harness.targets.gyms.set(id, { user_id: userId, is_active: true });
  return id;
};
const boost = (as: ReturnType<typeof newUser>, gymId: number, level = 'basic', key?: string) =>
  harness.send('POST', '/payments/boost', {
    as,
    body: { boostable_type: 'gym', boostable_id: gymId, level },
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  });
const stateOf = async (userId: number): Promise<string[]> => {
  const purchases = await harness.database.collection('wallet_purchases').find({ user_id: userId }).toArray();
  return purchases.map(({ state }) => String(state));
};
/** Runs the sweep after every lease has expired. */
const sweep = async (): Promise<void> => {
  harness.clock.advance(2 * MINUTE_MS);
  await harness.service.rounds.sweepWalletPurchases();
};

/** Adds successful wallet calls, so that the one or two failures of a test do not open the circuit breaker. */
const addSuccesses = async (more = 2): Promise<void> => {
  const buy = async (): Promise<boolean> => (await buyPremium(harness.send, withBalance())).status === 201;
  await eventually(buy);
  await Promise.all(Array.from({ length: more }, buy));
};
/** Finishes the sagas that a test leaves open. */
afterEach(async () => {
  harness.wallet.before = noop;
  harness.wallet.after = noop;
  await sweep();
});

describe('buy-premium', () => {
  test('buy-premium charges the price, grants a month and publishes it', async () => {
    const user = withBalance();
    const answer = await buyPremium(harness.send, user);
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({ user_id: user.userId, type: 'plus' });
    expect(harness.wallet.bookings(user.userId, 'purchase')).toEqual([
      expect.objectContaining({
        amount: PREMIUM,
        payable_type: 'App\\Models\\Payments\\UserPremiumSubscription',
        payable_id: answer.body.data.id,
      }),
    ]);
    await harness.tap.waitFor('store_billing.subscription.started', {
      matches: ({ data }) => (data as { user_id: number }).user_id === user.userId,
    });
    expect(await stateOf(user.userId)).toEqual(['granted']);
  });

  test('a purchase with an active subscription of any source returns 400 and charges nothing', async () => {
    const user = withBalance();
    const token = newToken();
    await putPurchase(harness, token);
    expect((await redeem(harness.send, user, token)).status).toBe(201);
    const refused = await buyPremium(harness.send, user);
    expect([refused.status, refused.body]).toEqual([
      400,
      { error: 'You already have an active subscription.', code: 'payments.premium_already_active' },
    ]);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toEqual([]);
  });

  test('a purchase with too low a balance returns 400 and leaves the slot free', async () => {
    const user = newUser();
    harness.wallet.balances.set(user.userId, PREMIUM - 1);
    const refused = await buyPremium(harness.send, user);
    expect([refused.status, refused.body]).toEqual([
      400,
      { error: 'Your balance is too low.', code: 'payments.insufficient_balance' },
    ]);
    harness.wallet.balances.set(user.userId, PREMIUM);
    expect((await buyPremium(harness.send, user)).status).toBe(201);
    expect(harness.wallet.balances.get(user.userId)).toBe(0);
  });

  test.each([
    [{}, 'type'],
    [{ type: 'gold' }, 'type'],
    [{ type: { $ne: null } }, 'type'],
  ])('the buy-premium body %j is rejected with 422', async (body, named) => {
    const answer = await harness.send('POST', '/payments/buy-premium', { as: withBalance(), body });
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [named]]);
  });

  test('buy-premium requires payments.buy_premium', async () => {
    expect((await buyPremium(harness.send, withBalance(['payments.boost_all']))).status).toBe(403);
    expect((await harness.send('POST', '/payments/buy-premium', { body: { type: 'plus' } })).status).toBe(
      401,
    );
  });

  test('another month can be bought after the first has ended', async () => {
    const user = withBalance();
    expect((await buyPremium(harness.send, user)).status).toBe(201);
    harness.clock.advance(32 * 24 * 60 * MINUTE_MS);
    expect((await buyPremium(harness.send, user)).status).toBe(201);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(2);
  });
});

describe('boost', () => {
  test.each([
    ['basic', 1, BASIC, 7],
    ['pro', 2, 190_000, 30],
  ])('a %s boost is level %i for %i Tooman and %i days', async (level, number, price, days) => {
    const user = withBalance();
    const gymId = ownGym(user.userId);
    const answer = await boost(user, gymId, level);
    expect(answer.status).toBe(201);
    const { starts_at, ends_at } = answer.body.data;
    expect(answer.body.data).toMatchObject({ level: number, boostable_id: gymId });
    expect(Date.parse(`${ends_at}Z`) - Date.parse(`${starts_at}Z`)).toBe(days * 24 * 60 * MINUTE_MS);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toEqual([
      expect.objectContaining({ amount: price, payable_id: answer.body.data.id }),
    ]);
  });

  test('a boost of a boosted target gets 400, of a missing one 404 and of another user’s 403, uncharged', async () => {
    const user = withBalance();
    const gymId = ownGym(user.userId);
    expect((await boost(user, gymId)).status).toBe(201);
    const live = await boost(user, gymId, 'pro');
    expect([live.status, live.body.code]).toEqual([400, 'payments.boost_already_live']);
    const missing = await boost(user, 123_456_789);
    expect([missing.status, missing.body]).toEqual([
      404,
      { error: 'This gym or training service does not exist.', code: 'payments.target_not_found' },
    ]);
    expect((await boost(user, ownGym(newId()))).status).toBe(403);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('payments.boost_all boosts any target', async () => {
    expect((await boost(withBalance(['payments.boost_all']), ownGym(newId()))).status).toBe(201);
  });

  test('a boost requires a permission and all fields', async () => {
    expect((await boost(withBalance(['payments.buy_premium']), 1)).status).toBe(403);
    const answer = await harness.send('POST', '/payments/boost', { as: withBalance(), body: {} });
    expect(Object.keys(answer.body.errors).sort()).toEqual(['boostable_id', 'boostable_type', 'level']);
  });

  test('a boost returns 503 and charges nothing if the target’s service does not respond', async () => {
    const user = withBalance();
    harness.targets.down = true;
    const answer = await boost(user, ownGym(user.userId)).finally(() => {
      harness.targets.down = false;
    });
    expect(answer.status).toBe(503);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toEqual([]);
  });
});

describe('Idempotency-Key', () => {
  beforeEach(() => addSuccesses());

  test('a key with the same body gets the same response, and with another body 422', async () => {
    const user = withBalance();
    const key = randomUUID();
    const first = await buyPremium(harness.send, user, key);
    const again = await buyPremium(harness.send, user, key);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    const other = await boost(user, ownGym(user.userId), 'basic', key);
    expect([other.status, Object.keys(other.body.errors)]).toEqual([422, ['idempotency_key']]);
  });

  test('a repeat after a lost wallet response gets the grant of the first try, charged once', async () => {
    const user = withBalance();
    const key = randomUUID();
    harness.wallet.after = unreachable;
    const first = await buyPremium(harness.send, user, key);
    harness.wallet.after = noop;
    expect(first.status).toBe(503);
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(0);
    harness.clock.advance(MINUTE_MS);
    const again = await buyPremium(harness.send, user, key);
    expect(again.status).toBe(201);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect((await buyPremium(harness.send, user, key)).text).toBe(again.text);
  });

  test('a key whose request was refused can be used again', async () => {
    const user = newUser();
    const key = randomUUID();
    expect((await buyPremium(harness.send, user, key)).status).toBe(400);
    harness.wallet.balances.set(user.userId, PREMIUM);
    expect((await buyPremium(harness.send, user, key)).status).toBe(201);
  });

  test('twenty concurrent requests with one key are one charge, and get 409 or the same response', async () => {
    const user = withBalance();
    const key = randomUUID();
    const { REDIS_URL } = harness.config;
    const clients = [harness.send, (await harness.replica({ REDIS_URL })).send] as const;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, turn) =>
        buyPremium(turn % 2 === 0 ? clients[0] : clients[1], user, key),
      ),
    );
    const [first] = answers.filter(({ status }) => status === 201);
    for (const { status, text, body } of answers)
      if (status === 201) expect(text).toBe(first?.text);
      else expect([status, Object.keys(body)]).toEqual([409, ['message']]);
    expect((await buyPremium(harness.send, user, key)).text).toBe(first?.text);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('a key of an open purchase cannot be used for another one', async () => {
    const user = withBalance();
    const key = randomUUID();
    harness.wallet.after = unreachable;
    expect((await buyPremium(harness.send, user, key)).status).toBe(503);
    harness.wallet.after = noop;
    const other = await boost(user, ownGym(user.userId), 'basic', key);
    expect([other.status, Object.keys(other.body.errors)]).toEqual([422, ['idempotency_key']]);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('an idempotency key is kept for 24 hours', async () => {
    const user = withBalance();
    const key = randomUUID();
    const gymId = ownGym(user.userId);
    const first = await boost(user, gymId, 'basic', key);
    harness.clock.advance(24 * 60 * MINUTE_MS - 1);
    expect((await boost(user, gymId, 'basic', key)).text).toBe(first.text);
    harness.clock.advance(1);
    const later = await boost(user, gymId, 'basic', key);
    expect([later.status, later.body.code]).toEqual([400, 'payments.boost_already_live']);
  });

  test('idempotency keys are per user', async () => {
    const key = randomUUID();
    expect((await buyPremium(harness.send, withBalance(), key)).status).toBe(201);
    expect((await buyPremium(harness.send, withBalance(), key)).status).toBe(201);
  });
});

describe('interrupted', () => {
  let advanced: Awaited<ReturnType<typeof advancedReplica>>;
  beforeAll(async () => {
    advanced = await advancedReplica(harness);
  });
  beforeEach(() => addSuccesses());

  test('concurrent sweepers grant a charged purchase with a lost response once', async () => {
    const user = withBalance();
    harness.wallet.after = unreachable;
    expect((await buyPremium(harness.send, user)).status).toBe(503);
    harness.wallet.after = noop;
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(await stateOf(user.userId)).toEqual(['reserved']);
    await harness.service.rounds.sweepWalletPurchases();
    expect(await stateOf(user.userId)).toEqual(['reserved']);
    harness.clock.advance(2 * MINUTE_MS);
    await Promise.all(Array.from({ length: 5 }, () => harness.service.rounds.sweepWalletPurchases()));
    expect(await stateOf(user.userId)).toEqual(['granted']);
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('the sweeper finishes or undoes a purchase whose wallet was unreachable', async () => {
    await addSuccesses(5);
    const [able, poor] = [withBalance(), newUser()];
    harness.wallet.before = unreachable;
    expect((await buyPremium(harness.send, able)).status).toBe(503);
    expect((await buyPremium(harness.send, poor)).status).toBe(503);
    await sweep();
    expect([await stateOf(able.userId), await stateOf(poor.userId)]).toEqual([['reserved'], ['reserved']]);
    harness.wallet.before = noop;
    await sweep();
    expect([await stateOf(able.userId), await stateOf(poor.userId)]).toEqual([['granted'], ['undone']]);
    harness.wallet.balances.set(poor.userId, PREMIUM);
    expect((await buyPremium(harness.send, poor)).status).toBe(201);
  });

  test('a second purchase charges nothing while it is unknown whether the first was charged', async () => {
    const user = withBalance();
    harness.wallet.after = unreachable;
    expect((await buyPremium(harness.send, user)).status).toBe(503);
    harness.wallet.after = noop;
    expect((await buyPremium(harness.send, user)).status).toBe(503);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('a request after the lease takes the saga over and finds it granted', async () => {
    const user = withBalance();
    harness.wallet.after = unreachable;
    expect((await buyPremium(harness.send, user)).status).toBe(503);
    harness.wallet.after = noop;
    harness.clock.advance(MINUTE_MS);
    const second = await buyPremium(harness.send, user);
    expect([second.status, second.body.code]).toEqual([400, 'payments.premium_already_active']);
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('a process with an advanced clock does not take over a purchase in progress', async () => {
    const user = withBalance();
    const { service } = advanced;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const calls = harness.wallet.calls;
    harness.wallet.before = () => released;
    const buying = buyPremium(harness.send, user);
    await eventually(() => harness.wallet.calls > calls);
    const sweeping = service.rounds.sweepWalletPurchases();
    await sleep(300);
    expect(harness.wallet.calls).toBe(calls + 1);
    release();
    await sweeping;
    expect((await buying).status).toBe(201);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('a process with an advanced clock does not undo a purchase that may still be charged', async () => {
    const user = newUser();
    const { service } = advanced;
    harness.wallet.before = unreachable;
    expect((await buyPremium(harness.send, user)).status).toBe(503);
    harness.wallet.before = noop;
    harness.clock.advance(10 * SECOND_MS);
    await service.rounds.sweepWalletPurchases();
    expect(await stateOf(user.userId)).toEqual(['reserved']);
    harness.clock.advance(30 * SECOND_MS);
    await service.rounds.sweepWalletPurchases();
    expect(await stateOf(user.userId)).toEqual(['undone']);
  });

  test('a purchase of a process with an advanced clock is taken over once its lease ends in real time', async () => {
    const user = withBalance();
    const { send } = advanced;
    harness.wallet.after = unreachable;
    expect((await buyPremium(send, user)).status).toBe(503);
    harness.wallet.after = noop;
    await harness.service.rounds.sweepWalletPurchases();
    expect(await stateOf(user.userId)).toEqual(['reserved']);
    harness.clock.advance(MINUTE_MS);
    await harness.service.rounds.sweepWalletPurchases();
    expect(await stateOf(user.userId)).toEqual(['granted']);
  });

  test('a redemption overrides an unattended wallet purchase, whose charge is refunded', async () => {
    const user = withBalance();
    const token = newToken();
    await putPurchase(harness, token);
    harness.wallet.after = unreachable;
    expect((await buyPremium(harness.send, user)).status).toBe(503);
    harness.wallet.after = noop;
    expect((await redeem(harness.send, user, token)).status).toBe(201);
    await sweep();
    await harness.service.rounds.verifyAttempts();
    expect(await stateOf(user.userId)).toEqual(['refunded']);
    expect(harness.wallet.balances.get(user.userId)).toBe(10 * PREMIUM);
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(await count(harness, 'refund_queue', { user_id: user.userId })).toBe(0);
  });

  test('an overridden wallet purchase is granted if the store has refunded the redemption', async () => {
    const user = withBalance();
    const token = newToken();
    await putPurchase(harness, token);
    harness.wallet.after = unreachable;
    expect((await buyPremium(harness.send, user)).status).toBe(503);
    harness.wallet.after = noop;
    expect((await redeem(harness.send, user, token)).status).toBe(201);
    await harness.service.idle();
    await putPurchase(harness, token, 'refunded');
    harness.clock.advance(24 * 60 * MINUTE_MS);
    await harness.service.rounds.reconcileRefunds();
    await sweep();
    expect(await stateOf(user.userId)).toEqual(['granted']);
    expect(harness.wallet.balances.get(user.userId)).toBe(9 * PREMIUM);
  });

  test('a repeat of a refunded wallet purchase gets the reason', async () => {
    const user = withBalance();
    const token = newToken();
    const key = randomUUID();
    await putPurchase(harness, token);
    harness.wallet.after = unreachable;
    expect((await buyPremium(harness.send, user, key)).status).toBe(503);
    harness.wallet.after = noop;
    expect((await redeem(harness.send, user, token)).status).toBe(201);
    harness.clock.advance(2 * MINUTE_MS);
    const repeat = await buyPremium(harness.send, user, key);
    expect([repeat.status, repeat.body.code]).toEqual([400, 'payments.premium_already_active']);
    expect(harness.wallet.balances.get(user.userId)).toBe(10 * PREMIUM);
  });

  test('a charge is refunded once if the gym is deleted before the boost is granted', async () => {
    const user = withBalance();
    const gymId = ownGym(user.userId);
    const balance = harness.wallet.balances.get(user.userId);
    harness.wallet.after = async () => {
      harness.wallet.after = noop;
      await publish(harness, gymDeleted, { gym_id: gymId });
      const slots = harness.database.collection<{ _id: string; closed: boolean }>('slots');
      await eventually(() => slots.findOne({ _id: `boost:gym:${gymId}`, closed: true }).then(Boolean));
    };
    const answer = await boost(user, gymId);
    expect([answer.status, answer.body.code]).toEqual([404, 'payments.target_not_found']);
    await sweep();
    expect(harness.wallet.balances.get(user.userId)).toBe(balance);
    expect(harness.wallet.bookings(user.userId, 'income')).toHaveLength(1);
    expect(await stateOf(user.userId)).toEqual(['refunded']);
    expect(await count(harness, 'boosts', { boostable_id: gymId })).toBe(0);
  });

  test('a refund without a response from the wallet is repeated until it is booked', async () => {
    const user = withBalance();
    const gymId = ownGym(user.userId);
    const balance = harness.wallet.balances.get(user.userId);
    harness.wallet.after = unreachable;
    expect((await boost(user, gymId)).status).toBe(503);
    harness.wallet.after = noop;
    const slots = harness.database.collection<{ _id: string; closed: boolean }>('slots');
    await slots.updateOne({ _id: `boost:gym:${gymId}` }, { $set: { closed: true } });
    // The sweep may process sagas of other tests, too.
    harness.wallet.before = async ([booking]) => {
      if (booking?.type === 'income' && booking.user_id === user.userId) await unreachable();
    };
    await sweep();
    expect(await stateOf(user.userId)).toEqual(['refunding']);
    harness.wallet.before = noop;
    await sweep();
    expect(await stateOf(user.userId)).toEqual(['refunded']);
    expect(harness.wallet.balances.get(user.userId)).toBe(balance);
  });

  test('a wallet refusal for any reason but the balance leads to 503, and the saga is undone', async () => {
    const user = withBalance();
    harness.wallet.before = async () => {
      throw badRequest('wallet.odd', message('error.bad_request'));
    };
    const answer = await buyPremium(harness.send, user).finally(() => {
      harness.wallet.before = noop;
    });
    expect(answer.status).toBe(503);
    expect(await stateOf(user.userId)).toEqual(['undone']);
    expect((await buyPremium(harness.send, user)).status).toBe(201);
  });
});
