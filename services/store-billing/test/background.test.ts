/** The jobs: re-verification, refund queue, acknowledgement, refund reconciliation, ends of boosts and subscriptions. */
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { DAY_MS, formatTimestamp, HOUR_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { apiClient, caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { startStoreBilling } from '../src/service.ts';
import {
  advancedReplica,
  count,
  type Harness,
  isConsumed,
  newId,
  newToken,
  newUser,
  PREMIUM,
  publish,
  putPurchase,
  redeem,
  replicaWithShortTimeout,
  startHarness,
  storeCalls,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());
/** Otherwise the rounds of later tests, which advance the clock by days, would also work on the rows of earlier ones. */
afterEach(async () => {
  for (const [collection, due] of [
    ['store_purchase_attempts', 'next_check_at'],
    ['store_purchases', 'look_due_at'],
    ['refund_queue', 'look_due_at'],
    ['boosts', 'end_due_at'],
    ['subscriptions', 'expiry_notice_due_at'],
  ] as const)
    await harness.database
      .collection(collection)
      .updateMany({ [due]: { $ne: null } }, { $set: { [due]: null } });
});

const operator = () => caller(newId(), ['payments.view_all']);
const refundQueue = async (
  query = '',
): Promise<{ user_id: number; purchase_token: string; reason: string; id: number }[]> => {
  const answer = await harness.send('GET', `/payments/store-purchases/refund-queue?per_page=100${query}`, {
    as: operator(),
  });
  expect(answer.status).toBe(200);
  return answer.body.data;
};
const refundsOf = async ({ userId }: { userId: number }) =>
  (await refundQueue()).filter(({ user_id }) => user_id === userId);
const attemptState = async (token: string): Promise<string | undefined> => {
  const attempt = await harness.database
    .collection('store_purchase_attempts')
    .findOne({ purchase_token: token });
  return attempt === null ? undefined : String(attempt.state);
};
const verifyAfter = async (durationMs = 20_000): Promise<void> => {
  harness.clock.advance(durationMs);
  await harness.service.rounds.verifyAttempts();
};
/** A purchase that a new user presented while the store was in this state. */
const presented = async (state?: 'unreachable' | 'garbage') => {
  const [user, token] = [newUser(), newToken()];
  await putPurchase(harness, token, state);
  return { user, token, answer: await redeem(harness.send, user, token) };
};
/** A running subscription, and the token of a second one that was paid while it ran. */
const paidTwice = async () => {
  const { user, answer } = await presented();
  const second = newToken();
  await putPurchase(harness, second);
  expect([answer.status, (await redeem(harness.send, user, second)).status]).toEqual([201, 400]);
  return { user, second };
};
const ownGym = (userId: number): number => {
  const id = newId();
  harness.targets.gyms.set(id, { user_id: userId, is_active: true });
  return id;
};

describe('a redemption without a verdict', () => {
  test('a redemption with a store that gives no verdict is verified again and granted once confirmed', async () => {
    const { send, service } = await replicaWithShortTimeout(harness);
    for (const state of ['garbage', 'slow'] as const) {
      const user = newUser();
      const token = newToken();
      await putPurchase(harness, token, state);
      expect((await redeem(send, user, token)).status).toBeGreaterThanOrEqual(400);
      harness.clock.advance(20_000);
      await service.rounds.verifyAttempts();
      expect([state, await attemptState(token)]).toEqual([state, 'open']);
      await putPurchase(harness, token, 'purchased');
      await verifyAfter(HOUR_MS);
      expect(await attemptState(token)).toBe('granted');
      expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
      const replay = await redeem(harness.send, user, token);
      expect(replay.status).toBe(200);
      await harness.tap.waitFor('store_billing.store_purchase.granted', {
        matches: ({ data }) => (data as { user_id: number }).user_id === user.userId,
      });
    }
  });

  test('twenty concurrent rounds grant an unverified redemption once', async () => {
    const { user, token } = await presented('unreachable');
    await putPurchase(harness, token, 'purchased');
    harness.clock.advance(MINUTE_MS);
    await Promise.all(Array.from({ length: 20 }, () => harness.service.rounds.verifyAttempts()));
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('a due redemption is verified in the next round, however many another user has', async () => {
    const [many, token] = [newToken(), newToken()];
    await putPurchase(harness, many, 'garbage');
    await redeem(harness.send, newUser(), many);
    const attempts = harness.database.collection<{ _id: string }>('store_purchase_attempts');
    const { _id, ...template } = (await attempts.findOne({ purchase_token: many })) ?? {};
    const copies = Array.from({ length: 60 }, (_, index) => ({
      ...template,
      _id: `copy ${index} of ${_id}`,
    }));
    await attempts.insertMany(copies);
    harness.clock.advance(1_000);
    await putPurchase(harness, token, 'unreachable');
    await redeem(harness.send, newUser(), token);
    await putPurchase(harness, token, 'purchased');
    await verifyAfter();
    expect(await attemptState(token)).toBe('granted');
    await attempts.deleteMany({ purchase_token: many });
  });

  const lines: string[] = [];
  let google: Awaited<ReturnType<Harness['replica']>>;
  beforeAll(async () => {
    const destination = { write: (line: string) => void lines.push(line) };
    const log = createLog({ service: 'store-billing', level: 'error', destination });
    google = await harness.replica({ STORE_CHANNEL: 'google_play' }, { log });
  });

  test('a made-up Google Play token is closed after one response and not verified again', async () => {
    const token = newToken();
    const answer = await redeem(google.send, newUser(), token, { channel: 'google_play' });
    expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.verification_failed']);
    harness.clock.advance(HOUR_MS);
    await google.service.rounds.verifyAttempts();
    expect([await attemptState(token), await storeCalls(harness, token)]).toEqual(['closed', 1]);
  });

  test.each([
    ['standard', undefined, PREMIUM],
    ['test', 'test', 0],
    ['promo', 'promo', 0],
    ['rewarded', 'rewarded', 0],
  ])(
    'a %s purchase at Google Play is granted and booked with the amount that was collected',
    async (_name, purchase_type, amount) => {
      const [user, token] = [newUser(), newToken()];
      await putPurchase(harness, token, 'purchased', 'premium_plus', { purchase_type });
      expect((await redeem(google.send, user, token, { channel: 'google_play' })).status).toBe(201);
      const event = await harness.tap.waitFor('store_billing.store_purchase.granted', {
        matches: ({ data }) => (data as { user_id: number }).user_id === user.userId,
      });
      expect(event.data).toMatchObject({ amount });
    },
  );

  test('a Google Play purchase with a quantity is granted once, booked in full and reported', async () => {
    const [user, token] = [newUser(), newToken()];
    await putPurchase(harness, token, 'purchased', 'premium_plus', { quantity: 3 });
    expect((await redeem(google.send, user, token, { channel: 'google_play' })).status).toBe(201);
    const event = await harness.tap.waitFor('store_billing.store_purchase.granted', {
      matches: ({ data }) => (data as { user_id: number }).user_id === user.userId,
    });
    expect(event.data).toMatchObject({ amount: 3 * PREMIUM });
    const alert = lines.map((line) => JSON.parse(line)).find(({ alert: name }) => name === 'store_quantity');
    expect(alert).toMatchObject({ quantity: 3, user_id: user.userId });
    expect(JSON.stringify(lines)).not.toContain(token);
  });

  test('a redemption is closed if the store reports it as not purchased', async () => {
    const { token } = await presented('unreachable');
    await putPurchase(harness, token, 'canceled');
    await verifyAfter();
    expect(await attemptState(token)).toBe('closed');
  });

  test('a redemption is closed without asking the store if another user redeemed the token', async () => {
    const { token } = await presented('unreachable');
    await putPurchase(harness, token, 'purchased');
    const owner = newUser();
    expect((await redeem(harness.send, owner, token)).status).toBe(201);
    const calls = await storeCalls(harness, token);
    await verifyAfter();
    expect(await storeCalls(harness, token)).toBe(calls);
    const attempts = harness.database.collection('store_purchase_attempts');
    const states = (await attempts.find({ purchase_token: token }).toArray()).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(['closed', 'granted']));
  });

  test('a redemption is not verified while its own request may still be running', async () => {
    const token = newToken();
    await putPurchase(harness, token, 'purchased');
    const attempts = harness.database.collection('store_purchase_attempts');
    const user = newUser();
    expect((await redeem(harness.send, user, token)).status).toBe(201);
    // The state after a crash before the grant.
    await harness.database.collection('store_purchases').deleteOne({ purchase_token: token });
    await harness.database.collection('subscriptions').deleteOne({ user_id: user.userId });
    await harness.database
      .collection<{ _id: string }>('slots')
      .updateOne({ _id: `premium:${user.userId}` }, { $set: { active_until: new Date(0) } });
    const next_check_at = new Date(harness.clock.now().getTime() + MINUTE_MS);
    await attempts.updateOne({ purchase_token: token }, { $set: { state: 'open', next_check_at } });
    await verifyAfter(MINUTE_MS - 1_000);
    expect(await attemptState(token)).toBe('open');
    await verifyAfter(2_000);
    expect(await attemptState(token)).toBe('granted');
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('a process with an advanced clock does not verify a redemption before it is due in real time', async () => {
    const { token } = await presented('unreachable');
    await putPurchase(harness, token, 'purchased');
    const { service } = await advancedReplica(harness);
    const calls = await storeCalls(harness, token);
    await service.rounds.verifyAttempts();
    expect(await storeCalls(harness, token)).toBe(calls);
    harness.clock.advance(20_000);
    await service.rounds.verifyAttempts();
    expect(await attemptState(token)).toBe('granted');
  });

  test('an advance past 72 hours gives a redemption up at its next try, which is due in real time', async () => {
    const { token } = await presented('unreachable');
    const { service } = await advancedReplica(harness);
    await service.rounds.verifyAttempts();
    expect(await attemptState(token)).toBe('open');
    harness.clock.advance(20_000);
    await service.rounds.verifyAttempts();
    expect(await attemptState(token)).toBe('given_up');
  });

  test('a redemption is given up after 72 hours, and a new presentation restarts them', async () => {
    const { user, token } = await presented('unreachable');
    await verifyAfter(71 * HOUR_MS);
    expect(await attemptState(token)).toBe('open');
    await verifyAfter(2 * HOUR_MS);
    expect(await attemptState(token)).toBe('given_up');
    const calls = await storeCalls(harness, token);
    await verifyAfter(2 * HOUR_MS);
    expect(await storeCalls(harness, token)).toBe(calls);
    await putPurchase(harness, token, 'purchased');
    expect((await redeem(harness.send, user, token)).status).toBe(201);
  });

  test('a redemption is verified once more before it is given up, even long after 72 hours', async () => {
    const { user, token } = await presented('unreachable');
    await putPurchase(harness, token, 'purchased');
    await verifyAfter(100 * HOUR_MS);
    expect(await attemptState(token)).toBe('granted');
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('the delay before a verification grows after each failed try', async () => {
    const { token } = await presented('garbage');
    const waits: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const attempt = await harness.database
        .collection('store_purchase_attempts')
        .findOne({ purchase_token: token });
      const wait = Number(attempt?.next_check_at) - harness.clock.now().getTime();
      waits.push(wait);
      await verifyAfter(wait);
    }
    expect(waits).toEqual([15_000, 30_000, 60_000, 120_000]);
  });
});

describe('the refund queue', () => {
  test('a purchase paid while a subscription runs is queued until the store reports the refund', async () => {
    const { user, second } = await paidTwice();
    expect(await refundsOf(user)).toEqual([]);
    await verifyAfter();
    const [due] = await refundsOf(user);
    expect(due).toEqual({
      id: expect.any(Number),
      channel: 'cafebazaar',
      product_id: 'premium_plus',
      purchase_token: second,
      user_id: user.userId,
      boostable_type: null,
      boostable_id: null,
      reason: 'already_running',
      created_at: formatTimestamp(harness.clock.now()),
    });
    expect(await isConsumed(harness, second, 'premium_plus')).toBe(false);
    await putPurchase(harness, second, 'refunded');
    harness.clock.advance(DAY_MS);
    await harness.service.rounds.reconcileRefunds();
    expect(await refundsOf(user)).toEqual([]);
  });

  test('the refund queue is reconciled with the store without a time limit', async () => {
    const { second } = await paidTwice();
    await verifyAfter();
    for (const days of [1, 34]) {
      harness.clock.advance(days * DAY_MS);
      await harness.service.rounds.reconcileRefunds();
    }
    const due = { purchase_token: second, resolved_at: null };
    expect(await count(harness, 'refund_queue', due)).toBe(1);
    await putPurchase(harness, second, 'refunded');
    harness.clock.advance(DAY_MS);
    await harness.service.rounds.reconcileRefunds();
    expect(await count(harness, 'refund_queue', due)).toBe(0);
  });

  test('the refund queue drops a purchase that is granted later', async () => {
    const { user, second } = await paidTwice();
    await verifyAfter();
    expect(await count(harness, 'refund_queue', { user_id: user.userId, resolved_at: null })).toBe(1);
    harness.clock.advance(32 * DAY_MS);
    expect((await redeem(harness.send, user, second)).status).toBe(201);
    await harness.service.idle();
    const row = await harness.database.collection('refund_queue').findOne({ user_id: user.userId });
    expect(row).toMatchObject({ resolution: 'granted', owed_for: null });
  });

  test('a purchase is queued once for all presentations, and dropped if one of them is granted', async () => {
    const user = newUser();
    const [first, second, free] = [ownGym(user.userId), ownGym(user.userId), ownGym(user.userId)];
    const boostOf = (gymId: number) => ({
      product_id: 'boost_pro',
      boostable_type: 'gym',
      boostable_id: gymId,
    });
    for (const gymId of [first, second]) {
      const token = newToken();
      await putPurchase(harness, token, 'purchased', 'boost_pro');
      expect((await redeem(harness.send, user, token, boostOf(gymId))).status).toBe(201);
    }
    const token = newToken();
    await putPurchase(harness, token, 'purchased', 'boost_pro');
    for (const gymId of [first, second])
      expect((await redeem(harness.send, user, token, boostOf(gymId))).status).toBe(400);
    await verifyAfter();
    const due = { purchase_token: token, resolved_at: null };
    expect(await count(harness, 'refund_queue', due)).toBe(1);
    expect((await redeem(harness.send, user, token, boostOf(free))).status).toBe(201);
    await harness.service.idle();
    expect(await count(harness, 'refund_queue', due)).toBe(0);
  });

  test('the refund queue drops a granted purchase even after a crash right after the commit', async () => {
    const { user, second } = await paidTwice();
    await verifyAfter();
    harness.clock.advance(32 * DAY_MS);
    expect((await redeem(harness.send, user, second)).status).toBe(201);
    await harness.service.idle();
    // The state after a crash right after the commit.
    const refunds = harness.database.collection('refund_queue');
    const open = { resolved_at: null, resolution: null, owed_for: `cafebazaar:${second}` };
    await refunds.updateOne({ purchase_token: second }, { $set: open });
    await harness.database
      .collection('store_purchases')
      .updateOne({ purchase_token: second }, { $set: { acknowledge_due_at: harness.clock.now() } });
    await harness.service.rounds.acknowledgePurchases();
    expect(await refunds.findOne({ purchase_token: second })).toMatchObject({ resolution: 'granted' });
  });

  test('the refund queue drops a granted purchase even after a crash before its attempt was finished', async () => {
    const { user, second } = await paidTwice();
    await verifyAfter();
    harness.clock.advance(32 * DAY_MS);
    expect((await redeem(harness.send, user, second)).status).toBe(201);
    await harness.service.idle();
    // The state after a crash during another presentation, which was refused in the meantime.
    const refunds = harness.database.collection('refund_queue');
    const row = { resolved_at: null, resolution: null, owed_for: `cafebazaar:${second}` };
    await refunds.updateOne({ purchase_token: second }, { $set: row });
    const attempt = { state: 'open', next_check_at: harness.clock.now() };
    await harness.database
      .collection('store_purchase_attempts')
      .updateOne({ purchase_token: second }, { $set: attempt });
    await verifyAfter();
    expect(await refunds.findOne({ purchase_token: second })).toMatchObject({ resolution: 'granted' });
    expect(await attemptState(second)).toBe('granted');
  });

  test('a boost whose target was deleted before the store confirmed it is queued', async () => {
    const user = newUser();
    const gymId = ownGym(user.userId);
    const token = newToken();
    await putPurchase(harness, token, 'unreachable', 'boost_pro');
    const fields = { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: gymId };
    expect((await redeem(harness.send, user, token, fields)).status).toBe(500);
    harness.targets.gyms.delete(gymId);
    await putPurchase(harness, token, 'purchased', 'boost_pro');
    await verifyAfter();
    const [due] = await refundsOf(user);
    expect(due).toMatchObject({ reason: 'target_gone', boostable_type: 'gym', boostable_id: gymId });
  });

  test('the refund queue is listed newest first, by page and by cursor', async () => {
    const user = newUser();
    const [first, ...others] = Array.from({ length: 4 }, newToken);
    for (const token of [first!, ...others]) await putPurchase(harness, token);
    expect((await redeem(harness.send, user, first!)).status).toBe(201);
    for (const token of others) expect((await redeem(harness.send, user, token)).status).toBe(400);
    await verifyAfter();
    const all = (await refundQueue()).map(({ id }) => id);
    expect(all).toEqual([...all].sort((a, b) => b - a));
    expect(all.length).toBeGreaterThanOrEqual(3);
    const seen: number[] = [];
    let next: string | null = '/payments/store-purchases/refund-queue?per_page=2';
    while (next !== null) {
      const { body }: { body: { data: { id: number }[]; meta: { next_cursor: string | null } } } =
        await harness.send('GET', next, { as: operator() });
      seen.push(...body.data.map(({ id }) => id));
      const cursor = body.meta.next_cursor;
      next = cursor === null ? null : `/payments/store-purchases/refund-queue?per_page=2&cursor=${cursor}`;
    }
    expect(seen).toEqual(all);
    const page = await harness.send('GET', '/payments/store-purchases/refund-queue?page=2&per_page=1', {
      as: operator(),
    });
    expect(page.body.data.map(({ id }: { id: number }) => id)).toEqual([all[1]]);
    expect(page.body.meta).toMatchObject({ total: all.length, current_page: 2 });
    const own = await harness.send('GET', `/payments/store-purchases/refund-queue?user_id=${user.userId}`, {
      as: operator(),
    });
    expect(own.body.meta.total).toBe(3);
    expect(new Set(own.body.data.map((row: { user_id: number }) => row.user_id))).toEqual(
      new Set([user.userId]),
    );
  });

  test('the refund queue requires payments.view_all', async () => {
    const path = '/payments/store-purchases/refund-queue';
    expect((await harness.send('GET', path, { as: newUser() })).status).toBe(403);
    expect((await harness.send('GET', path)).status).toBe(401);
    expect((await harness.send('GET', `${path}?page=x`, { as: operator() })).status).toBe(422);
  });
});

describe('POST /payments/store-purchases/refund-queue/:id/resolve', () => {
  const NOTE = 'Agreed with the user by phone';
  const resolver = caller(newId(), ['payments.view_all', 'payments.resolve_disputes']);
  const resolve = (id: number, outcome: unknown, note: unknown = NOTE, send = harness.send) =>
    send('POST', `/payments/store-purchases/refund-queue/${id}/resolve`, {
      as: resolver,
      body: { outcome, note },
    });
  const dueRefund = async () => {
    const { user, second: token } = await paidTwice();
    await verifyAfter();
    const [due] = await refundsOf(user);
    return { user, token, id: due!.id };
  };
  const runOut = () => harness.clock.advance(32 * DAY_MS);
  const subscriptionsOf = (userId: number) => count(harness, 'subscriptions', { user_id: userId });
  const isQueued = async (id: number) => (await refundQueue()).some((row) => row.id === id);

  test('a resolution as granted verifies, grants and books the purchase once', async () => {
    const { user, token, id } = await dueRefund();
    runOut();
    const calls = await storeCalls(harness, token);
    const answer = await resolve(id, 'granted');
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({
      id,
      purchase_token: token,
      resolution: 'granted',
      note: NOTE,
      resolved_by: expect.any(Number),
      resolved_at: formatTimestamp(harness.clock.now()),
    });
    expect(await storeCalls(harness, token)).toBe(calls + 1);
    expect([await subscriptionsOf(user.userId), await isQueued(id)]).toEqual([2, false]);
    await harness.service.idle();
    expect(await isConsumed(harness, token, 'premium_plus')).toBe(true);
    const mine = ({ type, data }: { type: string; data: unknown }) =>
      type === 'store_billing.store_purchase.granted' &&
      (data as { user_id: number }).user_id === user.userId;
    await eventually(() => new Set(harness.tap.events.filter(mine).map((event) => event.id)).size === 2);
    expect((await redeem(harness.send, user, token)).status).toBe(200);
  });

  test('a resolution as granted gets 409 while a subscription is active or the store does not confirm', async () => {
    const { user, token, id } = await dueRefund();
    const running = await resolve(id, 'granted');
    expect([running.status, Object.keys(running.body)]).toEqual([409, ['message']]);
    runOut();
    await putPurchase(harness, token, 'canceled');
    expect((await resolve(id, 'granted')).status).toBe(409);
    await putPurchase(harness, token, 'unreachable');
    const unreachable = await resolve(id, 'granted');
    expect([unreachable.status, unreachable.headers.has('retry-after')]).toEqual([503, true]);
    expect([await subscriptionsOf(user.userId), await isQueued(id)]).toEqual([1, true]);
    await putPurchase(harness, token, 'purchased');
    expect((await resolve(id, 'granted')).status).toBe(200);
    expect(await subscriptionsOf(user.userId)).toBe(2);
  });

  test('a boost whose target is gone cannot be resolved as granted, only as refunded', async () => {
    const user = newUser();
    const gymId = ownGym(user.userId);
    const token = newToken();
    await putPurchase(harness, token, 'unreachable', 'boost_pro');
    const fields = { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: gymId };
    await redeem(harness.send, user, token, fields);
    harness.targets.gyms.delete(gymId);
    await putPurchase(harness, token, 'purchased', 'boost_pro');
    await verifyAfter();
    const [due] = await refundsOf(user);
    expect((await resolve(due!.id, 'granted')).status).toBe(409);
    expect((await resolve(due!.id, 'refunded')).status).toBe(200);
    expect(await isQueued(due!.id)).toBe(false);
  });

  test('a purchase that was resolved as refunded can no longer be granted', async () => {
    const { user, token, id } = await dueRefund();
    const { status, body } = await resolve(id, 'refunded');
    expect([status, body.data.resolution, await isQueued(id)]).toEqual([200, 'refunded', false]);
    runOut();
    const again = await redeem(harness.send, user, token);
    expect([again.status, again.body.code]).toEqual([400, 'store_purchase.verification_failed']);
    await verifyAfter(HOUR_MS);
    expect([await subscriptionsOf(user.userId), await isQueued(id)]).toEqual([1, false]);
    expect(await attemptState(token)).toBe('closed');
  });

  test.each([
    ['granted', 'refunded'],
    ['refunded', 'granted'],
  ])(
    'repeating the resolution %s returns the row unchanged; another note or outcome, such as %s, gets 409 with whose it was',
    async (outcome, another) => {
      const { user, id } = await dueRefund();
      runOut();
      const first = await resolve(id, outcome);
      const again = await resolve(id, outcome);
      expect([again.status, again.text]).toEqual([200, first.text]);
      for (const refused of [await resolve(id, outcome, 'Another note'), await resolve(id, another)])
        expect([refused.status, refused.body]).toEqual([
          409,
          {
            message: 'This has already been settled.',
            code: 'payments.already_settled',
            settled_by: resolver.userId,
            settled_at: expect.any(String),
            outcome,
            note: NOTE,
          },
        ]);
      expect(await subscriptionsOf(user.userId)).toBe(outcome === 'granted' ? 2 : 1);
    },
  );

  test('twenty concurrent resolutions and the user’s redemption have one outcome', async () => {
    const { send } = await harness.replica();
    const outcomes = ['granted', 'refunded'];
    const { user, token, id } = await dueRefund();
    runOut();
    const [answers, redeemed] = await Promise.all([
      Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          resolve(id, outcomes[index % 2], NOTE, index % 4 < 2 ? harness.send : send),
        ),
      ),
      redeem(send, user, token),
    ]);
    await harness.service.idle();
    const row = await harness.database
      .collection<{ _id: number; resolution: string; resolved_by: number | null }>('refund_queue')
      .findOne({ _id: id });
    const isGranted = row?.resolution === 'granted';
    // The user's redemption may have been first, which is nobody's decision.
    const isDecided = row?.resolved_by !== null;
    for (const [index, { status }] of answers.entries())
      expect([index, status]).toEqual([
        index,
        isDecided && outcomes[index % 2] === row?.resolution ? 200 : 409,
      ]);
    expect(isGranted ? [200, 201] : [400]).toContain(redeemed.status);
    expect(await subscriptionsOf(user.userId)).toBe(isGranted ? 2 : 1);
    expect(await count(harness, 'store_purchases', { purchase_token: token })).toBe(isGranted ? 1 : 0);
  });

  test('an invalid resolution is rejected with 422 under its field', async () => {
    for (const [body, field] of [
      [{ note: NOTE }, 'outcome'],
      [{ outcome: 'paid', note: NOTE }, 'outcome'],
      [{ outcome: 'refunded' }, 'note'],
      [{ outcome: 'refunded', note: ' ' }, 'note'],
      [{ outcome: 'refunded', note: 'x'.repeat(2_001) }, 'note'],
    ]) {
      const answer = await harness.send('POST', '/payments/store-purchases/refund-queue/1/resolve', {
        as: resolver,
        body,
      });
      expect([body, answer.status, Object.keys(answer.body.errors ?? {})]).toEqual([body, 422, [field]]);
    }
  });

  test('a resolution requires payments.resolve_disputes, and an unknown row is rejected with 404', async () => {
    const path = '/payments/store-purchases/refund-queue/999999/resolve';
    const body = { outcome: 'refunded', note: NOTE };
    expect((await harness.send('POST', path, { body })).status).toBe(401);
    expect((await harness.send('POST', path, { as: operator(), body })).status).toBe(403);
    expect((await resolve(999_999, 'refunded')).status).toBe(404);
  });

  test('the note of a resolution is removed with the account', async () => {
    const { user, id } = await dueRefund();
    await resolve(id, 'refunded');
    const row = { _id: id as never };
    const refunds = harness.database.collection('refund_queue');
    expect((await refunds.findOne(row))?.note).toBe(NOTE);
    await publish(harness, accountDeleted, {
      user_id: user.userId,
      deleted_at: '2126-01-15 10:00:00',
    });
    await eventually(async () => (await refunds.findOne(row))?.note === null);
  });
});

describe('the acknowledgement', () => {
  test('the acknowledgement is repeated until the store accepts it', async () => {
    const { token, answer } = await presented();
    expect(answer.status).toBe(201);
    await harness.service.idle();
    const receipts = harness.database.collection('store_purchases');
    // The state after a crash right after the commit, with the store now unreachable.
    await receipts.updateOne(
      { purchase_token: token },
      { $set: { acknowledge_due_at: harness.clock.now(), acknowledged_at: null, acknowledge_tries: 0 } },
    );
    await putPurchase(harness, token, 'unreachable', 'boost_basic');
    await putPurchase(harness, token, 'unreachable');
    await harness.service.rounds.acknowledgePurchases();
    expect(await receipts.findOne({ purchase_token: token })).toMatchObject({
      acknowledged_at: null,
      acknowledge_tries: 1,
    });
    expect(await isConsumed(harness, token, 'premium_plus')).toBe(false);
    harness.clock.advance(10_000);
    await harness.service.rounds.acknowledgePurchases();
    expect(await isConsumed(harness, token, 'premium_plus')).toBe(true);
    expect(await count(harness, 'store_purchases', { purchase_token: token, acknowledge_due_at: null })).toBe(
      1,
    );
  });
});

describe('the reconciliation of refunds', () => {
  const subscriptionOf = async (userId: number) =>
    harness.database.collection('subscriptions').findOne({ user_id: userId });

  test('reconciliation ends a refunded subscription once and frees its slot', async () => {
    const {
      user,
      token,
      answer: { body },
    } = await presented();
    await harness.service.idle();
    await putPurchase(harness, token, 'refunded');
    await harness.service.rounds.reconcileRefunds();
    expect(formatTimestamp((await subscriptionOf(user.userId))?.expires_at as Date)).toBe(
      body.data.expires_at,
    );
    harness.clock.advance(DAY_MS);
    await Promise.all(Array.from({ length: 5 }, () => harness.service.rounds.reconcileRefunds()));
    const endedAt = formatTimestamp(harness.clock.now());
    expect(formatTimestamp((await subscriptionOf(user.userId))?.expires_at as Date)).toBe(endedAt);
    const mine = ({ data }: { data: unknown }) => (data as { user_id: number }).user_id === user.userId;
    const ended = await harness.tap.waitFor('store_billing.store_purchase.grant_ended', { matches: mine });
    expect(ended.data).toMatchObject({ user_id: user.userId, ended_at: endedAt });
    harness.clock.advance(DAY_MS);
    await harness.service.rounds.reconcileRefunds();
    const published = harness.tap.events.filter(
      (event) => event.type === 'store_billing.store_purchase.grant_ended' && mine(event),
    );
    expect(published).toHaveLength(1);
    const { data } = await harness.tap.waitFor('store_billing.subscription.ended', { matches: mine });
    expect(data).toMatchObject({ subscription_id: body.data.id, type: 'plus', expires_at: endedAt });
    const replay = await redeem(harness.send, user, token);
    expect([replay.status, replay.body.data.expires_at]).toEqual([200, endedAt]);
    const another = newToken();
    await putPurchase(harness, another);
    expect((await redeem(harness.send, user, another)).status).toBe(201);
  });

  test('reconciliation ends a refunded boost and publishes its end', async () => {
    const user = newUser();
    const gymId = ownGym(user.userId);
    const token = newToken();
    await putPurchase(harness, token, 'purchased', 'boost_pro');
    const fields = { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: gymId };
    expect((await redeem(harness.send, user, token, fields)).status).toBe(201);
    await harness.service.idle();
    await putPurchase(harness, token, 'refunded', 'boost_pro');
    harness.clock.advance(DAY_MS);
    await harness.service.rounds.reconcileRefunds();
    const ended = await harness.tap.waitFor('store_billing.boost.ended', {
      matches: ({ data }) => (data as { boostable_id: number }).boostable_id === gymId,
    });
    expect(ended.data).toMatchObject({
      boostable_type: 'gym',
      ends_at: formatTimestamp(harness.clock.now()),
    });
    expect(ended.aggregateversion).toBe(2);
  });

  test('reconciliation is retried within an hour if the store does not respond, even on day thirty', async () => {
    const { token } = await presented();
    await harness.service.idle();
    for (const days of [1, 28]) {
      harness.clock.advance(days * DAY_MS);
      await harness.service.rounds.reconcileRefunds();
    }
    await putPurchase(harness, token, 'unreachable');
    harness.clock.advance(DAY_MS);
    await harness.service.rounds.reconcileRefunds();
    const before = await storeCalls(harness, token);
    await harness.service.rounds.reconcileRefunds();
    expect(await storeCalls(harness, token)).toBe(before);
    await putPurchase(harness, token, 'refunded');
    harness.clock.advance(HOUR_MS);
    await harness.service.rounds.reconcileRefunds();
    expect(await count(harness, 'store_purchases', { purchase_token: token, grant_ended_at: null })).toBe(0);
  });

  test('one purchase whose reconciliation fails does not stop the others', async () => {
    const [broken, other] = [newUser(), newUser()];
    const tokens = [newToken(), newToken()] as const;
    for (const [index, user] of [broken, other].entries()) {
      await putPurchase(harness, tokens[index]!);
      await redeem(harness.send, user, tokens[index]!);
    }
    await harness.service.idle();
    for (const token of tokens) await putPurchase(harness, token, 'refunded');
    // No event may have this number, so publishing fails.
    const receipts = harness.database.collection('store_purchases');
    await receipts.updateOne({ purchase_token: tokens[0] }, { $set: { number: -1 } });
    harness.clock.advance(DAY_MS);
    await harness.service.rounds.reconcileRefunds();
    const standing = { grant_ended_at: null };
    expect(await count(harness, 'store_purchases', { purchase_token: tokens[1], ...standing })).toBe(0);
    expect(await count(harness, 'store_purchases', { purchase_token: tokens[0], ...standing })).toBe(1);
  });

  test('reconciliation runs daily for thirty days and ends nothing without an explicit refund', async () => {
    const { token } = await presented();
    await harness.service.idle();
    await putPurchase(harness, token, 'unreachable');
    const before = await storeCalls(harness, token);
    const callsAfter = async (durationMs: number): Promise<number> => {
      harness.clock.advance(durationMs);
      await harness.service.rounds.reconcileRefunds();
      await harness.service.rounds.reconcileRefunds();
      return (await storeCalls(harness, token)) - before;
    };
    expect([await callsAfter(DAY_MS - 1), await callsAfter(1)]).toEqual([0, 1]);
    await putPurchase(harness, token, 'garbage');
    expect(await callsAfter(DAY_MS)).toBe(2);
    await putPurchase(harness, token, 'purchased', 'boost_basic');
    expect([await callsAfter(27 * DAY_MS), await callsAfter(DAY_MS), await callsAfter(DAY_MS)]).toEqual([
      3, 4, 4,
    ]);
    expect(await count(harness, 'store_purchases', { purchase_token: token, grant_ended_at: null })).toBe(1);
  });
});

describe('a boost that runs out', () => {
  test('the end of a boost is published once and frees its slot', async () => {
    const user = newUser();
    const gymId = ownGym(user.userId);
    const fields = { product_id: 'boost_basic', boostable_type: 'gym', boostable_id: gymId };
    const [first, second] = [newToken(), newToken()];
    await putPurchase(harness, first, 'purchased', 'boost_basic');
    await putPurchase(harness, second, 'purchased', 'boost_basic');
    expect((await redeem(harness.send, user, first, fields)).status).toBe(201);
    harness.clock.advance(7 * DAY_MS - 1);
    await harness.service.rounds.publishBoostEnds();
    expect((await redeem(harness.send, user, second, fields)).status).toBe(400);
    harness.clock.advance(1);
    await Promise.all(Array.from({ length: 5 }, () => harness.service.rounds.publishBoostEnds()));
    expect((await redeem(harness.send, user, second, fields)).status).toBe(201);
    const ofGym = ({ data }: { data: unknown }) => (data as { boostable_id: number }).boostable_id === gymId;
    await harness.tap.waitFor('store_billing.boost.ended', { matches: ofGym });
    const published = harness.tap.events.filter(
      (event) => event.type === 'store_billing.boost.ended' && ofGym(event),
    );
    expect(published).toHaveLength(1);
  });
});

describe('a boost whose end cannot be published', () => {
  test('a boost whose end cannot be published does not stop later ones', async () => {
    const user = newUser();
    const gyms = [ownGym(user.userId), ownGym(user.userId)] as const;
    for (const gymId of gyms) {
      const token = newToken();
      await putPurchase(harness, token, 'purchased', 'boost_basic');
      const fields = { product_id: 'boost_basic', boostable_type: 'gym', boostable_id: gymId };
      expect((await redeem(harness.send, user, token, fields)).status).toBe(201);
      harness.clock.advance(MINUTE_MS);
    }
    // No event may have this id, so publishing fails.
    const boosts = harness.database.collection('boosts');
    await boosts.updateOne({ boostable_id: gyms[0] }, { $set: { boostable_id: -gyms[0] } });
    harness.clock.advance(7 * DAY_MS);
    await harness.service.rounds.publishBoostEnds();
    await harness.tap.waitFor('store_billing.boost.ended', {
      matches: ({ data }) => (data as { boostable_id: number }).boostable_id === gyms[1],
    });
    expect(await count(harness, 'boosts', { boostable_id: -gyms[0], end_due_at: { $ne: null } })).toBe(1);
  });
});

describe('a subscription that is about to end', () => {
  const subscribe = async (user = newUser()) => {
    const token = newToken();
    await putPurchase(harness, token);
    expect((await redeem(harness.send, user, token)).status).toBe(201);
    await harness.service.idle();
    const [subscription] = await harness.database
      .collection('subscriptions')
      .find({ user_id: user.userId })
      .sort({ _id: -1 })
      .toArray();
    return { user, token, endsAt: subscription!.expires_at as Date };
  };
  const advanceTo = (at: Date, offsetMs: number): void =>
    harness.clock.advance(at.getTime() + offsetMs - harness.clock.now().getTime());
  const announce = () => harness.service.rounds.announceExpiringSubscriptions();
  const TYPE = 'store_billing.subscription.expiring';
  const of =
    ({ userId }: { userId: number }, endsAt?: Date) =>
    ({ data }: { data: unknown }) => {
      const { user_id, expires_at } = data as { user_id: number; expires_at: string };
      return user_id === userId && (endsAt === undefined || expires_at === formatTimestamp(endsAt));
    };
  const announced = (user: { userId: number }) =>
    harness.tap.events.filter((event) => event.type === TYPE && of(user)(event));

  test('each end of a subscription is announced once, three days before, by any number of replicas', async () => {
    const { service: replica } = await harness.replica();
    const { user, endsAt } = await subscribe();
    advanceTo(endsAt, -3 * DAY_MS - 1);
    await announce();
    const due = { user_id: user.userId, expiry_notice_due_at: { $ne: null } };
    expect(await count(harness, 'subscriptions', due)).toBe(1);
    harness.clock.advance(1);
    const services = [harness.service, replica];
    await Promise.all(
      Array.from({ length: 10 }, (_, index) => services[index % 2]!.rounds.announceExpiringSubscriptions()),
    );
    const first = await harness.tap.waitFor(TYPE, { matches: of(user, endsAt) });
    expect(first.data).toMatchObject({ type: 'plus', expires_at: formatTimestamp(endsAt) });
    advanceTo(endsAt, 0);
    await announce();
    const renewed = await subscribe(user);
    await announce();
    advanceTo(renewed.endsAt, -3 * DAY_MS);
    await announce();
    await harness.tap.waitFor(TYPE, { matches: of(user, renewed.endsAt) });
    expect(announced(user).map(({ data }) => (data as { expires_at: string }).expires_at)).toEqual(
      [endsAt, renewed.endsAt].map(formatTimestamp),
    );
  });

  test('no end is announced for a refund, an erased account or an end during an outage', async () => {
    const [refunded, erased] = [await subscribe(), await subscribe()];
    await putPurchase(harness, refunded.token, 'refunded');
    harness.clock.advance(DAY_MS);
    await harness.service.rounds.reconcileRefunds();
    await publish(harness, accountDeleted, {
      user_id: erased.user.userId,
      deleted_at: '2126-01-15 10:00:00',
    });
    const closed = { user_id: erased.user.userId, expires_at: { $lte: harness.clock.now() } };
    await eventually(async () => (await count(harness, 'subscriptions', closed)) === 1);
    advanceTo(erased.endsAt, -3 * DAY_MS);
    await announce();
    const missed = await subscribe();
    advanceTo(missed.endsAt, 0);
    await announce();
    // The second one is published after everything that was stored before the first one.
    for (let each = 0; each < 2; each += 1) {
      const { user, endsAt } = await subscribe();
      advanceTo(endsAt, -1);
      await announce();
      await harness.tap.waitFor(TYPE, { matches: of(user) });
    }
    for (const { user } of [refunded, erased, missed]) expect(announced(user)).toEqual([]);
    const open = { user_id: { $in: [refunded, erased, missed].map(({ user }) => user.userId) } };
    expect(await count(harness, 'subscriptions', { ...open, expiry_notice_due_at: { $ne: null } })).toBe(0);
  });

  test('an announcement that fails is retried in the next round and stops no other', async () => {
    const [failing, other] = [await subscribe(), await subscribe()];
    // No event may have this id, so publishing fails.
    const subscriptions = harness.database.collection('subscriptions');
    const { userId } = failing.user;
    await subscriptions.updateOne({ user_id: userId }, { $set: { user_id: -userId } });
    advanceTo(other.endsAt, -3 * DAY_MS);
    await announce();
    await harness.tap.waitFor(TYPE, { matches: of(other.user) });
    await subscriptions.updateOne({ user_id: -userId }, { $set: { user_id: userId } });
    await announce();
    await harness.tap.waitFor(TYPE, { matches: of(failing.user) });
  });
});

describe('our own credentials', () => {
  test('refused credentials cause a 500 and an alert, and the attempt stays open until corrected', async () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const wrong = await startStoreBilling(
      { ...harness.config, CAFEBAZAAR_API_SECRET: 'invalid' },
      {
        clock: harness.clock,
        withoutJobs: true,
        log: createLog({ service: 'store-billing', level: 'info', destination }),
      },
    );
    const user = newUser();
    const token = newToken();
    await putPurchase(harness, token);
    const answer = await redeem(apiClient('store-billing', wrong.url), user, token);
    await wrong.close();
    expect([answer.status, answer.body.code]).toEqual([500, 'payments.provider_error']);
    const alerts = lines
      .map((line) => JSON.parse(line))
      .filter(({ alert }) => alert === 'store_credentials_refused');
    expect(alerts).toEqual([expect.objectContaining({ level: 'error', channel: 'cafebazaar' })]);
    expect(lines.join('')).not.toContain(token);
    expect(await attemptState(token)).toBe('open');
    await eventually(async () => {
      await verifyAfter();
      return (await attemptState(token)) === 'granted';
    });
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
  });
});
