/** Nobody pays for nothing: what is verified again, acknowledged, owed back, looked at again and told. */
import { Writable } from 'node:stream';
import { DAY_MS, formatTimestamp, HOUR_MS, MINUTE_MS } from '@fitness/shared/clock.ts';
import { createLog } from '@fitness/shared/log.ts';
import { apiClient, caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startStoreBilling } from '../src/service.ts';
import {
  count,
  impatientReplica,
  isConsumed,
  newId,
  newToken,
  newUser,
  putPurchase,
  redeem,
  startWorld,
  storeCalls,
  type World,
} from './support.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const operator = () => caller(newId(), ['payments.view_all']);
const refundQueue = async (
  query = '',
): Promise<{ user_id: number; purchase_token: string; reason: string; id: number }[]> => {
  const answer = await world.send('GET', `/payments/store-purchases/refund-queue?per_page=100${query}`, {
    as: operator(),
  });
  expect(answer.status).toBe(200);
  return answer.body.data;
};
const attemptState = async (token: string): Promise<string | undefined> => {
  const found = await world.database.collection('store_purchase_attempts').findOne({ purchase_token: token });
  return found === null ? undefined : String(found.state);
};
const verifyLater = async (durationMs = 20_000): Promise<void> => {
  world.clock.advance(durationMs);
  await world.service.rounds.verifyAttempts();
};
const ownGym = (userId: number): number => {
  const id = newId();
  world.targets.gyms.set(id, { user_id: userId, is_active: true });
  return id;
};

describe('a redemption without a verdict', () => {
  test.each(['unreachable', 'garbage', 'slow'] as const)(
    '%s is verified again and granted once the store confirms it',
    async (state) => {
      const user = newUser();
      const token = newToken();
      await putPurchase(world, token, state);
      const { send, service } = await impatientReplica(world);
      expect((await redeem(send, user, token)).status).toBeGreaterThanOrEqual(400);
      world.clock.advance(20_000);
      await service.rounds.verifyAttempts();
      expect(await attemptState(token)).toBe('open');
      await putPurchase(world, token, 'purchased');
      await verifyLater(HOUR_MS);
      expect(await attemptState(token)).toBe('granted');
      expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
      const replay = await redeem(world.send, user, token);
      expect(replay.status).toBe(200);
      await world.tap.waitFor('store_billing.store_purchase.granted', {
        matches: ({ data }) => (data as { user_id: number }).user_id === user.userId,
      });
    },
  );

  test('is granted once by twenty background rounds at a time', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token, 'unreachable');
    await redeem(world.send, user, token);
    await putPurchase(world, token, 'purchased');
    world.clock.advance(MINUTE_MS);
    await Promise.all(Array.from({ length: 20 }, () => world.service.rounds.verifyAttempts()));
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('is closed when the store says no', async () => {
    const token = newToken();
    await putPurchase(world, token, 'unreachable');
    await redeem(world.send, newUser(), token);
    await putPurchase(world, token, 'canceled');
    await verifyLater();
    expect(await attemptState(token)).toBe('closed');
  });

  test('is closed when another user has redeemed the token meanwhile, without asking the store', async () => {
    const token = newToken();
    await putPurchase(world, token, 'unreachable');
    await redeem(world.send, newUser(), token);
    await putPurchase(world, token, 'purchased');
    const owner = newUser();
    expect((await redeem(world.send, owner, token)).status).toBe(201);
    const calls = await storeCalls(world, token);
    await verifyLater();
    expect(await storeCalls(world, token)).toBe(calls);
    const attempts = world.database.collection('store_purchase_attempts');
    const states = (await attempts.find({ purchase_token: token }).toArray()).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(['closed', 'granted']));
  });

  test('is left alone while its own request may still be running', async () => {
    const token = newToken();
    await putPurchase(world, token, 'purchased');
    const attempts = world.database.collection('store_purchase_attempts');
    const user = newUser();
    expect((await redeem(world.send, user, token)).status).toBe(201);
    // As a crash before the grant leaves it.
    await world.database.collection('store_purchases').deleteOne({ purchase_token: token });
    await world.database.collection('subscriptions').deleteOne({ user_id: user.userId });
    await world.database
      .collection<{ _id: string }>('slots')
      .updateOne({ _id: `premium:${user.userId}` }, { $set: { active_until: new Date(0) } });
    const next_check_at = new Date(world.clock.now().getTime() + MINUTE_MS);
    await attempts.updateOne({ purchase_token: token }, { $set: { state: 'open', next_check_at } });
    await verifyLater(MINUTE_MS - 1_000);
    expect(await attemptState(token)).toBe('open');
    await verifyLater(2_000);
    expect(await attemptState(token)).toBe('granted');
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('is given up after 72 hours, and a new presentation begins them anew', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token, 'unreachable');
    await redeem(world.send, user, token);
    await verifyLater(71 * HOUR_MS);
    expect(await attemptState(token)).toBe('open');
    await verifyLater(2 * HOUR_MS);
    expect(await attemptState(token)).toBe('given_up');
    const calls = await storeCalls(world, token);
    await verifyLater(2 * HOUR_MS);
    expect(await storeCalls(world, token)).toBe(calls);
    await putPurchase(world, token, 'purchased');
    expect((await redeem(world.send, user, token)).status).toBe(201);
  });

  test('is asked about once more before it is given up, however long nobody could ask', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token, 'unreachable');
    await redeem(world.send, user, token);
    await putPurchase(world, token, 'purchased');
    await verifyLater(100 * HOUR_MS);
    expect(await attemptState(token)).toBe('granted');
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
  });

  test('waits longer after each vain try', async () => {
    const token = newToken();
    await putPurchase(world, token, 'garbage');
    await redeem(world.send, newUser(), token);
    const waits: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const found = await world.database
        .collection('store_purchase_attempts')
        .findOne({ purchase_token: token });
      const wait = Number(found?.next_check_at) - world.clock.now().getTime();
      waits.push(wait);
      await verifyLater(wait);
    }
    expect(waits).toEqual([15_000, 30_000, 60_000, 120_000]);
  });
});

describe('the refund queue', () => {
  test('holds what was paid for while a subscription runs, until the store reports it refunded', async () => {
    const user = newUser();
    const [first, second] = [newToken(), newToken()];
    await Promise.all([putPurchase(world, first), putPurchase(world, second)]);
    expect((await redeem(world.send, user, first)).status).toBe(201);
    expect((await redeem(world.send, user, second)).status).toBe(400);
    expect((await refundQueue()).filter(({ user_id }) => user_id === user.userId)).toEqual([]);
    await verifyLater();
    const [owed] = (await refundQueue()).filter(({ user_id }) => user_id === user.userId);
    expect(owed).toEqual({
      id: expect.any(Number),
      channel: 'cafebazaar',
      product_id: 'premium_plus',
      purchase_token: second,
      user_id: user.userId,
      boostable_type: null,
      boostable_id: null,
      reason: 'already_running',
      created_at: formatTimestamp(world.clock.now()),
    });
    expect(await isConsumed(world, second, 'premium_plus')).toBe(false);
    await putPurchase(world, second, 'refunded');
    world.clock.advance(DAY_MS);
    await world.service.rounds.lookAgain();
    expect((await refundQueue()).filter(({ user_id }) => user_id === user.userId)).toEqual([]);
  });

  test('is looked through for as long as something is owed, also after thirty days', async () => {
    const user = newUser();
    const [first, second] = [newToken(), newToken()];
    await Promise.all([putPurchase(world, first), putPurchase(world, second)]);
    expect((await redeem(world.send, user, first)).status).toBe(201);
    expect((await redeem(world.send, user, second)).status).toBe(400);
    await verifyLater();
    for (let day = 1; day <= 35; day += 1) {
      world.clock.advance(DAY_MS);
      await world.service.rounds.lookAgain();
    }
    const owed = { purchase_token: second, resolved_at: null };
    expect(await count(world, 'refund_queue', owed)).toBe(1);
    await putPurchase(world, second, 'refunded');
    world.clock.advance(DAY_MS);
    await world.service.rounds.lookAgain();
    expect(await count(world, 'refund_queue', owed)).toBe(0);
  });

  test('gives up what can be granted later after all', async () => {
    const user = newUser();
    const [first, second] = [newToken(), newToken()];
    await Promise.all([putPurchase(world, first), putPurchase(world, second)]);
    expect((await redeem(world.send, user, first)).status).toBe(201);
    expect((await redeem(world.send, user, second)).status).toBe(400);
    await verifyLater();
    expect(await count(world, 'refund_queue', { user_id: user.userId, resolved_at: null })).toBe(1);
    world.clock.advance(32 * DAY_MS);
    expect((await redeem(world.send, user, second)).status).toBe(201);
    await world.service.idle();
    const row = await world.database.collection('refund_queue').findOne({ user_id: user.userId });
    expect(row).toMatchObject({ resolution: 'granted', owed_for: null });
  });

  test('holds a purchase once, whatever it was presented for, and not when one of these was granted', async () => {
    const user = newUser();
    const [first, second, free] = [ownGym(user.userId), ownGym(user.userId), ownGym(user.userId)];
    const boostOf = (gymId: number) => ({
      product_id: 'boost_pro',
      boostable_type: 'gym',
      boostable_id: gymId,
    });
    for (const gymId of [first, second]) {
      const token = newToken();
      await putPurchase(world, token, 'purchased', 'boost_pro');
      expect((await redeem(world.send, user, token, boostOf(gymId))).status).toBe(201);
    }
    const token = newToken();
    await putPurchase(world, token, 'purchased', 'boost_pro');
    for (const gymId of [first, second])
      expect((await redeem(world.send, user, token, boostOf(gymId))).status).toBe(400);
    await verifyLater();
    const owed = { purchase_token: token, resolved_at: null };
    expect(await count(world, 'refund_queue', owed)).toBe(1);
    expect((await redeem(world.send, user, token, boostOf(free))).status).toBe(201);
    await world.service.idle();
    expect(await count(world, 'refund_queue', owed)).toBe(0);
  });

  test('gives up a purchase of which a crash has left it unsaid that it was granted', async () => {
    const user = newUser();
    const [first, second] = [newToken(), newToken()];
    await Promise.all([putPurchase(world, first), putPurchase(world, second)]);
    expect((await redeem(world.send, user, first)).status).toBe(201);
    expect((await redeem(world.send, user, second)).status).toBe(400);
    await verifyLater();
    world.clock.advance(32 * DAY_MS);
    expect((await redeem(world.send, user, second)).status).toBe(201);
    await world.service.idle();
    // As the crash right after the commit leaves both.
    const refunds = world.database.collection('refund_queue');
    const open = { resolved_at: null, resolution: null, owed_for: `cafebazaar:${second}` };
    await refunds.updateOne({ purchase_token: second }, { $set: open });
    await world.database
      .collection('store_purchases')
      .updateOne({ purchase_token: second }, { $set: { acknowledge_due_at: world.clock.now() } });
    await world.service.rounds.acknowledgeAll();
    expect(await refunds.findOne({ purchase_token: second })).toMatchObject({ resolution: 'granted' });
  });

  test('holds a boost whose target is gone when the store confirms it', async () => {
    const user = newUser();
    const gymId = ownGym(user.userId);
    const token = newToken();
    await putPurchase(world, token, 'unreachable', 'boost_pro');
    const fields = { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: gymId };
    expect((await redeem(world.send, user, token, fields)).status).toBe(500);
    world.targets.gyms.delete(gymId);
    await putPurchase(world, token, 'purchased', 'boost_pro');
    await verifyLater();
    const [owed] = (await refundQueue()).filter(({ user_id }) => user_id === user.userId);
    expect(owed).toMatchObject({ reason: 'target_gone', boostable_type: 'gym', boostable_id: gymId });
  });

  test('is a list, newest first, by page and by cursor', async () => {
    const user = newUser();
    const [first, ...others] = Array.from({ length: 4 }, newToken);
    for (const token of [first!, ...others]) await putPurchase(world, token);
    expect((await redeem(world.send, user, first!)).status).toBe(201);
    for (const token of others) expect((await redeem(world.send, user, token)).status).toBe(400);
    await verifyLater();
    const all = (await refundQueue()).map(({ id }) => id);
    expect(all).toEqual([...all].sort((a, b) => b - a));
    expect(all.length).toBeGreaterThanOrEqual(3);
    const seen: number[] = [];
    let next: string | null = '/payments/store-purchases/refund-queue?per_page=2';
    while (next !== null) {
      const { body }: { body: { data: { id: number }[]; meta: { next_cursor: string | null } } } =
        await world.send('GET', next, { as: operator() });
      seen.push(...body.data.map(({ id }) => id));
      const cursor = body.meta.next_cursor;
      next = cursor === null ? null : `/payments/store-purchases/refund-queue?per_page=2&cursor=${cursor}`;
    }
    expect(seen).toEqual(all);
    const page = await world.send('GET', '/payments/store-purchases/refund-queue?page=2&per_page=1', {
      as: operator(),
    });
    expect(page.body.data.map(({ id }: { id: number }) => id)).toEqual([all[1]]);
    expect(page.body.meta).toMatchObject({ total: all.length, current_page: 2 });
  });

  test('is for payments.view_all alone', async () => {
    const path = '/payments/store-purchases/refund-queue';
    expect((await world.send('GET', path, { as: newUser() })).status).toBe(403);
    expect((await world.send('GET', path)).status).toBe(401);
    expect((await world.send('GET', `${path}?page=x`, { as: operator() })).status).toBe(422);
  });
});

describe('the acknowledgement', () => {
  test('is repeated until the store takes it', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token);
    expect((await redeem(world.send, user, token)).status).toBe(201);
    await world.service.idle();
    const receipts = world.database.collection('store_purchases');
    // As a crash right after the commit leaves it, with a store that is away now.
    await receipts.updateOne(
      { purchase_token: token },
      { $set: { acknowledge_due_at: world.clock.now(), acknowledged_at: null, acknowledge_tries: 0 } },
    );
    await putPurchase(world, token, 'unreachable', 'boost_basic');
    await putPurchase(world, token, 'unreachable');
    await world.service.rounds.acknowledgeAll();
    expect(await receipts.findOne({ purchase_token: token })).toMatchObject({
      acknowledged_at: null,
      acknowledge_tries: 1,
    });
    expect(await isConsumed(world, token, 'premium_plus')).toBe(false);
    world.clock.advance(10_000);
    await world.service.rounds.acknowledgeAll();
    expect(await isConsumed(world, token, 'premium_plus')).toBe(true);
    expect(await count(world, 'store_purchases', { purchase_token: token, acknowledge_due_at: null })).toBe(
      1,
    );
  });
});

describe('the second look', () => {
  const startsOf = async (userId: number) =>
    world.database.collection('subscriptions').findOne({ user_id: userId });

  test('ends a refunded premium now, once, and frees its slot', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token);
    const { body } = await redeem(world.send, user, token);
    await world.service.idle();
    await putPurchase(world, token, 'refunded');
    await world.service.rounds.lookAgain();
    expect(formatTimestamp((await startsOf(user.userId))?.expires_at as Date)).toBe(body.data.expires_at);
    world.clock.advance(DAY_MS);
    await Promise.all(Array.from({ length: 5 }, () => world.service.rounds.lookAgain()));
    const endedAt = formatTimestamp(world.clock.now());
    expect(formatTimestamp((await startsOf(user.userId))?.expires_at as Date)).toBe(endedAt);
    const mine = ({ data }: { data: unknown }) => (data as { user_id: number }).user_id === user.userId;
    const ended = await world.tap.waitFor('store_billing.store_purchase.grant_ended', { matches: mine });
    expect(ended.data).toMatchObject({ user_id: user.userId, ended_at: endedAt });
    world.clock.advance(DAY_MS);
    await world.service.rounds.lookAgain();
    const told = world.tap.events.filter(
      (event) => event.type === 'store_billing.store_purchase.grant_ended' && mine(event),
    );
    expect(told).toHaveLength(1);
    const replay = await redeem(world.send, user, token);
    expect([replay.status, replay.body.data.expires_at]).toEqual([200, endedAt]);
    const another = newToken();
    await putPurchase(world, another);
    expect((await redeem(world.send, user, another)).status).toBe(201);
  });

  test('ends a refunded boost and tells it', async () => {
    const user = newUser();
    const gymId = ownGym(user.userId);
    const token = newToken();
    await putPurchase(world, token, 'purchased', 'boost_pro');
    const fields = { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: gymId };
    expect((await redeem(world.send, user, token, fields)).status).toBe(201);
    await world.service.idle();
    await putPurchase(world, token, 'refunded', 'boost_pro');
    world.clock.advance(DAY_MS);
    await world.service.rounds.lookAgain();
    const ended = await world.tap.waitFor('store_billing.boost.ended', {
      matches: ({ data }) => (data as { boostable_id: number }).boostable_id === gymId,
    });
    expect(ended.data).toMatchObject({ boostable_type: 'gym', ends_at: formatTimestamp(world.clock.now()) });
    expect(ended.aggregateversion).toBe(2);
  });

  test('is repeated within the hour when the store is silent, on the thirtieth day too', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token);
    await redeem(world.send, user, token);
    await world.service.idle();
    for (let day = 1; day < 30; day += 1) {
      world.clock.advance(DAY_MS);
      await world.service.rounds.lookAgain();
    }
    await putPurchase(world, token, 'unreachable');
    world.clock.advance(DAY_MS);
    await world.service.rounds.lookAgain();
    const before = await storeCalls(world, token);
    await world.service.rounds.lookAgain();
    expect(await storeCalls(world, token)).toBe(before);
    await putPurchase(world, token, 'refunded');
    world.clock.advance(HOUR_MS);
    await world.service.rounds.lookAgain();
    expect(await count(world, 'store_purchases', { purchase_token: token, grant_ended_at: null })).toBe(0);
  });

  test('of one that cannot be ended now does not hold up the others', async () => {
    const [broken, other] = [newUser(), newUser()];
    const tokens = [newToken(), newToken()] as const;
    for (const [index, user] of [broken, other].entries()) {
      await putPurchase(world, tokens[index]!);
      await redeem(world.send, user, tokens[index]!);
    }
    await world.service.idle();
    for (const token of tokens) await putPurchase(world, token, 'refunded');
    // A receipt whose number no event can have.
    const receipts = world.database.collection('store_purchases');
    await receipts.updateOne({ purchase_token: tokens[0] }, { $set: { number: -1 } });
    world.clock.advance(DAY_MS);
    await world.service.rounds.lookAgain();
    const standing = { grant_ended_at: null };
    expect(await count(world, 'store_purchases', { purchase_token: tokens[1], ...standing })).toBe(0);
    expect(await count(world, 'store_purchases', { purchase_token: tokens[0], ...standing })).toBe(1);
  });

  test('is daily for thirty days, and a store that is silent or has lost it ends nothing', async () => {
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token);
    await redeem(world.send, user, token);
    await world.service.idle();
    await putPurchase(world, token, 'unreachable');
    const before = await storeCalls(world, token);
    for (let day = 1; day <= 35; day += 1) {
      world.clock.advance(DAY_MS);
      // Not away for so often that it is left alone: the days of this test are milliseconds.
      if (day === 4) await putPurchase(world, token, 'garbage');
      if (day === 10) await putPurchase(world, token, 'purchased', 'boost_basic');
      await world.service.rounds.lookAgain();
      await world.service.rounds.lookAgain();
    }
    expect(await storeCalls(world, token)).toBe(before + 30);
    expect(await count(world, 'store_purchases', { purchase_token: token, grant_ended_at: null })).toBe(1);
  });
});

describe('a boost that runs out', () => {
  test('is told once, and makes room for the next', async () => {
    const user = newUser();
    const gymId = ownGym(user.userId);
    const fields = { product_id: 'boost_basic', boostable_type: 'gym', boostable_id: gymId };
    const [first, second] = [newToken(), newToken()];
    await putPurchase(world, first, 'purchased', 'boost_basic');
    await putPurchase(world, second, 'purchased', 'boost_basic');
    expect((await redeem(world.send, user, first, fields)).status).toBe(201);
    world.clock.advance(7 * DAY_MS - 1);
    await world.service.rounds.tellBoostEnds();
    expect((await redeem(world.send, user, second, fields)).status).toBe(400);
    world.clock.advance(1);
    await Promise.all(Array.from({ length: 5 }, () => world.service.rounds.tellBoostEnds()));
    expect((await redeem(world.send, user, second, fields)).status).toBe(201);
    const ofGym = ({ data }: { data: unknown }) => (data as { boostable_id: number }).boostable_id === gymId;
    await world.tap.waitFor('store_billing.boost.ended', { matches: ofGym });
    const told = world.tap.events.filter(
      (event) => event.type === 'store_billing.boost.ended' && ofGym(event),
    );
    expect(told).toHaveLength(1);
  });
});

describe('a boost that cannot be told about', () => {
  test('does not hold up those that ran out after it', async () => {
    const user = newUser();
    const gyms = [ownGym(user.userId), ownGym(user.userId)] as const;
    for (const gymId of gyms) {
      const token = newToken();
      await putPurchase(world, token, 'purchased', 'boost_basic');
      const fields = { product_id: 'boost_basic', boostable_type: 'gym', boostable_id: gymId };
      expect((await redeem(world.send, user, token, fields)).status).toBe(201);
      world.clock.advance(MINUTE_MS);
    }
    // The number of no target: no event can have it.
    const boosts = world.database.collection('boosts');
    await boosts.updateOne({ boostable_id: gyms[0] }, { $set: { boostable_id: -gyms[0] } });
    world.clock.advance(7 * DAY_MS);
    await world.service.rounds.tellBoostEnds();
    await world.tap.waitFor('store_billing.boost.ended', {
      matches: ({ data }) => (data as { boostable_id: number }).boostable_id === gyms[1],
    });
    expect(await count(world, 'boosts', { boostable_id: -gyms[0], end_due_at: { $ne: null } })).toBe(1);
  });
});

describe('our own credentials', () => {
  test('refused by the store: 500, an alert, and the journal stays open until they are right', async () => {
    const lines: string[] = [];
    const destination = new Writable({
      write: (chunk, _encoding, done) => {
        lines.push(String(chunk));
        done();
      },
    });
    const wrong = await startStoreBilling(
      {
        ...world.config,
        CAFEBAZAAR_API_SECRET: 'invalid',
        EVENTS_NAMESPACE: `${world.config.EVENTS_NAMESPACE}-w`,
      },
      {
        clock: world.clock,
        withoutJobs: true,
        log: createLog({ service: 'store-billing', level: 'info', destination }),
      },
    );
    const user = newUser();
    const token = newToken();
    await putPurchase(world, token);
    const answer = await redeem(apiClient(wrong.url), user, token);
    await wrong.close();
    expect([answer.status, answer.body.code]).toEqual([500, 'payments.provider_error']);
    const alerts = lines
      .map((line) => JSON.parse(line))
      .filter(({ alert }) => alert === 'store_credentials_refused');
    expect(alerts).toEqual([expect.objectContaining({ level: 'error', channel: 'cafebazaar' })]);
    expect(lines.join('')).not.toContain(token);
    expect(await attemptState(token)).toBe('open');
    await eventually(async () => {
      await verifyLater();
      return (await attemptState(token)) === 'granted';
    });
    expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(1);
  });
});
