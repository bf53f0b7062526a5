/** The erasure of an account with 20,000 payments, including one by a process that is killed halfway. */
import { fileURLToPath } from 'node:url';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { CHANGES_MAX } from '@fitness/shared/mongo/steps.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import { type CrashTestProcess, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import { FILLED } from '@fitness/shared/testing/fill.ts';
import { apiClient, eventually, testConfig } from '@fitness/shared/testing/harness.ts';
import { watchTransactions } from '@fitness/shared/testing/transactions.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eraseAccount, fillPayments, type Harness, OPERATOR, startHarness } from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const MARK = 'For Sara';
const BALANCE = 700;
const MONGODB_URI = String(testConfig('wallet').MONGODB_URI);

/** Limits for 20,000 rows. Polls seldom, because the database counts the rows each time. */
const SLOWLY = { timeoutMs: 200_000, intervalMs: 200 };

let harness: Harness;
let crashing: CrashTestProcess | undefined;
beforeAll(async () => {
  harness = await startHarness(monitored({ MONGODB_URI }));
});
afterAll(async () => {
  await crashing?.kill();
  await harness.close();
});

const payments = () => harness.connection.collection('payments');
const inbox = () => harness.connection.collection('inbox');

const newAccount = async (): Promise<number> => {
  const { userId } = harness.person();
  await harness.give(userId, BALANCE);
  await fillPayments(harness, userId, FILLED, MARK);
  return userId;
};

const expectErasedOnce = async (userId: number): Promise<void> => {
  const stored = await payments().find({ user_id: userId }).toArray();
  expect(stored).toHaveLength(FILLED + 1);
  expect(JSON.stringify(stored)).not.toContain(MARK);
  expect(new Set(stored.map(({ version }) => version))).toEqual(new Set([2]));
  expect(await harness.balanceOf(userId)).toBe(BALANCE);
};

test('an account with 20,000 payments is erased, and no transaction changes more than 1,000 documents', async () => {
  const userId = await newAccount();
  const watch = watchTransactions(harness.config.MONGODB_DATABASE);
  await eraseAccount(harness, userId, SLOWLY);
  await expectErasedOnce(userId);
  expect(watch.largest()).toBeLessThanOrEqual(CHANGES_MAX);
});

test('another process completes an interrupted erasure once, and nothing is shown meanwhile', async () => {
  const userId = await newAccount();
  // The process to be killed uses the same queue.
  await harness.wallet.close();
  crashing = startCrashTestProcess(MAIN, { ...harness.config, MONGODB_URI, LOG_LEVEL: 'info' });
  const send = apiClient('wallet', await crashing.url());
  harness.erase(userId);
  const eventId = await harness.publish(accountDeleted, {
    user_id: userId,
    deleted_at: '2026-01-15 10:00:00',
  });
  await eventually(async () => {
    const shown = await send('GET', `/payments?user_id=${userId}&order=ASC`, { as: OPERATOR });
    expect([shown.status, shown.body.data.length]).toEqual([200, 30]);
    expect(shown.text).not.toContain(MARK);
    return (await payments().countDocuments({ user_id: userId, version: 2 })) > 2 * CHANGES_MAX;
  }, SLOWLY);
  await crashing.kill();
  expect(await payments().countDocuments({ user_id: userId, description: MARK })).toBeGreaterThan(0);
  expect(await inbox().countDocuments({ eventId })).toBe(0);

  const other = await harness.replica();
  const after = await apiClient('wallet', other.url)('GET', `/payments?user_id=${userId}`, { as: OPERATOR });
  expect(after.text).not.toContain(MARK);
  await eventually(async () => (await inbox().countDocuments({ eventId })) === 1, SLOWLY);
  await expectErasedOnce(userId);
});
