/** What other services ask of this one, and what it does when they tell something. */

import { DAY_MS, formatTimestamp } from '@fitness/shared/clock.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buyPremium,
  count,
  grpcOf,
  newId,
  newToken,
  newUser,
  PREMIUM,
  publish,
  putPurchase,
  redeem,
  startWorld,
  type World,
} from './support.ts';

let world: World;
let grpc: ReturnType<typeof grpcOf>;
beforeAll(async () => {
  world = await startWorld();
  grpc = grpcOf(world.service);
});
afterAll(async () => {
  grpc.close();
  await world.close();
});

const subscribe = async () => {
  const user = newUser();
  world.wallet.balances.set(user.userId, PREMIUM);
  const { body } = await buyPremium(world.send, user);
  return { user, subscription: body.data };
};
const boosted = async (type: 'gym' | 'training_service') => {
  const user = newUser();
  const id = newId();
  const targets = type === 'gym' ? world.targets.gyms : world.targets.services;
  targets.set(id, { user_id: user.userId, is_active: true });
  const token = newToken();
  await putPurchase(world, token, 'purchased', 'boost_pro');
  const fields = { product_id: 'boost_pro', boostable_type: type, boostable_id: id };
  const answer = await redeem(world.send, user, token, fields);
  expect(answer.status).toBe(201);
  return { user, id, boost: answer.body.data };
};

describe('GetSubscriptions', () => {
  test('gives the running subscription of each user; who has none, or had one, is missing', async () => {
    const { user, subscription } = await subscribe();
    const ids = [user.userId, newId(), user.userId];
    const { subscriptions } = await grpc.billing.call('GetSubscriptions', { user_ids: ids });
    expect(subscriptions).toEqual([subscription]);
    const { subscriptions: none } = await grpc.billing.call('GetSubscriptions', { user_ids: [] });
    expect(none).toEqual([]);
    world.clock.advance(32 * DAY_MS);
    const later = await grpc.billing.call('GetSubscriptions', { user_ids: ids });
    expect(later.subscriptions).toEqual([]);
  });

  test('refuses more than 200 ids', async () => {
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
  test('gives the live boost of each target, and tells a gym from a training service of the same id', async () => {
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
    world.clock.advance(31 * DAY_MS);
    const later = await grpc.billing.call('GetBoosts', { targets: [{ type: 'gym', id: gym.id }] });
    expect(later.boosts).toEqual([]);
  });
});

describe('GetPrices', () => {
  test('are the configured ones, in Tooman', async () => {
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

  test('applies while a subscription runs, with its end', async () => {
    const { user, subscription } = await subscribe();
    const asked = await evaluate(user.userId);
    expect(asked.applies).toBe(true);
    expect(JSON.parse(asked.extras_json)).toEqual({ expires_at: subscription.expires_at });
    expect(subscription.expires_at).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  });

  test('does not apply before and after', async () => {
    const { user, subscription } = await subscribe();
    const endsAt = new Date(`${subscription.expires_at.replace(' ', 'T')}Z`).getTime();
    expect(await evaluate(newId())).toEqual({ applies: false, extras_json: '{}' });
    world.clock.advance(endsAt - world.clock.now().getTime() - 1_000);
    expect((await evaluate(user.userId)).applies).toBe(true);
    world.clock.advance(1_000);
    expect((await evaluate(user.userId)).applies).toBe(false);
  });

  test('of another service is not found', async () => {
    await expect(evaluate(1, 'gym_ownership')).rejects.toMatchObject({ kind: 'not_found' });
    await expect(evaluate(1, '')).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('what others tell', () => {
  test('a deleted gym ends its boost once and takes no other', async () => {
    const { user, id } = await boosted('gym');
    await publish(world, 'gyms.gym.deleted', 'gyms', { gym_id: id });
    const ofGym = ({ data }: { data: unknown }) => (data as { boostable_id: number }).boostable_id === id;
    const ended = await world.tap.waitFor('store_billing.boost.ended', { matches: ofGym });
    expect(ended.data).toMatchObject({ ends_at: formatTimestamp(world.clock.now()) });
    const { boosts } = await grpc.billing.call('GetBoosts', { targets: [{ type: 'gym', id }] });
    expect(boosts).toEqual([]);
    // A gym that still answers to its name elsewhere cannot be boosted any more; whoever paid gets it back.
    const token = newToken();
    await putPurchase(world, token, 'purchased', 'boost_pro');
    const fields = { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: id };
    const refused = await redeem(world.send, user, token, fields);
    expect([refused.status, refused.body.code]).toEqual([404, 'store_purchase.target_not_found']);
    expect(await count(world, 'refund_queue', { purchase_token: token })).toBe(1);
  });

  test('a deleted training service ends its boost', async () => {
    const { id } = await boosted('training_service');
    await publish(world, 'content.training_service.deleted', 'content', { training_service_id: id });
    await world.tap.waitFor('store_billing.boost.ended', {
      matches: ({ data }) => (data as { boostable_id: number }).boostable_id === id,
    });
  });

  test('a gym that never was boosted is deleted without ado', async () => {
    const id = newId();
    await publish(world, 'gyms.gym.deleted', 'gyms', { gym_id: id });
    await eventually(async () => {
      const slots = world.database.collection<{ _id: string }>('slots');
      return (await slots.countDocuments({ _id: `boost:gym:${id}`, closed: true })) === 1;
    });
    expect(await count(world, 'boosts', { boostable_id: id })).toBe(0);
  });

  test('an erased account ends its subscription, keeps its receipt, and gets nothing more', async () => {
    const user = newUser();
    const [token, open] = [newToken(), newToken()];
    await putPurchase(world, token);
    await putPurchase(world, open, 'unreachable');
    expect((await redeem(world.send, user, open)).status).toBe(500);
    expect((await redeem(world.send, user, token)).status).toBe(201);
    await publish(world, 'identity.account.deleted', 'identity', {
      user_id: user.userId,
      deleted_at: '2026-01-15 10:00:00',
    });
    await eventually(async () => {
      const { subscriptions } = await grpc.billing.call('GetSubscriptions', { user_ids: [user.userId] });
      return subscriptions.length === 0;
    });
    expect(await count(world, 'store_purchases', { purchase_token: token })).toBe(1);
    await putPurchase(world, open, 'purchased');
    world.clock.advance(20_000);
    await world.service.rounds.verifyAttempts();
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(await count(world, 'refund_queue', { purchase_token: open, reason: 'target_gone' })).toBe(1);
    world.wallet.balances.set(user.userId, PREMIUM);
    const bought = await buyPremium(world.send, caller(user.userId));
    expect(bought.status).toBe(404);
    expect(world.wallet.bookings(user.userId, 'purchase')).toEqual([]);
  });
});
