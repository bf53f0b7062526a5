/** After a restore of an older backup, confirmed purchases in the journal are granted once, to their users. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NO_PROGRESS } from '@fitness/shared/kernel/progress.mjs';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDependencies, type Dependencies } from '../src/dependencies.ts';
import { createUseCases } from '../src/use-cases.ts';
import {
  count,
  type Harness,
  newId,
  newToken,
  newUser,
  putPurchase,
  redeem,
  startHarness,
} from './support.ts';

let harness: Harness;
let dependencies: Dependencies;
let close: () => Promise<void>;
beforeAll(async () => {
  harness = await startHarness();
  const runtime = await createServiceRuntime('store-billing', harness.config, { clock: harness.clock });
  dependencies = await createDependencies(runtime, harness.config);
  close = () => runtime.cleanup.close();
});
afterAll(async () => {
  await close();
  await harness.close();
});

type Rows = Map<string, Record<string, unknown>[]>;

const backUp = async (): Promise<Rows> => {
  await harness.service.idle();
  const rows: Rows = new Map();
  for (const { name } of await harness.database.listCollections())
    rows.set(name, (await harness.database.collection(name).find().toArray()) as never);
  return rows;
};

const restore = async (backup: Rows): Promise<void> => {
  await harness.service.idle();
  for (const { name } of await harness.database.listCollections()) {
    const collection = harness.database.collection(name);
    const stored = backup.get(name) ?? [];
    const replaced = stored.map((row) => ({
      replaceOne: { filter: { _id: row._id } as never, replacement: row, upsert: true },
    }));
    await collection.deleteMany({ _id: { $nin: stored.map(({ _id }) => _id) } } as never);
    if (replaced.length > 0) await collection.bulkWrite(replaced);
  }
};

const journal = () => join(harness.config.JOURNAL_DIRECTORY, 'store-purchases');

/** Returns results for these tokens only, because every test leaves entries. */
const restorePurchases = async (...tokens: string[]) => {
  const restored = await createUseCases(dependencies).restorePurchases(NO_PROGRESS);
  return restored
    .filter(({ purchase_token: token }) => tokens.includes(token))
    .map(({ purchase_token: token, user_id: userId, state }) => ({ token, userId, state }))
    .sort((one, other) => tokens.indexOf(one.token) - tokens.indexOf(other.token));
};

const bought = async (productId = 'premium_plus'): Promise<string> => {
  const token = newToken();
  await putPurchase(harness, token, 'purchased', productId);
  return token;
};

test('a subscription and a boost redeemed after the backup are granted again once per restore', async () => {
  const user = newUser();
  const gym = newId();
  harness.targets.gyms.set(gym, { user_id: user.userId, is_active: true });
  const backup = await backUp();
  const [premium, boost] = [await bought(), await bought('boost_basic')];
  expect((await redeem(harness.send, user, premium)).status).toBe(201);
  const target = { product_id: 'boost_basic', boostable_type: 'gym', boostable_id: gym };
  const operator = caller(newId(), ['payments.view_own', 'payments.boost_all']);
  expect((await redeem(harness.send, operator, boost, target)).status).toBe(201);
  for (let round = 1; round <= 2; round += 1) {
    await restore(backup);
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(0);
    expect(await restorePurchases(premium, boost)).toEqual([
      { token: premium, userId: user.userId, state: 'granted' },
      { token: boost, userId: operator.userId, state: 'granted' },
    ]);
    expect(await restorePurchases(premium, boost)).toEqual([]);
    expect((await redeem(harness.send, user, premium)).status).toBe(200);
    expect((await redeem(harness.send, operator, boost, target)).status).toBe(200);
    for (const [collection, filter] of [
      ['subscriptions', { user_id: user.userId }],
      ['boosts', { boostable_id: gym }],
      ['store_purchases', { user_id: user.userId }],
      ['store_purchases', { user_id: operator.userId }],
    ] as const)
      expect([collection, await count(harness, collection, filter)]).toEqual([collection, 1]);
    expect(await harness.database.collection('boosts').findOne({ boostable_id: gym })).toMatchObject({
      user_id: operator.userId,
    });
    expect(await count(harness, 'audit_entries', { action: 'boost.buy', actor_id: operator.userId })).toBe(1);
  }
});

test('a token belongs to the user to whom it was granted, not to the first presenter', async () => {
  const [first, second] = [newUser(), newUser()];
  const running = await bought();
  await redeem(harness.send, first, running);
  const backup = await backUp();
  const token = await bought();
  expect((await redeem(harness.send, first, token)).body.code).toBe('store_purchase.premium_already_active');
  harness.clock.advance(20_000);
  await harness.service.rounds.verifyAttempts();
  expect((await redeem(harness.send, second, token)).status).toBe(201);
  await harness.service.idle();
  await restore(backup);
  // The subscription that was running has ended.
  harness.clock.advance(400 * 86_400_000);
  expect(await restorePurchases(token)).toEqual([{ token, userId: second.userId, state: 'granted' }]);
  expect(await count(harness, 'subscriptions', { user_id: first.userId })).toBe(1);
});

test('refunded purchases and purchases of erased accounts are listed and not granted', async () => {
  const [refunded, gone] = [newUser(), newUser()];
  const tokens = [await bought(), await bought()] as const;
  const backup = await backUp();
  await redeem(harness.send, refunded, tokens[0]);
  await redeem(harness.send, gone, tokens[1]);
  await restore(backup);
  await putPurchase(harness, tokens[0], 'refunded');
  harness.gone.add(gone.userId);
  expect(await restorePurchases(...tokens)).toEqual([
    { token: tokens[0], userId: refunded.userId, state: 'closed' },
    { token: tokens[1], userId: gone.userId, state: 'no_account' },
  ]);
  for (const { userId } of [refunded, gone])
    expect(await count(harness, 'subscriptions', { user_id: userId })).toBe(0);
});

test('a boost of a gym that the backup lacks is listed: another gym may get its id', async () => {
  const user = newUser();
  const gym = newId();
  const backup = await backUp();
  harness.targets.gyms.set(gym, { user_id: user.userId, is_active: true });
  const boost = await bought('boost_basic');
  const target = { product_id: 'boost_basic', boostable_type: 'gym', boostable_id: gym };
  expect((await redeem(harness.send, user, boost, target)).status).toBe(201);
  await restore(backup);
  harness.targets.gyms.delete(gym);
  expect(await restorePurchases(boost)).toEqual([{ token: boost, userId: user.userId, state: 'no_target' }]);
  harness.targets.gyms.set(gym, { user_id: newId(), is_active: true });
  await harness.service.rounds.verifyAttempts();
  expect(await count(harness, 'boosts', { boostable_id: gym })).toBe(0);
  expect(await count(harness, 'refund_queue', { purchase_token: boost })).toBe(0);
});

test('an entry without a committed grant is listed, and granted when it is presented again', async () => {
  const user = newUser();
  const token = await bought();
  const { store } = dependencies;
  const died = new Error('died');
  const dying = { ...store, transaction: () => Promise.reject(died) };
  const redeemed = createUseCases({ ...dependencies, store: dying }).redeemStorePurchase(user, {
    productId: 'premium_plus',
    purchaseToken: token,
    target: null,
  });
  await expect(redeemed).rejects.toMatchObject({ code: 'store_purchase.grant_failed' });
  const files = (await readdir(journal())).filter((name) => name.startsWith(`${user.userId}-`));
  expect(files).toEqual([expect.stringMatching(/\.begun\.json$/)]);
  expect(JSON.parse(await readFile(join(journal(), files[0] ?? ''), 'utf8'))).toEqual({
    channel: 'cafebazaar',
    product_id: 'premium_plus',
    purchase_token: token,
    user_id: user.userId,
    target: null,
    confirmed_at: expect.any(String),
  });
  expect(await restorePurchases(token)).toEqual([{ token, userId: user.userId, state: 'not_granted' }]);
  expect((await redeem(harness.send, user, token)).status).toBe(201);
  expect(await restorePurchases(token)).toEqual([]);
});

test('a purchase that an operator refunded after the backup is not granted', async () => {
  const user = newUser();
  await redeem(harness.send, user, await bought());
  const backup = await backUp();
  const token = await bought();
  expect((await redeem(harness.send, user, token)).body.code).toBe('store_purchase.premium_already_active');
  harness.clock.advance(20_000);
  await harness.service.rounds.verifyAttempts();
  const row = await harness.database.collection('refund_queue').findOne({ purchase_token: token });
  const closed = await harness.send('POST', `/payments/store-purchases/refund-queue/${row?._id}/resolve`, {
    as: caller(newId(), ['payments.resolve_disputes']),
    body: { outcome: 'refunded', note: 'By bank transfer' },
  });
  expect(closed.status).toBe(200);
  await restore(backup);
  // The subscription that was running has ended.
  harness.clock.advance(400 * 86_400_000);
  expect(await restorePurchases(token)).toEqual([{ token, userId: user.userId, state: 'not_granted' }]);
  expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
});
