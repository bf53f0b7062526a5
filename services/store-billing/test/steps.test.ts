/** Operators’ notes on an erased account’s purchases are removed in steps, and no later ones are stored. */
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { CHANGES_MAX } from '@fitness/shared/mongo/steps.ts';
import { fillLike } from '@fitness/shared/testing/fill.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { type TransactionWatch, watchTransactions } from '@fitness/shared/testing/transactions.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, newToken, newUser, publish, putPurchase, redeem, startHarness } from './support.ts';

/** More rows than two transactions may change. */
const MANY = 2_500;
const OPERATOR = caller(900_001, ['payments.view_all', 'payments.resolve_disputes']);

let harness: Harness;
let watch: TransactionWatch;
beforeAll(async () => {
  harness = await startHarness({}, '2126-01-15T10:00:00Z', { monitored: true });
  watch = watchTransactions(harness.config.MONGODB_DATABASE);
});
afterAll(() => harness.close());

const queue = () => harness.database.collection('refund_queue');

/** A purchase that was paid while another subscription runs: it is in the refund queue. */
const dueRefund = async (): Promise<{ id: number; userId: number }> => {
  const user = newUser();
  const [running, token] = [newToken(), newToken()];
  await Promise.all([putPurchase(harness, running), putPurchase(harness, token)]);
  await redeem(harness.send, user, running);
  await redeem(harness.send, user, token);
  harness.clock.advance(20_000);
  await harness.service.rounds.verifyAttempts();
  const due = await queue().findOne({ user_id: user.userId });
  return { id: Number(due?._id), userId: user.userId };
};

test('notes on an erased account’s refunds are removed in steps, and later ones are not stored', async () => {
  const { id, userId } = await dueRefund();
  await fillLike(
    harness.database,
    'refund_queue',
    (n) => ({ _id: 1_000_000 + n, owed_for: null, resolved_at: new Date(), note: 'By phone' }),
    { _id: id },
    MANY,
  );
  await publish(harness, accountDeleted, {
    user_id: userId,
    deleted_at: '2126-01-15 10:00:00',
  });
  await eventually(async () => (await queue().countDocuments({ user_id: userId, note: 'By phone' })) === 0);
  expect(watch.largest()).toBeLessThanOrEqual(CHANGES_MAX);

  const path = `/payments/store-purchases/refund-queue/${id}/resolve`;
  const body = { outcome: 'refunded', note: 'By phone' };
  const answer = await harness.send('POST', path, { as: OPERATOR, body });
  expect([answer.status, answer.body.data.note]).toEqual([200, null]);
  expect(await queue().countDocuments({ user_id: userId, note: 'By phone' })).toBe(0);
});
