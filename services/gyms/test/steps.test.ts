/** Unlimited data is erased in steps. No step changes more documents than a transaction may. */
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { CHANGES_MAX } from '@fitness/shared/mongo/steps.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { type TransactionWatch, watchTransactions } from '@fitness/shared/testing/transactions.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, member, openHarness, operator } from './support.ts';

/** More than a transaction is allowed to change. */
const RATINGS = CHANGES_MAX + 100;

let harness: Harness;
let watch: TransactionWatch;
beforeAll(async () => {
  harness = await openHarness({ watched: true });
  watch = watchTransactions(harness.config.MONGODB_DATABASE);
});
afterAll(() => harness.close());

const ratings = () => harness.connection.collection('gym_ratings');
const fill = async (rating: (n: number) => { gymId: number; userId: number }): Promise<void> => {
  const rows = Array.from({ length: RATINGS }, (_, index) => ({
    ...rating(index + 1),
    score: 1 + (index % 5),
    ratedAt: harness.clock.now(),
  }));
  await ratings().insertMany(rows);
};
const handled = (eventId: string): Promise<number> =>
  harness.connection.collection('inbox').countDocuments({ eventId });

test('a gym with very many ratings is deleted at once, and its ratings in steps', async () => {
  const id = await harness.createGym(member(10));
  await harness.send('PUT', `/gyms/${id}/rating`, { as: member(11), body: { score: 4 } });
  await fill((n) => ({ gymId: id, userId: 10_000 + n }));
  const other = await harness.createGym(member(10));
  await harness.send('PUT', `/gyms/${other}/rating`, { as: member(11), body: { score: 4 } });

  expect((await harness.send('DELETE', `/gyms/${id}`, { as: member(10) })).status).toBe(204);
  expect((await harness.send('GET', `/gyms/${id}`)).status).toBe(404);
  const late = await harness.send('PUT', `/gyms/${id}/rating`, { as: member(12), body: { score: 1 } });
  expect(late.status).toBe(404);

  await eventually(async () => (await ratings().countDocuments({ gymId: id })) === 0);
  expect(await ratings().countDocuments({ gymId: other })).toBe(1);
  expect(watch.largest()).toBeLessThanOrEqual(CHANGES_MAX);
  const event = await harness.tap.waitFor('gyms.gym.deleted');
  await eventually(async () => (await handled(event.id)) === 1);
});

test('an account with very many ratings loses them in steps, and the averages stay', async () => {
  const member11 = 11;
  const gym = await harness.createGym(member(10));
  await harness.send('PUT', `/gyms/${gym}/rating`, { as: member(member11), body: { score: 2 } });
  await fill((n) => ({ gymId: 1_000_000 + n, userId: member11 }));
  const before = (await harness.send('GET', `/gyms/${gym}`, { as: operator() })).body.gym;

  await harness.publish(accountDeleted, {
    subject: member11,
    data: { user_id: member11, deleted_at: '2026-01-15 10:00:00' },
  });
  // After the first step, the account cannot add anything more.
  await eventually(async () => (await ratings().countDocuments({ userId: null })) > 0);
  const late = await harness.send('PUT', `/gyms/${gym}/rating`, { as: member(member11), body: { score: 5 } });
  expect(late.status).toBe(403);
  await eventually(async () => (await ratings().countDocuments({ userId: member11 })) === 0);
  expect(await ratings().countDocuments({ userId: null })).toBeGreaterThanOrEqual(RATINGS + 1);
  const after = (await harness.send('GET', `/gyms/${gym}`, { as: operator() })).body.gym;
  expect(after).toMatchObject({ rating_count: before.rating_count, rating_average: before.rating_average });
  expect(watch.largest()).toBeLessThanOrEqual(CHANGES_MAX);
});
