/** Resolved refunds, and boosts that operators buy for others, are in the audit log, with the effect or not at all. */
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { createAuditObserver } from '@fitness/shared/testing/audit.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  BASIC,
  type Harness,
  newId,
  newToken,
  newUser,
  putPurchase,
  redeem,
  startHarness,
} from './support.ts';

let harness: Harness;
let observer: ReturnType<typeof createAuditObserver>;

beforeAll(async () => {
  harness = await startHarness({}, '2126-01-15T10:00:00Z', { monitored: true });
  observer = createAuditObserver(harness.database, 'store-billing');
});
afterAll(() => harness.close());

const resolver = caller(900_001, ['payments.view_all', 'payments.resolve_disputes']);

/** A subscription that runs, and a second one that was paid meanwhile. */
const dueRefund = async (): Promise<{ id: number; userId: number }> => {
  const user = newUser();
  const [running, token] = [newToken(), newToken()];
  await Promise.all([putPurchase(harness, running), putPurchase(harness, token)]);
  await redeem(harness.send, user, running);
  await redeem(harness.send, user, token);
  harness.clock.advance(20_000);
  await harness.service.rounds.verifyAttempts();
  const due = await harness.database.collection('refund_queue').findOne({ user_id: user.userId });
  return { id: Number(due?._id), userId: user.userId };
};

const resolve = (id: number, outcome: 'refunded' | 'granted') =>
  harness.send('POST', `/payments/store-purchases/refund-queue/${id}/resolve`, {
    as: resolver,
    body: { outcome, note: 'By phone' },
  });

describe('a resolved refund', () => {
  test.each(['refunded', 'granted'] as const)('%s', async (outcome) => {
    const { id, userId } = await dueRefund();
    if (outcome === 'granted') {
      const refused = await observer.observe(() => resolve(id, outcome));
      expect([refused.result.status, refused.entries]).toEqual([409, []]);
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
    expect(written).toContain('refund_queue');
    const again = await observer.observe(() => resolve(id, outcome));
    expect([again.result.status, again.entries]).toEqual([200, []]);
  });
});

describe('a boost by an operator', () => {
  const operator = caller(900_002, ['payments.view_own', 'payments.boost_all']);
  const gymOf = (ownerId: number): number => {
    const id = newId();
    harness.targets.gyms.set(id, { user_id: ownerId, is_active: true });
    return id;
  };
  const buy = (gymId: number) =>
    harness.send('POST', '/payments/boost', {
      as: operator,
      body: { boostable_type: 'gym', boostable_id: gymId, level: 'basic' },
    });

  test('from the wallet, for a gym of somebody else; not for the own one, and not without a balance', async () => {
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
        before: null,
        after: { boostable_type: 'gym', boostable_id: gym, source: 'wallet' },
      },
    ]);
    expect(written).toContain('boosts');
    const own = await observer.observe(() => buy(gymOf(operator.userId)));
    expect([own.result.status, own.entries]).toEqual([201, []]);
  });

  test('from the store, also when the background grants it', async () => {
    const gym = gymOf(newId());
    const token = newToken();
    await putPurchase(harness, token, 'unreachable', 'boost_pro');
    const fields = { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: gym };
    const first = await observer.observe(() => redeem(harness.send, operator, token, fields));
    expect(first.entries).toEqual([]);
    await putPurchase(harness, token, 'purchased', 'boost_pro');
    harness.clock.advance(20_000);
    const { entries, written } = await observer.observe(() => harness.service.rounds.verifyAttempts());
    expect(entries).toMatchObject([
      { actorId: operator.userId, action: 'boost.buy', after: { boostable_id: gym, source: 'cafebazaar' } },
    ]);
    expect(written).toContain('boosts');
  });
});
