/** buy-premium and boost from the wallet: the saga, its refusals, and every place where it can be cut in two. */
import { randomUUID } from 'node:crypto';
import { MINUTE_MS } from '@fitness/shared/clock.ts';
import { badRequest, message } from '@fitness/shared/error.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  BASIC,
  buyPremium,
  count,
  newId,
  newToken,
  newUser,
  PREMIUM,
  publish,
  putPurchase,
  redeem,
  startWorld,
  unreachable,
  type World,
} from './support.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const nothing = async (): Promise<void> => undefined;
const rich = (permissions?: Parameters<typeof caller>[1]) => {
  const user = permissions === undefined ? newUser() : caller(newId(), permissions);
  world.wallet.balances.set(user.userId, 10 * PREMIUM);
  return user;
};
const ownGym = (userId: number): number => {
  const id = newId();
  world.targets.gyms.set(id, { user_id: userId, is_active: true });
  return id;
};
const boost = (as: ReturnType<typeof newUser>, gymId: number, level = 'basic', key?: string) =>
  world.send('POST', '/payments/boost', {
    as,
    body: { boostable_type: 'gym', boostable_id: gymId, level },
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  });
const stateOf = async (userId: number): Promise<string[]> => {
  const found = await world.database.collection('wallet_purchases').find({ user_id: userId }).toArray();
  return found.map(({ state }) => String(state));
};
/** The lease of whoever drove it has run out. */
const sweep = async (): Promise<void> => {
  world.clock.advance(2 * MINUTE_MS);
  await world.service.rounds.sweepWalletPurchases();
};

/** A wallet that fails often is left alone for a while: what fails here fails among successes, in whatever order. */
const wellBefore = async (): Promise<void> => {
  const buy = async (): Promise<boolean> => (await buyPremium(world.send, rich())).status === 201;
  await eventually(buy);
  await Promise.all(Array.from({ length: 6 }, buy));
};
/** What a test leaves open is no business of the next. */
afterEach(async () => {
  world.wallet.before = nothing;
  world.wallet.after = nothing;
  await sweep();
});

describe('buy-premium', () => {
  test('charges the price, gives a month and tells it', async () => {
    const user = rich();
    const answer = await buyPremium(world.send, user);
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({ user_id: user.userId, type: 'plus' });
    expect(world.wallet.bookings(user.userId, 'purchase')).toEqual([
      expect.objectContaining({
        amount: PREMIUM,
        payable_type: 'App\\Models\\Payments\\UserPremiumSubscription',
        payable_id: answer.body.data.id,
      }),
    ]);
    await world.tap.waitFor('store_billing.subscription.started', {
      matches: ({ data }) => (data as { user_id: number }).user_id === user.userId,
    });
    expect(await stateOf(user.userId)).toEqual(['granted']);
  });

  test('an active subscription is 400 and charges nothing, whoever gave it', async () => {
    const user = rich();
    const token = newToken();
    await putPurchase(world, token);
    expect((await redeem(world.send, user, token)).status).toBe(201);
    const refused = await buyPremium(world.send, user);
    expect([refused.status, refused.body]).toEqual([
      400,
      { error: 'You already have an active subscription.', code: 'payments.premium_already_active' },
    ]);
    expect(world.wallet.bookings(user.userId, 'purchase')).toEqual([]);
  });

  test('a balance that is too low is 400 and leaves the slot free', async () => {
    const user = newUser();
    world.wallet.balances.set(user.userId, PREMIUM - 1);
    const refused = await buyPremium(world.send, user);
    expect([refused.status, refused.body]).toEqual([
      400,
      { error: 'Your balance is not sufficient.', code: 'payments.insufficient_balance' },
    ]);
    world.wallet.balances.set(user.userId, PREMIUM);
    expect((await buyPremium(world.send, user)).status).toBe(201);
    expect(world.wallet.balances.get(user.userId)).toBe(0);
  });

  test.each([
    [{}, 'type'],
    [{ type: 'gold' }, 'type'],
    [{ type: { $ne: null } }, 'type'],
  ])('%j is 422', async (body, named) => {
    const answer = await world.send('POST', '/payments/buy-premium', { as: rich(), body });
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [named]]);
  });

  test('needs payments.buy_premium', async () => {
    expect((await buyPremium(world.send, rich(['payments.boost_all']))).status).toBe(403);
    expect((await world.send('POST', '/payments/buy-premium', { body: { type: 'plus' } })).status).toBe(401);
  });

  test('after it has run out another month can be bought', async () => {
    const user = rich();
    expect((await buyPremium(world.send, user)).status).toBe(201);
    world.clock.advance(32 * 24 * 60 * MINUTE_MS);
    expect((await buyPremium(world.send, user)).status).toBe(201);
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(2);
  });
});

describe('boost', () => {
  test.each([
    ['basic', 1, BASIC, 7],
    ['pro', 2, 190_000, 30],
  ])('%s is level %i for %i Tooman and %i days', async (level, number, price, days) => {
    const user = rich();
    const gymId = ownGym(user.userId);
    const answer = await boost(user, gymId, level);
    expect(answer.status).toBe(201);
    const { starts_at, ends_at } = answer.body.data;
    expect(answer.body.data).toMatchObject({ level: number, boostable_id: gymId });
    expect(Date.parse(`${ends_at}Z`) - Date.parse(`${starts_at}Z`)).toBe(days * 24 * 60 * MINUTE_MS);
    expect(world.wallet.bookings(user.userId, 'purchase')).toEqual([
      expect.objectContaining({ amount: price, payable_id: answer.body.data.id }),
    ]);
  });

  test('a live boost is 400, a missing target 404, another’s 403, and none of them is charged', async () => {
    const user = rich();
    const gymId = ownGym(user.userId);
    expect((await boost(user, gymId)).status).toBe(201);
    const live = await boost(user, gymId, 'pro');
    expect([live.status, live.body.code]).toEqual([400, 'payments.boost_already_live']);
    const missing = await boost(user, 123_456_789);
    expect([missing.status, missing.body]).toEqual([
      404,
      { error: 'The gym or training service does not exist.', code: 'payments.target_not_found' },
    ]);
    expect((await boost(user, ownGym(newId()))).status).toBe(403);
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('payments.boost_all boosts any target', async () => {
    expect((await boost(rich(['payments.boost_all']), ownGym(newId()))).status).toBe(201);
  });

  test('needs a permission and a whole body', async () => {
    expect((await boost(rich(['payments.buy_premium']), 1)).status).toBe(403);
    const answer = await world.send('POST', '/payments/boost', { as: rich(), body: {} });
    expect(Object.keys(answer.body.errors).sort()).toEqual(['boostable_id', 'boostable_type', 'level']);
  });

  test('a target that cannot be asked about is 503 and charges nothing', async () => {
    const user = rich();
    world.targets.down = true;
    const answer = await boost(user, ownGym(user.userId)).finally(() => {
      world.targets.down = false;
    });
    expect(answer.status).toBe(503);
    expect(world.wallet.bookings(user.userId, 'purchase')).toEqual([]);
  });
});

describe('Idempotency-Key', () => {
  beforeEach(wellBefore);

  test('the same key and body answer the same again, another body is 422', async () => {
    const user = rich();
    const key = randomUUID();
    const first = await buyPremium(world.send, user, key);
    const again = await buyPremium(world.send, user, key);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    const other = await boost(user, ownGym(user.userId), 'basic', key);
    expect([other.status, Object.keys(other.body.errors)]).toEqual([422, ['idempotency_key']]);
  });

  test('a repeat after a lost answer of the wallet gets the grant of the first try, charged once', async () => {
    const user = rich();
    const key = randomUUID();
    world.wallet.after = unreachable;
    const first = await buyPremium(world.send, user, key);
    world.wallet.after = nothing;
    expect(first.status).toBe(503);
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(0);
    world.clock.advance(MINUTE_MS);
    const again = await buyPremium(world.send, user, key);
    expect(again.status).toBe(201);
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect((await buyPremium(world.send, user, key)).text).toBe(again.text);
  });

  test('a key whose try was refused can be used again', async () => {
    const user = newUser();
    const key = randomUUID();
    expect((await buyPremium(world.send, user, key)).status).toBe(400);
    world.wallet.balances.set(user.userId, PREMIUM);
    expect((await buyPremium(world.send, user, key)).status).toBe(201);
  });

  test('twenty with one key at once: one is charged, the others hear 409 or the same answer', async () => {
    const user = rich();
    const key = randomUUID();
    const { EVENTS_NAMESPACE } = world.config;
    const doors = [world.send, (await world.replica({ EVENTS_NAMESPACE })).send] as const;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, turn) => buyPremium(turn % 2 === 0 ? doors[0] : doors[1], user, key)),
    );
    const [first] = answers.filter(({ status }) => status === 201);
    for (const { status, text, body } of answers)
      if (status === 201) expect(text).toBe(first?.text);
      else expect([status, Object.keys(body)]).toEqual([409, ['message']]);
    expect((await buyPremium(world.send, user, key)).text).toBe(first?.text);
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('a key whose purchase nobody knows the end of is not free for another', async () => {
    const user = rich();
    const key = randomUUID();
    world.wallet.after = unreachable;
    expect((await buyPremium(world.send, user, key)).status).toBe(503);
    world.wallet.after = nothing;
    const other = await boost(user, ownGym(user.userId), 'basic', key);
    expect([other.status, Object.keys(other.body.errors)]).toEqual([422, ['idempotency_key']]);
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('a key is kept for 24 hours, with its purchase', async () => {
    const user = rich();
    const key = randomUUID();
    const gymId = ownGym(user.userId);
    const first = await boost(user, gymId, 'basic', key);
    world.clock.advance(24 * 60 * MINUTE_MS - 1);
    expect((await boost(user, gymId, 'basic', key)).text).toBe(first.text);
    world.clock.advance(1);
    const later = await boost(user, gymId, 'basic', key);
    expect([later.status, later.body.code]).toEqual([400, 'payments.boost_already_live']);
  });

  test('keys are per user', async () => {
    const key = randomUUID();
    expect((await buyPremium(world.send, rich(), key)).status).toBe(201);
    expect((await buyPremium(world.send, rich(), key)).status).toBe(201);
  });
});

describe('cut in two', () => {
  beforeEach(wellBefore);

  test('charged, and the answer lost: the sweeper grants once, whatever number of sweepers', async () => {
    const user = rich();
    world.wallet.after = unreachable;
    expect((await buyPremium(world.send, user)).status).toBe(503);
    world.wallet.after = nothing;
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(await stateOf(user.userId)).toEqual(['reserved']);
    await world.service.rounds.sweepWalletPurchases();
    expect(await stateOf(user.userId)).toEqual(['reserved']);
    world.clock.advance(2 * MINUTE_MS);
    await Promise.all(Array.from({ length: 5 }, () => world.service.rounds.sweepWalletPurchases()));
    expect(await stateOf(user.userId)).toEqual(['granted']);
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('never charged, because the wallet is away: the sweeper charges and grants, or undoes it', async () => {
    const [able, poor] = [rich(), newUser()];
    world.wallet.before = unreachable;
    expect((await buyPremium(world.send, able)).status).toBe(503);
    expect((await buyPremium(world.send, poor)).status).toBe(503);
    await sweep();
    expect([await stateOf(able.userId), await stateOf(poor.userId)]).toEqual([['reserved'], ['reserved']]);
    world.wallet.before = nothing;
    await sweep();
    expect([await stateOf(able.userId), await stateOf(poor.userId)]).toEqual([['granted'], ['undone']]);
    world.wallet.balances.set(poor.userId, PREMIUM);
    expect((await buyPremium(world.send, poor)).status).toBe(201);
  });

  test('while nobody knows, the slot stays taken: a second purchase charges nothing', async () => {
    const user = rich();
    world.wallet.after = unreachable;
    expect((await buyPremium(world.send, user)).status).toBe(503);
    world.wallet.after = nothing;
    expect((await buyPremium(world.send, user)).status).toBe(503);
    expect(world.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
  });

  test('who comes after the lease takes the saga over and finds it granted', async () => {
    const user = rich();
    world.wallet.after = unreachable;
    expect((await buyPremium(world.send, user)).status).toBe(503);
    world.wallet.after = nothing;
    world.clock.advance(MINUTE_MS);
    const second = await buyPremium(world.send, user);
    expect([second.status, second.body.code]).toEqual([400, 'payments.premium_already_active']);
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('a redemption passes over a wallet purchase that nobody drives: it is granted, and the wallet gets its charge back', async () => {
    const user = rich();
    const token = newToken();
    await putPurchase(world, token);
    world.wallet.after = unreachable;
    expect((await buyPremium(world.send, user)).status).toBe(503);
    world.wallet.after = nothing;
    expect((await redeem(world.send, user, token)).status).toBe(201);
    await sweep();
    await world.service.rounds.verifyAttempts();
    expect(await stateOf(user.userId)).toEqual(['refunded']);
    expect(world.wallet.balances.get(user.userId)).toBe(10 * PREMIUM);
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(await count(world, 'refund_queue', { user_id: user.userId })).toBe(0);
  });

  test('what was passed over takes its slot after all when the store has taken its purchase back meanwhile', async () => {
    const user = rich();
    const token = newToken();
    await putPurchase(world, token);
    world.wallet.after = unreachable;
    expect((await buyPremium(world.send, user)).status).toBe(503);
    world.wallet.after = nothing;
    expect((await redeem(world.send, user, token)).status).toBe(201);
    await world.service.idle();
    await putPurchase(world, token, 'refunded');
    world.clock.advance(24 * 60 * MINUTE_MS);
    await world.service.rounds.lookAgain();
    await sweep();
    expect(await stateOf(user.userId)).toEqual(['granted']);
    expect(world.wallet.balances.get(user.userId)).toBe(9 * PREMIUM);
  });

  test('a repeat of what was given back says why', async () => {
    const user = rich();
    const token = newToken();
    const key = randomUUID();
    await putPurchase(world, token);
    world.wallet.after = unreachable;
    expect((await buyPremium(world.send, user, key)).status).toBe(503);
    world.wallet.after = nothing;
    expect((await redeem(world.send, user, token)).status).toBe(201);
    world.clock.advance(2 * MINUTE_MS);
    const repeat = await buyPremium(world.send, user, key);
    expect([repeat.status, repeat.body.code]).toEqual([400, 'payments.premium_already_active']);
    expect(world.wallet.balances.get(user.userId)).toBe(10 * PREMIUM);
  });

  test('the gym is deleted between the charge and the boost: the wallet gets it back, once', async () => {
    const user = rich();
    const gymId = ownGym(user.userId);
    const balance = world.wallet.balances.get(user.userId);
    world.wallet.after = async () => {
      world.wallet.after = nothing;
      await publish(world, 'gyms.gym.deleted', 'gyms', { gym_id: gymId });
      const slots = world.database.collection<{ _id: string; closed: boolean }>('slots');
      await eventually(() => slots.findOne({ _id: `boost:gym:${gymId}`, closed: true }).then(Boolean));
    };
    const answer = await boost(user, gymId);
    expect([answer.status, answer.body.code]).toEqual([404, 'payments.target_not_found']);
    await sweep();
    expect(world.wallet.balances.get(user.userId)).toBe(balance);
    expect(world.wallet.bookings(user.userId, 'income')).toHaveLength(1);
    expect(await stateOf(user.userId)).toEqual(['refunded']);
    expect(await count(world, 'boosts', { boostable_id: gymId })).toBe(0);
  });

  test('a refund that the wallet does not answer is tried until it is booked', async () => {
    const user = rich();
    const gymId = ownGym(user.userId);
    const balance = world.wallet.balances.get(user.userId);
    world.wallet.after = unreachable;
    expect((await boost(user, gymId)).status).toBe(503);
    world.wallet.after = nothing;
    const slots = world.database.collection<{ _id: string; closed: boolean }>('slots');
    await slots.updateOne({ _id: `boost:gym:${gymId}` }, { $set: { closed: true } });
    // Other sagas of this file may be swept as well.
    world.wallet.before = async ([booking]) => {
      if (booking?.type === 'income' && booking.user_id === user.userId) await unreachable();
    };
    await sweep();
    expect(await stateOf(user.userId)).toEqual(['refunding']);
    world.wallet.before = nothing;
    await sweep();
    expect(await stateOf(user.userId)).toEqual(['refunded']);
    expect(world.wallet.balances.get(user.userId)).toBe(balance);
  });

  test('a refusal that is no question of money is 503, and nothing is left half done', async () => {
    const user = rich();
    world.wallet.before = async () => {
      throw badRequest('wallet.odd', message('error.bad_request'));
    };
    const answer = await buyPremium(world.send, user).finally(() => {
      world.wallet.before = nothing;
    });
    expect(answer.status).toBe(503);
    expect(await stateOf(user.userId)).toEqual(['undone']);
    expect((await buyPremium(world.send, user)).status).toBe(201);
  });
});
