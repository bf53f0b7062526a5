/** The payments of an erased account lose their personal data in steps, and are shown without it at once. */
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { CHANGES_MAX } from '@fitness/shared/mongo/steps.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import { eventually, testConfig } from '@fitness/shared/testing/harness.ts';
import { type TransactionWatch, watchTransactions } from '@fitness/shared/testing/transactions.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eraseAccount, fillPayments, type Harness, OPERATOR, startHarness } from './support.ts';

/** More than two transactions are allowed to change. */
const PAYMENTS = 2_500;
const MARK = 'For Sara';

let harness: Harness;
let watch: TransactionWatch;
beforeAll(async () => {
  const { MONGODB_URI } = monitored({ MONGODB_URI: String(testConfig('wallet').MONGODB_URI) });
  harness = await startHarness({ MONGODB_URI });
  watch = watchTransactions(harness.config.MONGODB_DATABASE);
});
afterAll(() => harness.close());

const payments = () => harness.connection.collection('payments');

test('a large account is erased in steps, and each payment is changed once', async () => {
  const { userId } = harness.person();
  await harness.give(userId, 700);
  await fillPayments(harness, userId, PAYMENTS, MARK);
  const keys = Array.from({ length: PAYMENTS }, (_, index) => ({
    _id: `key ${index}` as never,
    user_id: userId,
    expires_at: new Date(Date.now() + 86_400_000),
  }));
  await harness.connection.collection('idempotency_keys').insertMany(keys);

  await eraseAccount(harness, userId);

  const stored = await payments().find({ user_id: userId }).toArray();
  expect(stored).toHaveLength(PAYMENTS + 1);
  expect(JSON.stringify(stored)).not.toContain(MARK);
  expect(new Set(stored.map(({ version }) => version))).toEqual(new Set([2]));
  expect(await harness.connection.collection('idempotency_keys').countDocuments({ user_id: userId })).toBe(0);
  expect(await harness.balanceOf(userId)).toBe(700);
  expect(watch.largest()).toBeLessThanOrEqual(CHANGES_MAX);
});

test('nobody sees the data of an erased account that the steps have not reached yet', async () => {
  const { userId } = harness.person();
  await harness.give(userId, 700);
  await fillPayments(harness, userId, 20, MARK);
  const shown = async (path: string): Promise<string> => {
    const answer = await harness.send('GET', path, { as: OPERATOR });
    expect([answer.status, answer.body.data.length > 0]).toEqual([200, true]);
    return answer.text;
  };
  const lists = [`/payments?user_id=${userId}`, '/payments/deposit/disputed'];
  for (const path of lists) expect(await shown(path)).toContain(MARK);
  harness.erase(userId);
  for (const path of lists) expect(await shown(path)).not.toContain(MARK);
  const one = await payments().findOne({ user_id: userId, description: MARK });
  expect((await harness.send('GET', `/payments/${one?._id}`, { as: OPERATOR })).text).not.toContain(MARK);
});

test('a booking while the steps run stores no personal data, and the balance is correct', async () => {
  const { userId } = harness.person();
  await harness.give(userId, 700);
  await fillPayments(harness, userId, PAYMENTS, MARK);
  await harness.publish(accountDeleted, { user_id: userId, deleted_at: '2026-01-15 10:00:00' });
  // Wait until the first step is done.
  await eventually(async () => (await payments().countDocuments({ user_id: userId, version: 2 })) > 0);
  const bookings = [
    { user_id: await harness.buyer(), type: 'purchase', amount: 5 },
    { user_id: userId, type: 'income', amount: 5, description: MARK },
  ];
  await harness.book({ idempotency_key: 'meanwhile', bookings });
  // An erased account is not credited.
  expect(await harness.balanceOf(userId)).toBe(700);
  await eventually(
    async () => (await payments().countDocuments({ user_id: userId, description: MARK })) === 0,
  );
});
