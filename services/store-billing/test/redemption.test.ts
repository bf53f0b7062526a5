/** The rows of specification 4.6, and the order of the checks. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { caller, eventually, gatewayContext } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  BASIC,
  count,
  type Harness,
  isConsumed,
  newId,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startHarness,
  storeCalls,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const ownGym = (userId: number, is_active = true): number => {
  const id = newId();
  harness.targets.gyms.set(id, { user_id: userId, is_active });
  return id;
};

const boostFields = (gymId: number, product_id = 'boost_basic') => ({
  product_id,
  boostable_type: 'gym',
  boostable_id: gymId,
});

describe('201', () => {
  test('a premium redemption grants a calendar month, with receipt, journal and events', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token);
    const answer = await redeem(harness.send, user, token);
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      data: {
        id: expect.any(Number),
        user_id: user.userId,
        type: 'plus',
        starts_at: '2126-01-15 10:00:00',
        expires_at: '2126-02-15 10:00:00',
        created_at: '2126-01-15 10:00:00',
      },
    });
    const receipts = harness.database.collection('store_purchases');
    expect(await receipts.findOne({ purchase_token: token })).toMatchObject({
      channel: 'cafebazaar',
      user_id: user.userId,
      user_premium_subscription_id: answer.body.data.id,
      marketing_boost_id: null,
    });
    expect(await count(harness, 'store_purchase_attempts', { purchase_token: token, state: 'granted' })).toBe(
      1,
    );
    const mine = {
      matches: ({ data }: { data: unknown }) => (data as { user_id: number }).user_id === user.userId,
    };
    const granted = await harness.tap.waitFor('store_billing.store_purchase.granted', mine);
    expect(granted.data).toEqual({
      store_purchase_id: expect.any(Number),
      user_id: user.userId,
      channel: 'cafebazaar',
      product_id: 'premium_plus',
      amount: PREMIUM,
      payable_type: 'App\\Models\\Payments\\UserPremiumSubscription',
      payable_id: answer.body.data.id,
    });
    const started = await harness.tap.waitFor('store_billing.subscription.started', mine);
    expect(started.data).toMatchObject({ expires_at: '2126-02-15 10:00:00', type: 'plus' });
  });

  test.each([
    ['boost_basic', 1, '2126-01-22 10:00:00', BASIC],
    ['boost_pro', 2, '2126-02-14 10:00:00', 190_000],
  ])('%s boosts the caller’s gym at level %i until %s', async (sku, level, endsAt, amount) => {
    const user = newUser();
    const gymId = ownGym(user.userId);
    const token = newToken();
    await putPurchase(harness, token, 'purchased', sku);
    const answer = await redeem(harness.send, user, token, boostFields(gymId, sku));
    expect(answer.status).toBe(201);
    expect(answer.body.data).toEqual({
      id: expect.any(Number),
      boostable_type: 'App\\Models\\Gyms\\Gym',
      boostable_id: gymId,
      level,
      starts_at: '2126-01-15 10:00:00',
      ends_at: endsAt,
      created_at: '2126-01-15 10:00:00',
    });
    const receipt = await harness.database.collection('store_purchases').findOne({ purchase_token: token });
    expect(receipt).toMatchObject({
      user_premium_subscription_id: null,
      marketing_boost_id: answer.body.data.id,
    });
    const boosted = await harness.tap.waitFor('store_billing.boost.granted', {
      matches: ({ data }) => (data as { boostable_id: number }).boostable_id === gymId,
    });
    expect(boosted.data).toMatchObject({ boostable_type: 'gym', level, ends_at: endsAt });
    const granted = await harness.tap.waitFor('store_billing.store_purchase.granted', {
      matches: ({ data }) => (data as { user_id: number }).user_id === user.userId,
    });
    expect(granted.data).toMatchObject({ amount, payable_type: 'App\\Models\\Payments\\MarketingBoost' });
  });

  test('a boosted training service has its model name', async () => {
    const user = newUser();
    const id = newId();
    harness.targets.services.set(id, { user_id: user.userId, is_active: true });
    const token = newToken();
    await putPurchase(harness, token, 'purchased', 'boost_basic');
    const answer = await redeem(harness.send, user, token, {
      product_id: 'boost_basic',
      boostable_type: 'training_service',
      boostable_id: id,
    });
    expect(answer.body.data).toMatchObject({
      boostable_type: 'App\\Models\\TrainingServices\\TrainingService',
      boostable_id: id,
    });
  });

  test('payments.boost_all boosts another user’s target', async () => {
    const gymId = ownGym(newId());
    const token = newToken();
    await putPurchase(harness, token, 'purchased', 'boost_basic');
    const operator = newUser(['payments.view_own', 'payments.boost_all']);
    expect((await redeem(harness.send, operator, token, boostFields(gymId))).status).toBe(201);
  });

  test('target fields of any type are ignored for premium', async () => {
    const token = newToken();
    await putPurchase(harness, token);
    const fields = { boostable_type: 17, boostable_id: 'x' };
    expect((await redeem(harness.send, newUser(), token, fields)).status).toBe(201);
  });

  test('a purchase that the app has already consumed is granted', async () => {
    const token = newToken();
    await putPurchase(harness, token);
    await fetch(`${harness.sandbox.url}/cafebazaar/devapi/v2/api/consume/com.fitness.app/purchases/`, {
      method: 'POST',
      headers: { 'cafebazaar-pishkhan-api-secret': 's', 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    });
    expect((await redeem(harness.send, newUser(), token)).status).toBe(201);
  });

  test('the purchase is consumed at the store after the commit', async () => {
    const token = newToken();
    await putPurchase(harness, token);
    expect((await redeem(harness.send, newUser(), token)).status).toBe(201);
    await eventually(() => isConsumed(harness, token, 'premium_plus'));
    await eventually(
      async () =>
        (await count(harness, 'store_purchases', { purchase_token: token, acknowledge_due_at: null })) === 1,
    );
  });

  test('a token with any characters reaches the store unchanged', async () => {
    const token = `a/../b?c=#%2e ${newToken()} شناسه`;
    await putPurchase(harness, token);
    expect((await redeem(harness.send, newUser(), token)).status).toBe(201);
    expect(await storeCalls(harness, token)).toBe(1);
  });
});

describe('200, the replay', () => {
  test('a replay returns the same grant, stores nothing and does not ask the store', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token);
    const first = await redeem(harness.send, user, token);
    await harness.service.idle();
    const calls = await storeCalls(harness, token);
    const again = await redeem(harness.send, user, token);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
    expect(await storeCalls(harness, token)).toBe(calls);
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect(await count(harness, 'store_purchases', { user_id: user.userId })).toBe(1);
  });

  test('a replay of a boost is recognized by its token, even with another target', async () => {
    const user = newUser();
    const [gymId, other] = [ownGym(user.userId), ownGym(user.userId)];
    const token = newToken();
    await putPurchase(harness, token, 'purchased', 'boost_basic');
    const first = await redeem(harness.send, user, token, boostFields(gymId));
    harness.targets.gyms.delete(gymId);
    const again = await redeem(harness.send, user, token, boostFields(other));
    expect([again.status, again.body]).toEqual([200, first.body]);
  });
});

describe('400', () => {
  test('an active subscription refuses another token before the store is asked', async () => {
    const user = newUser();
    const [first, second] = [newToken(), newToken()];
    await Promise.all([putPurchase(harness, first), putPurchase(harness, second)]);
    expect((await redeem(harness.send, user, first)).status).toBe(201);
    const refused = await redeem(harness.send, user, second);
    expect(refused.status).toBe(400);
    expect(refused.body).toEqual({
      error: 'You already have an active subscription.',
      code: 'store_purchase.premium_already_active',
    });
    expect(await storeCalls(harness, second)).toBe(0);
  });

  test('a live boost refuses another one of any level', async () => {
    const user = newUser();
    const gymId = ownGym(user.userId);
    const [first, second] = [newToken(), newToken()];
    await putPurchase(harness, first, 'purchased', 'boost_basic');
    await putPurchase(harness, second, 'purchased', 'boost_pro');
    expect((await redeem(harness.send, user, first, boostFields(gymId))).status).toBe(201);
    const refused = await redeem(harness.send, user, second, boostFields(gymId, 'boost_pro'));
    expect(refused.status).toBe(400);
    expect(refused.body).toEqual({ error: expect.any(String), code: 'store_purchase.boost_already_live' });
  });

  test.each(['canceled', 'refunded', 'pending'] as const)(
    'a %s purchase is not confirmed, and its attempt is closed',
    async (state) => {
      const user = newUser();
      const token = newToken();
      await putPurchase(harness, token, state);
      const answer = await redeem(harness.send, user, token);
      expect(answer.status).toBe(400);
      expect(answer.body).toEqual({
        error: expect.any(String),
        code: 'store_purchase.verification_failed',
      });
      expect(
        await count(harness, 'store_purchase_attempts', { purchase_token: token, state: 'closed' }),
      ).toBe(1);
      expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(0);
    },
  );

  test.each([
    ['no such purchase', undefined],
    ['a purchase of another product', 'boost_basic'],
  ])('%s is not confirmed', async (_name, bought) => {
    const token = newToken();
    if (bought !== undefined) await putPurchase(harness, token, 'purchased', bought);
    const answer = await redeem(harness.send, newUser(), token);
    expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.verification_failed']);
  });

  test('an unreadable response is not confirmed, and the attempt stays open', async () => {
    const token = newToken();
    await putPurchase(harness, token, 'garbage');
    const answer = await redeem(harness.send, newUser(), token);
    expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.verification_failed']);
    expect(await count(harness, 'store_purchase_attempts', { purchase_token: token, state: 'open' })).toBe(1);
  });

  test('a pending purchase can be redeemed once it is paid', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token, 'pending');
    expect((await redeem(harness.send, user, token)).status).toBe(400);
    await putPurchase(harness, token, 'purchased');
    expect((await redeem(harness.send, user, token)).status).toBe(201);
  });
});

describe('401, 403, 404', () => {
  test('a guest is unauthenticated', async () => {
    const answer = await harness.send('POST', '/payments/store-purchases', { body: {} });
    expect(answer.status).toBe(401);
  });

  test.each([
    ['none of the three permissions', ['payments.view_own']],
    ['no payments.view_own', ['payments.buy_premium', 'payments.boost_own', 'payments.boost_all']],
  ] as const)('a caller with %s is refused before the body is read', async (_name, permissions) => {
    const malformed = async (as: UserCaller): Promise<number> => {
      const context = gatewayContext('store-billing', as);
      const answer = await fetch(`${harness.service.url}/api/v1/payments/store-purchases`, {
        method: 'POST',
        headers: { [CALLER_HEADER]: context, 'content-type': 'application/json' },
        body: '{"channel": ',
      });
      return answer.status;
    };
    expect(await malformed(caller(newId(), permissions))).toBe(403);
    expect(await malformed(newUser())).toBe(400);
  });

  test.each([
    ['premium_plus', ['payments.view_own', 'payments.boost_own', 'payments.boost_all']],
    ['boost_basic', ['payments.view_own', 'payments.buy_premium']],
  ] as const)(
    'the permission for %s is required; the other one does not cover it',
    async (sku, permissions) => {
      const user = caller(newId(), permissions);
      const token = newToken();
      await putPurchase(harness, token, 'purchased', sku);
      const answer = await redeem(harness.send, user, token, boostFields(ownGym(user.userId), sku));
      expect(answer.status).toBe(403);
      expect(await storeCalls(harness, token)).toBe(0);
    },
  );

  test('a boost of another user’s target with payments.boost_own gets 403, before the store is called', async () => {
    const token = newToken();
    await putPurchase(harness, token, 'purchased', 'boost_basic');
    const answer = await redeem(harness.send, newUser(), token, boostFields(ownGym(newId())));
    expect(answer.status).toBe(403);
    expect(await storeCalls(harness, token)).toBe(0);
  });

  test('a boost of a gym without an owner is rejected with 403', async () => {
    const id = newId();
    harness.targets.gyms.set(id, { is_active: true });
    expect((await redeem(harness.send, newUser(), newToken(), boostFields(id))).status).toBe(403);
  });

  test.each([0, -1, 987_654_321])('the target %i does not exist', async (id) => {
    const answer = await redeem(harness.send, newUser(), newToken(), boostFields(id));
    expect([answer.status, answer.body]).toEqual([
      404,
      { error: 'This gym or training service does not exist.', code: 'store_purchase.target_not_found' },
    ]);
  });

  test('a boost of an inactive gym returns 404 for everyone but its owner', async () => {
    const user = newUser();
    const others = await redeem(harness.send, user, newToken(), boostFields(ownGym(newId(), false)));
    expect(others.status).toBe(404);
    const token = newToken();
    await putPurchase(harness, token, 'purchased', 'boost_basic');
    const own = await redeem(harness.send, user, token, boostFields(ownGym(user.userId, false)));
    expect(own.status).toBe(201);
  });

  test('unknown products, other users’ tokens and other products’ tokens get the same response', async () => {
    const owner = newUser();
    const token = newToken();
    await putPurchase(harness, token);
    expect((await redeem(harness.send, owner, token)).status).toBe(201);
    const unknown = await redeem(harness.send, newUser(), newToken(), { product_id: 'premium_yearly' });
    const another = await redeem(harness.send, newUser(), token);
    const product = await redeem(harness.send, owner, token, boostFields(ownGym(owner.userId)));
    expect([unknown.status, another.status, product.status]).toEqual([404, 404, 404]);
    expect(unknown.body).toEqual({ error: 'This purchase was not found.', code: 'store_purchase.not_found' });
    expect(another.text).toBe(unknown.text);
    expect(product.text).toBe(unknown.text);
  });

  test('errors are in the language of Accept-Language', async () => {
    const answer = await harness.send('POST', '/payments/store-purchases', {
      as: newUser(),
      headers: { 'accept-language': 'fa' },
      body: { channel: 'cafebazaar', product_id: 'nothing', purchase_token: newToken() },
    });
    expect(answer.body.error).toBe('این خرید پیدا نشد.');
  });
});

describe('422', () => {
  test.each([
    ['direct', { channel: 'direct' }, ['channel']],
    ['another store', { channel: 'myket' }, ['channel']],
    ['a long product', { product_id: 'x'.repeat(192) }, ['product_id']],
    ['a long token', { purchase_token: 'x'.repeat(256) }, ['purchase_token']],
    ['an empty token', { purchase_token: '' }, ['purchase_token']],
    ['a token that is a path', { purchase_token: '..' }, ['purchase_token']],
    ['a boost without target', { product_id: 'boost_basic' }, ['boostable_type', 'boostable_id']],
    [
      'a boost with nulls',
      { product_id: 'boost_pro', boostable_type: null, boostable_id: null },
      ['boostable_type', 'boostable_id'],
    ],
    [
      'a boost of a user',
      { product_id: 'boost_pro', boostable_type: 'user', boostable_id: 1 },
      ['boostable_type'],
    ],
    [
      'a boost of a text',
      { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: '1' },
      ['boostable_id'],
    ],
    [
      'everything wrong at once',
      { channel: 'direct', purchase_token: 5, product_id: 'boost_basic' },
      ['channel', 'purchase_token', 'boostable_type', 'boostable_id'],
    ],
    [
      'nothing',
      { channel: undefined, product_id: undefined, purchase_token: undefined },
      ['channel', 'product_id', 'purchase_token'],
    ],
  ])('a body with %s is rejected with 422 and names the fields', async (_name, fields, named) => {
    const answer = await redeem(harness.send, newUser(), newToken(), fields);
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.body.errors).sort()).toEqual([...named].sort());
    expect(Object.values(answer.body.errors).every((texts) => (texts as string[]).length === 1)).toBe(true);
  });

  test.each([
    ['"text"'],
    ['[]'],
    ['5'],
    ['{"channel":{"$ne":null},"product_id":{"$gt":""},"purchase_token":{"$gt":""}}'],
  ])('the body %s is rejected with 422, not 500', async (body) => {
    const answer = await harness.send('POST', '/payments/store-purchases', {
      as: newUser(),
      body: JSON.parse(body),
    });
    expect(answer.status).toBe(422);
  });

  test('the longest product and token are accepted', async () => {
    const answer = await redeem(harness.send, newUser(), 'x'.repeat(255), { product_id: 'y'.repeat(191) });
    expect(answer.status).toBe(404);
  });
});

describe('429', () => {
  test('a user’s eleventh request within a minute is rejected with 429, counted over all tokens', async () => {
    const user = caller(newId(), []);
    for (let request = 0; request < 10; request += 1)
      expect((await redeem(harness.send, user, newToken())).status).toBe(403);
    const refused = await redeem(harness.send, user, newToken());
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(refused.headers.get('x-ratelimit-limit')).toBe('10');
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    expect((await redeem(harness.send, newUser(), newToken(), { product_id: 'x' })).status).toBe(404);
  });
});

describe('500 and 503', () => {
  test('the same token is granted when the store responds again', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token, 'unreachable');
    expect((await redeem(harness.send, user, token)).status).toBe(500);
    await putPurchase(harness, token, 'purchased');
    expect((await redeem(harness.send, user, token)).status).toBe(201);
  });

  test('a redemption that cannot be stored returns 500, and the background job grants it', async () => {
    const [user, token] = [newUser(), newToken()];
    await putPurchase(harness, token);
    // The id of the next grant is taken.
    const numbers = harness.database.collection<{ _id: string; value: number }>('sequences');
    const last = (await numbers.findOne({ _id: 'subscription' }))?.value ?? 0;
    const subscriptions = harness.database.collection<{ _id: number }>('subscriptions');
    await subscriptions.insertOne({ _id: last + 1 });
    const answer = await redeem(harness.send, user, token);
    expect([answer.status, answer.body]).toEqual([
      500,
      {
        error: 'The store confirmed your purchase, but we could not activate it. We will keep trying.',
        code: 'store_purchase.grant_failed',
      },
    ]);
    expect(await count(harness, 'store_purchases', { purchase_token: token })).toBe(0);
    expect(await count(harness, 'slots', { _id: `premium:${user.userId}` })).toBe(0);
    expect(await count(harness, 'store_purchase_attempts', { purchase_token: token, state: 'open' })).toBe(1);
    harness.clock.advance(2 * MINUTE_MS);
    await harness.service.rounds.verifyAttempts();
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    expect((await redeem(harness.send, user, token)).status).toBe(200);
  });

  test('a redemption returns 503 before the store call if the target’s service does not respond', async () => {
    const user = newUser();
    const token = newToken();
    harness.targets.down = true;
    const answer = await redeem(harness.send, user, token, boostFields(ownGym(user.userId))).finally(() => {
      harness.targets.down = false;
    });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).not.toBeNull();
    expect(await storeCalls(harness, token)).toBe(0);
  });
});

describe('the database', () => {
  const receipt = { channel: 'c', product_id: 'p', user_id: 1, purchase_token: 't' };

  test.each([
    ['both grants', { user_premium_subscription_id: 900_001, marketing_boost_id: 900_001 }],
    ['no grant', { user_premium_subscription_id: null, marketing_boost_id: null }],
  ])('the database refuses a receipt with %s', async (_name, grants) => {
    const receipts = harness.database.collection('store_purchases');
    await expect(receipts.insertOne({ ...receipt, ...grants })).rejects.toThrow(/validation/);
  });

  test('the database refuses an update of a receipt to both grants or none', async () => {
    const token = newToken();
    await putPurchase(harness, token);
    await redeem(harness.send, newUser(), token);
    const receipts = harness.database.collection('store_purchases');
    const mine = { purchase_token: token };
    await expect(receipts.updateOne(mine, { $set: { marketing_boost_id: 900_003 } })).rejects.toThrow(
      /validation/,
    );
    await expect(receipts.updateOne(mine, { $set: { user_premium_subscription_id: null } })).rejects.toThrow(
      /validation/,
    );
  });

  test.each([
    ['subscription', 'premium_plus', 'user_premium_subscription_id'],
    ['boost', 'boost_basic', 'marketing_boost_id'],
  ] as const)('the database refuses a second receipt for one %s', async (_name, sku, field) => {
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token, 'purchased', sku);
    const fields = sku === 'premium_plus' ? {} : boostFields(ownGym(user.userId));
    const { body } = await redeem(harness.send, user, token, fields);
    const none = { user_premium_subscription_id: null, marketing_boost_id: null };
    const second = { ...receipt, purchase_token: newToken(), ...none, [field]: body.data.id };
    await expect(harness.database.collection('store_purchases').insertOne(second)).rejects.toThrow(/E11000/);
  });

  test('the database refuses a second receipt for one token', async () => {
    const token = newToken();
    await putPurchase(harness, token);
    await redeem(harness.send, newUser(), token);
    const second = { ...receipt, channel: 'cafebazaar', purchase_token: token };
    const receipts = harness.database.collection('store_purchases');
    await expect(
      receipts.insertOne({ ...second, user_premium_subscription_id: 900_002, marketing_boost_id: null }),
    ).rejects.toThrow(/E11000/);
  });
});
