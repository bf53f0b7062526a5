/** gRPC calls and events of other services. */
import { trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buyPremium,
  count,
  grpcOf,
  type Harness,
  newId,
  newToken,
  newUser,
  PREMIUM,
  publish,
  putPurchase,
  redeem,
  startHarness,
} from './support.ts';

let harness: Harness;
let grpc: ReturnType<typeof grpcOf>;
beforeAll(async () => {
  harness = await startHarness();
  grpc = grpcOf(harness.service);
});
afterAll(async () => {
  grpc.close();
  await harness.close();
});

const subscribe = async () => {
  const user = newUser();
  harness.wallet.balances.set(user.userId, PREMIUM);
  const { body } = await buyPremium(harness.send, user);
  return { user, subscription: body.data };
};
const boosted = async (type: 'gym' | 'training_service') => {
  const user = newUser();
  const id = newId();
  const targets = type === 'gym' ? harness.targets.gyms : harness.targets.services;
  targets.set(id, { user_id: user.userId, is_active: true });
  const token = newToken();
  await putPurchase(harness, token, 'purchased', 'boost_pro');
  const fields = { product_id: 'boost_pro', boostable_type: type, boostable_id: id };
  const answer = await redeem(harness.send, user, token, fields);
  expect(answer.status).toBe(201);
  return { user, id, boost: answer.body.data };
};

describe('GetSubscriptions', () => {
  test('GetSubscriptions returns the running subscription of each user that has one', async () => {
    const { user, subscription } = await subscribe();
    const ids = [user.userId, newId(), user.userId];
    const { subscriptions } = await grpc.billing.call('GetSubscriptions', { user_ids: ids });
    expect(subscriptions).toEqual([subscription]);
    const { subscriptions: none } = await grpc.billing.call('GetSubscriptions', { user_ids: [] });
    expect(none).toEqual([]);
    harness.clock.advance(32 * DAY_MS);
    const later = await grpc.billing.call('GetSubscriptions', { user_ids: ids });
    expect(later.subscriptions).toEqual([]);
  });

  test('GetSubscriptions and GetBoosts refuse more than 200 ids', async () => {
    const user_ids = Array.from({ length: 201 }, (_, index) => index + 1);
    await expect(grpc.billing.call('GetSubscriptions', { user_ids })).rejects.toMatchObject({
      kind: 'validation',
    });
    await expect(
      grpc.billing.call('GetBoosts', { targets: user_ids.map((id) => ({ type: 'gym', id })) }),
    ).rejects.toMatchObject({ kind: 'validation' });
  });
});

describe('GetBoosts', () => {
  test('GetBoosts returns the live boost of each target, even for equal ids of different types', async () => {
    const gym = await boosted('gym');
    const service = await boosted('training_service');
    const { boosts } = await grpc.billing.call('GetBoosts', {
      targets: [
        { type: 'gym', id: gym.id },
        { type: 'training_service', id: service.id },
        { type: 'gym', id: service.id },
        { type: 'user', id: gym.id },
      ],
    });
    expect(boosts.sort((a, b) => a.id - b.id)).toEqual([gym.boost, service.boost]);
    harness.clock.advance(31 * DAY_MS);
    const later = await grpc.billing.call('GetBoosts', { targets: [{ type: 'gym', id: gym.id }] });
    expect(later.boosts).toEqual([]);
  });
});

describe('GetPrices', () => {
  test('GetPrices returns the configured prices in Tooman', async () => {
    expect(await grpc.billing.call('GetPrices', {})).toEqual({
      premium_plus: 1_999_000,
      boost_basic: 99_000,
      boost_pro: 190_000,
    });
  });
});

describe('the blocker active_premium', () => {
  const evaluate = (user_id: number, code = 'active_premium') =>
    grpc.blockers.call('Evaluate', { user_id, code });

  test('the blocker applies while a subscription runs, and returns its end', async () => {
    const { user, subscription } = await subscribe();
    const blocker = await evaluate(user.userId);
    expect(blocker.applies).toBe(true);
    expect(JSON.parse(blocker.extras_json)).toEqual({ expires_at: subscription.expires_at });
    expect(subscription.expires_at).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  });

  test('the blocker does not apply before or after a subscription', async () => {
    const { user, subscription } = await subscribe();
    const endsAt = new Date(`${subscription.expires_at.replace(' ', 'T')}Z`).getTime();
    expect(await evaluate(newId())).toEqual({ applies: false, extras_json: '{}' });
    harness.clock.advance(endsAt - harness.clock.now().getTime() - 1_000);
    expect((await evaluate(user.userId)).applies).toBe(true);
    harness.clock.advance(1_000);
    expect((await evaluate(user.userId)).applies).toBe(false);
  });

  test('a blocker of another service is NOT_FOUND', async () => {
    await expect(evaluate(1, 'gym_ownership')).rejects.toMatchObject({ kind: 'not_found' });
    await expect(evaluate(1, '')).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('events', () => {
  test('a deleted gym ends its boost once and cannot be boosted again', async () => {
    const { user, id } = await boosted('gym');
    await publish(harness, gymDeleted, { gym_id: id });
    const ofGym = ({ data }: { data: unknown }) => (data as { boostable_id: number }).boostable_id === id;
    const ended = await harness.tap.waitFor('store_billing.boost.ended', { matches: ofGym });
    expect(ended.data).toMatchObject({ ends_at: formatTimestamp(harness.clock.now()) });
    const { boosts } = await grpc.billing.call('GetBoosts', { targets: [{ type: 'gym', id }] });
    expect(boosts).toEqual([]);
    // The fake of the gyms service still returns the gym.
    const token = newToken();
    await putPurchase(harness, token, 'purchased', 'boost_pro');
    const fields = { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: id };
    const refused = await redeem(harness.send, user, token, fields);
    expect([refused.status, refused.body.code]).toEqual([404, 'store_purchase.target_not_found']);
    expect(await count(harness, 'refund_queue', { purchase_token: token })).toBe(1);
  });

  test('a deleted training service ends its boost', async () => {
    const { id } = await boosted('training_service');
    await publish(harness, trainingServiceDeleted, { training_service_id: id });
    await harness.tap.waitFor('store_billing.boost.ended', {
      matches: ({ data }) => (data as { boostable_id: number }).boostable_id === id,
    });
  });

  test('a deleted gym without a boost only closes its slot', async () => {
    const id = newId();
    await publish(harness, gymDeleted, { gym_id: id });
    await eventually(async () => {
      const slots = harness.database.collection<{ _id: string }>('slots');
      return (await slots.countDocuments({ _id: `boost:gym:${id}`, closed: true })) === 1;
    });
    expect(await count(harness, 'boosts', { boostable_id: id })).toBe(0);
  });

  test('an erased account loses its subscription, keeps its receipt, and gets no further grant', async () => {
    const user = newUser();
    const [token, open] = [newToken(), newToken()];
    await putPurchase(harness, token);
    await putPurchase(harness, open, 'unreachable');
    expect((await redeem(harness.send, user, open)).status).toBe(500);
    expect((await redeem(harness.send, user, token)).status).toBe(201);
    await publish(harness, accountDeleted, {
      user_id: user.userId,
      deleted_at: '2126-01-15 10:00:00',
    });
    await eventually(async () => {
      const { subscriptions } = await grpc.billing.call('GetSubscriptions', { user_ids: [user.userId] });
      return subscriptions.length === 0;
    });
    const ended = await harness.tap.waitFor('store_billing.subscription.ended', {
      matches: ({ data }) => (data as { user_id: number }).user_id === user.userId,
    });
    expect(ended.aggregateversion).toBe(2);
    expect(await count(harness, 'store_purchases', { purchase_token: token })).toBe(1);
    await putPurchase(harness, open, 'purchased');
    harness.clock.advance(20_000);
    await harness.service.rounds.verifyAttempts();
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(await count(harness, 'refund_queue', { purchase_token: open, reason: 'target_gone' })).toBe(1);
    harness.wallet.balances.set(user.userId, PREMIUM);
    const bought = await buyPremium(harness.send, caller(user.userId));
    expect(bought.status).toBe(404);
    expect(harness.wallet.bookings(user.userId, 'purchase')).toEqual([]);
  });
});
