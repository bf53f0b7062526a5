/** Gyms and members with 20,000 ratings, even when the process is killed halfway. */
import { fileURLToPath } from 'node:url';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { CHANGES_MAX } from '@fitness/shared/mongo/steps.ts';
import { type CrashTestProcess, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import { FILLED, fillLike } from '@fitness/shared/testing/fill.ts';
import { apiClient, eventually } from '@fitness/shared/testing/harness.ts';
import { type TransactionWatch, watchTransactions } from '@fitness/shared/testing/transactions.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, member, openHarness } from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** Limits for 20,000 rows. Polls seldom, because the database counts the rows each time. */
const SLOWLY = { timeoutMs: 200_000, intervalMs: 200 };

let harness: Harness;
let watch: TransactionWatch;
let crashing: CrashTestProcess | undefined;
beforeAll(async () => {
  harness = await openHarness({ watched: true });
  watch = watchTransactions(harness.config.MONGODB_DATABASE);
});
afterAll(async () => {
  await crashing?.kill();
  await harness.close();
});

const ratings = () => harness.connection.collection('gym_ratings');
const inbox = () => harness.connection.collection('inbox');

const newRatedGym = async (raterId: number): Promise<number> => {
  const id = await harness.createGym(member(10));
  const rated = await harness.send('PUT', `/gyms/${id}/rating`, { as: member(raterId), body: { score: 4 } });
  expect(rated.status).toBe(200);
  return id;
};
const publishErasure = (userId: number) =>
  harness.publish(accountDeleted, {
    subject: userId,
    data: { user_id: userId, deleted_at: '2026-01-15 10:00:00' },
  });
const expectBounded = (): void => expect(watch.largest()).toBeLessThanOrEqual(CHANGES_MAX);

test('a gym with 20,000 ratings is deleted, and no transaction changes more than 1,000 documents', async () => {
  const id = await newRatedGym(11);
  await fillLike(harness.connection, 'gym_ratings', (n) => ({ userId: 10_000 + n }), { gymId: id });
  expect((await harness.send('DELETE', `/gyms/${id}`, { as: member(10) })).status).toBe(204);
  expect((await harness.send('GET', `/gyms/${id}`)).status).toBe(404);
  await eventually(async () => (await ratings().countDocuments({ gymId: id })) === 0, SLOWLY);
  expectBounded();
});

test('a member with 20,000 ratings is erased, and no transaction changes more than 1,000 documents', async () => {
  const id = await newRatedGym(12);
  await fillLike(harness.connection, 'gym_ratings', (n) => ({ gymId: 1_000_000 + n }), { gymId: id });
  await publishErasure(12);
  await eventually(async () => (await ratings().countDocuments({ userId: 12 })) === 0, SLOWLY);
  const { gym } = (await harness.send('GET', `/gyms/${id}`)).body;
  expect(gym).toMatchObject({ rating_count: 1, rating_average: 4 });
  expectBounded();
});

test('another process completes a deletion and an erasure that were interrupted by a crash', async () => {
  const [gone, remaining] = [await newRatedGym(13), await newRatedGym(14)];
  await fillLike(harness.connection, 'gym_ratings', (n) => ({ userId: 10_000 + n }), { gymId: gone });
  await fillLike(harness.connection, 'gym_ratings', (n) => ({ gymId: 2_000_000 + n }), { gymId: remaining });
  // The process to be killed uses the same queue.
  await harness.closeService();
  crashing = startCrashTestProcess(MAIN, { ...harness.config, LOG_LEVEL: 'info' });
  const send = apiClient('gyms', await crashing.url());
  expect((await send('DELETE', `/gyms/${gone}`, { as: member(10) })).status).toBe(204);
  await publishErasure(14);
  const left = async () =>
    Promise.all([ratings().countDocuments({ gymId: gone }), ratings().countDocuments({ userId: 14 })]);
  await eventually(async () => (await left()).every((count) => count < FILLED - 2 * CHANGES_MAX), SLOWLY);
  await crashing.kill();
  for (const count of await left()) expect(count).toBeGreaterThan(0);

  const other = await harness.replica();
  expect((await other('GET', `/gyms/${gone}`)).status).toBe(404);
  const late = await other('PUT', `/gyms/${remaining}/rating`, { as: member(14), body: { score: 1 } });
  expect(late.status).toBe(403);
  await eventually(async () => (await left()).every((count) => count === 0), SLOWLY);
  await eventually(
    async () => (await inbox().countDocuments({ consumer: accountDeleted.type })) === 2,
    SLOWLY,
  );
  const { gym } = (await other('GET', `/gyms/${remaining}`)).body;
  expect(gym).toMatchObject({ rating_count: 1, rating_average: 4 });
  // Only the scores of the erased member are left: of this gym, and of other gyms.
  expect(await ratings().countDocuments({ userId: null })).toBe(2 * (FILLED + 1));
});
