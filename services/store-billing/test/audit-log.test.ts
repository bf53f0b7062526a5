/** Resolved refunds and operators’ boosts for other users: the audit entry and the effect commit together. */
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { DAY_MS, HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { createAuditObserver } from '@fitness/shared/testing/audit.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  BASIC,
  type Harness,
  newId,
  newToken,
  newUser,
  publish,
  putPurchase,
  redeem,
  startHarness,
  unreachable,
} from './support.ts';

let harness: Harness;
let observer: ReturnType<typeof createAuditObserver>;

beforeAll(async () => {
  harness = await startHarness({}, '2126-01-15T10:00:00Z', { monitored: true });
  observer = createAuditObserver(harness.database, 'store-billing');
});
afterAll(() => harness.close());

const resolver = caller(900_001, ['payments.view_all', 'payments.resolve_disputes']);

/** A running subscription, and a second one that was paid while it ran. */
const dueRefund = async (): Promise<{ id: number; userId: number; token: string }> => {
  const user = newUser();
  const [running, token] = [newToken(), newToken()];
  await Promise.all([putPurchase(harness, running), putPurchase(harness, token)]);
  await redeem(harness.send, user, running);
  await redeem(harness.send, user, token);
  harness.clock.advance(20_000);
  await harness.service.rounds.verifyAttempts();
  const due = await harness.database.collection('refund_queue').findOne({ user_id: user.userId });
  return { id: Number(due?._id), userId: user.userId, token };
};

const resolve = (id: number, outcome: 'refunded' | 'granted', requestId = 'resolve') =>
  harness.send('POST', `/payments/store-purchases/refund-queue/${id}/resolve`, {
    as: resolver,
    headers: { 'x-request-id': requestId },
    body: { outcome, note: 'By phone' },
  });

describe('a resolved refund', () => {
  test.each(['refunded', 'granted'] as const)(
    'a refund that is resolved as %s has an audit entry',
    async (outcome) => {
      const { id, userId } = await dueRefund();
      if (outcome === 'granted') {
        const refused = await observer.observe(() => resolve(id, outcome));
        expect(refused.result.status).toBe(409);
        // The operator's note may say that the money was returned.
        expect(refused.entries).toMatchObject([
          {
            actorId: resolver.userId,
            action: 'refund.resolve_refused',
            subjectId: id,
            after: {
              resolution: null,
              'refused.code': 'store_purchase.not_grantable',
              'refused.note': 'By phone',
            },
          },
        ]);
        harness.clock.advance(32 * DAY_MS);
      }
      const { result, entries, written } = await observer.observe(() => resolve(id, outcome));
      expect(result.status).toBe(200);
      expect(entries).toMatchObject([
        {
          service: 'store-billing',
          actorId: resolver.userId,
          action: 'refund.resolve',
          subjectType: 'refund',
          subjectId: id,
          before: { user_id: userId, resolution: null, note: null },
          after: { user_id: userId, resolution: outcome, note: 'By phone' },
        },
      ]);
      expect(written).toEqual(expect.arrayContaining(['outbox', 'refund_queue']));
      const matches = ({ subject }: { subject: string }) => subject === `refund-${id}`;
      const event = await harness.tap.waitFor('store_billing.refund.resolved', { matches });
      expect(event.data).toEqual({
        refund_id: id,
        user_id: userId,
        channel: 'cafebazaar',
        product_id: 'premium_plus',
        outcome,
      });
      const again = await observer.observe(() => resolve(id, outcome));
      expect([again.result.status, again.entries]).toEqual([200, []]);
    },
  );

  test('a refund of a granted purchase can only be resolved as granted', async () => {
    const { id, userId, token } = await dueRefund();
    harness.clock.advance(32 * DAY_MS);
    expect((await redeem(harness.send, caller(userId), token)).status).toBe(201);
    await harness.service.idle();
    // The state that a process leaves if it is killed after it has enqueued the purchase.
    const queue = harness.database.collection('refund_queue');
    const open = { resolved_at: null, resolution: null, owed_for: `cafebazaar:${token}` };
    await queue.updateOne({ purchase_token: token }, { $set: open });
    const refused = await observer.observe(() => resolve(id, 'refunded'));
    // The money may have been returned, although the purchase was granted.
    expect(refused.result.status).toBe(409);
    expect(refused.entries).toMatchObject([
      {
        action: 'refund.resolve_refused',
        after: { 'refused.note': 'By phone', 'refused.mark': expect.any(String) },
      },
    ]);
    expect(await queue.findOne({ purchase_token: token })).toMatchObject({ ...open, resolved_by: null });
    const { result, entries, written } = await observer.observe(() => resolve(id, 'granted'));
    expect([result.status, result.body.data.resolved_by]).toEqual([200, resolver.userId]);
    expect(entries).toMatchObject([
      { actorId: resolver.userId, subjectId: id, after: { resolution: 'granted', note: 'By phone' } },
    ]);
    expect(written).toEqual(expect.arrayContaining(['outbox', 'refund_queue']));
  });

  test('a 409 does not show a note that an erasure has not reached yet', async () => {
    const { id, userId } = await dueRefund();
    await resolve(id, 'refunded');
    const settled = async () => (await resolve(id, 'granted')).body;
    expect(await settled()).toMatchObject({ outcome: 'refunded', note: 'By phone' });
    const slot = { _id: `premium:${userId}` as never };
    await harness.database.collection('slots').updateOne(slot, { $set: { closed: true } });
    expect(await settled()).toMatchObject({ outcome: 'refunded', note: null });
    expect((await resolve(id, 'refunded')).body.data).toMatchObject({ note: null });
  });

  test('an erasure destroys the note in the audit log and keeps the outcome', async () => {
    const { id, userId } = await dueRefund();
    await resolve(id, 'refunded');
    const after = async () =>
      (await observer.all()).find((entry) => entry.subjectType === 'refund' && entry.subjectId === id)?.after;
    expect(await after()).toMatchObject({ note: 'By phone' });
    const deleted = { user_id: userId, deleted_at: '2126-01-15 10:00:00' };
    await publish(harness, accountDeleted, deleted);
    await eventually(async () => typeof (await after())?.note !== 'string');
    expect(await after()).toMatchObject({ user_id: userId, resolution: 'refunded', note: { erased: true } });
  });
});

describe('a boost by an operator', () => {
  const operator = caller(900_002, ['payments.view_own', 'payments.boost_all']);
  const gymOf = (ownerId: number): number => {
    const id = newId();
    harness.targets.gyms.set(id, { user_id: ownerId, is_active: true });
    return id;
  };
  const buy = (gymId: number, requestId = `buy-${gymId}`) =>
    harness.send('POST', '/payments/boost', {
      as: operator,
      headers: { 'x-request-id': requestId },
      body: { boostable_type: 'gym', boostable_id: gymId, level: 'basic' },
    });
  const redeemFor = (gymId: number, token: string, requestId: string) =>
    harness.send('POST', '/payments/store-purchases', {
      as: operator,
      headers: { 'x-request-id': requestId },
      body: {
        channel: 'cafebazaar',
        product_id: 'boost_pro',
        purchase_token: token,
        boostable_type: 'gym',
        boostable_id: gymId,
      },
    });

  test('an operator’s wallet boost has an audit entry only if it succeeds and the gym is not theirs', async () => {
    const gym = gymOf(newId());
    harness.wallet.balances.set(operator.userId, 0);
    const refused = await observer.observe(() => buy(gym));
    expect([refused.result.status, refused.entries]).toEqual([400, []]);
    harness.wallet.balances.set(operator.userId, 2 * BASIC);
    const { result, entries, written } = await observer.observe(() => buy(gym));
    expect(result.status).toBe(201);
    expect(entries).toMatchObject([
      {
        actorId: operator.userId,
        action: 'boost.buy',
        subjectType: 'boost',
        subjectId: result.body.data.id,
        requestId: `buy-${gym}`,
        before: null,
        after: { boostable_type: 'gym', boostable_id: gym, source: 'wallet' },
      },
    ]);
    expect(written).toContain('boosts');
    const own = await observer.observe(() => buy(gymOf(operator.userId)));
    expect([own.result.status, own.entries]).toEqual([201, []]);
  });

  test('an operator’s store boost has an audit entry, even if the background grants it', async () => {
    const gym = gymOf(newId());
    const token = newToken();
    await putPurchase(harness, token, 'unreachable', 'boost_pro');
    const first = await observer.observe(() => redeemFor(gym, token, 'redeem-1'));
    expect(first.entries).toEqual([]);
    await putPurchase(harness, token, 'purchased', 'boost_pro');
    harness.clock.advance(20_000);
    const { entries, written } = await observer.observe(() => harness.service.rounds.verifyAttempts());
    expect(entries).toMatchObject([
      {
        actorId: operator.userId,
        action: 'boost.buy',
        requestId: 'redeem-1',
        after: { boostable_id: gym, source: 'cafebazaar' },
      },
    ]);
    expect(written).toContain('boosts');
  });

  test('an operator’s wallet boost has an audit entry if the background completes it', async () => {
    const gym = gymOf(newId());
    harness.wallet.balances.set(operator.userId, BASIC);
    harness.wallet.after = unreachable;
    const first = await observer.observe(() => buy(gym, 'buy-1'));
    harness.wallet.after = async () => undefined;
    expect([first.result.status, first.entries]).toEqual([503, []]);
    harness.clock.advance(HOUR_MS);
    const { entries } = await observer.observe(() => harness.service.rounds.sweepWalletPurchases());
    expect(entries).toMatchObject([
      { actorId: operator.userId, action: 'boost.buy', requestId: 'buy-1', after: { boostable_id: gym } },
    ]);
  });

  test('a store boost that another operator grants has an audit entry for each operator’s request', async () => {
    const gym = gymOf(newId());
    const [running, token] = [newToken(), newToken()];
    await Promise.all([
      putPurchase(harness, running, 'purchased', 'boost_pro'),
      putPurchase(harness, token, 'purchased', 'boost_pro'),
    ]);
    expect((await redeemFor(gym, running, 'redeem-2')).status).toBe(201);
    expect((await redeemFor(gym, token, 'redeem-3')).status).toBe(400);
    harness.clock.advance(20_000);
    await harness.service.rounds.verifyAttempts();
    const due = await harness.database.collection('refund_queue').findOne({ purchase_token: token });
    harness.clock.advance(32 * DAY_MS);
    const { result, entries } = await observer.observe(() =>
      resolve(Number(due?._id), 'granted', 'resolve-1'),
    );
    expect(result.status).toBe(200);
    const byAction = entries.toSorted((a, b) => a.action.localeCompare(b.action));
    expect(byAction).toMatchObject([
      { action: 'boost.buy', actorId: operator.userId, requestId: 'redeem-3', after: { boostable_id: gym } },
      { action: 'refund.resolve', actorId: resolver.userId, requestId: 'resolve-1', subjectId: due?._id },
    ]);
  });
});
