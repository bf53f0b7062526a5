/** Changes of many rows in steps: posts of a profile, training services of an erased account, boosts. */
import { gymChanged, gymDeleted } from '@fitness/proto/events/gyms.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { CHANGES_MAX } from '@fitness/shared/mongo/steps.ts';
import { fillLike } from '@fitness/shared/testing/fill.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { type TransactionWatch, watchTransactions } from '@fitness/shared/testing/transactions.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fillPosts, type Harness, openHarness } from './support.ts';

/** More rows than a transaction may change. */
const MANY = CHANGES_MAX + 100;
/** Too many for one transaction, together with their grams. */
const SERVICES = 20;
const GRAM_DOCUMENTS = 110;

let harness: Harness;
let watch: TransactionWatch;
beforeAll(async () => {
  harness = await openHarness({ watched: true });
  watch = watchTransactions(harness.config.MONGODB_DATABASE);
});
afterAll(() => harness.close());

const create = async (userId: number): Promise<number> => {
  const body = { title: 'T', description: '', price: 5, duration_days: 1 };
  const answer = await harness.send('POST', '/training-services', { as: caller(userId), body });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};
const countOf = (collection: string, filter: Record<string, unknown>): Promise<number> =>
  harness.connection.collection(collection).countDocuments(filter);
const expectBounded = (): void => expect(watch.largest()).toBeLessThanOrEqual(CHANGES_MAX);

test('an account with many training services is erased in steps, each deletion with its event', async () => {
  const userId = 77;
  await create(userId);
  const remaining = await create(78);
  const counters = harness.connection.collection('counters');
  const totals = async () => (await harness.send('GET', '/training-services')).body.meta.total;
  const first = 1_000_000;
  await fillLike(
    harness.connection,
    'training_services',
    (n) => ({ _id: first + n }),
    { user_id: userId },
    SERVICES,
  );
  const grams = (n: number) => ({ row: first + Math.ceil(n / GRAM_DOCUMENTS) });
  await fillLike(harness.connection, 'training_services_texts', grams, {}, SERVICES * GRAM_DOCUMENTS);
  await counters.updateOne({ 'counts.active': { $gt: 0 } }, { $inc: { 'counts.active': SERVICES } });
  expect(await totals()).toBe(SERVICES + 2);

  // Identity does not show the account any more.
  harness.standIns.gone.add(userId);
  await harness.publish(accountDeleted, {
    subject: userId,
    version: 4,
    data: { user_id: userId, deleted_at: '2026-01-15 10:00:00' },
  });
  await eventually(async () => {
    const { data } = (await harness.send('GET', '/training-services')).body;
    expect(data.filter(({ user_id }: { user_id: number }) => user_id === userId)).toEqual([]);
    return (await countOf('training_services', { user_id: userId })) === 0;
  });
  await eventually(async () => {
    const deleted = harness.tap.events.filter(({ type }) => type === 'content.training_service.deleted');
    return new Set(deleted.map(({ subject }) => subject)).size === SERVICES + 1;
  });
  expect(await totals()).toBe(1);
  expect(await countOf('training_services_texts', { row: { $gt: first } })).toBe(0);
  expect(await countOf('training_services', { _id: remaining })).toBe(1);
  expectBounded();
});

test('a training service with many boosts is deleted at once, and its boosts in steps', async () => {
  const id = await create(79);
  const other = await create(79);
  const boosts = [id, ...Array.from({ length: MANY }, () => id), other].map((training_service_id, index) => ({
    _id: (index + 1) as never,
    ...{ training_service_id, level: 1, ends_at: new Date(0), version: 1 },
  }));
  await harness.connection.collection('boosts').insertMany(boosts);
  expect((await harness.send('DELETE', `/training-services/${id}`, { as: caller(79) })).status).toBe(204);
  await eventually(async () => (await countOf('boosts', { training_service_id: id })) === 0);
  expect(await countOf('boosts', { training_service_id: other })).toBe(1);
  expectBounded();
});

test('the posts of a gym with many posts are hidden, shown, transferred and removed in steps', async () => {
  const gym = 31;
  const guestTotal = async () => (await harness.send('GET', '/posts')).body.meta.total;
  const before = await guestTotal();
  harness.standIns.gyms.set(gym, { user_id: 80, is_active: true, version: 1 });
  const body = { profile_type: 'App\\Models\\Gym', profile_id: gym, title: 'T', content: 'C' };
  expect((await harness.send('POST', '/posts', { as: caller(80), body })).status).toBe(201);
  await fillPosts(harness.connection, { profile_key: `gym:${gym}` }, MANY);
  const all = before + MANY + 1;
  expect(await guestTotal()).toBe(all);
  const change = (version: number, user_id: number, is_active: boolean) =>
    harness.publish(gymChanged, {
      subject: gym,
      version,
      data: { gym_id: gym, name: 'Gym', user_id, is_active },
    });
  const ownTotal = async (userId: number) =>
    (await harness.send('GET', '/posts', { as: caller(userId) })).body.meta.total;
  await change(2, 80, false);
  await eventually(async () => (await ownTotal(80)) === all && (await guestTotal()) === before);
  await change(3, 81, false);
  await eventually(async () => (await ownTotal(81)) === all && (await ownTotal(80)) === before);
  await change(4, 81, true);
  await eventually(async () => (await guestTotal()) === all);
  await harness.publish(gymDeleted, { subject: gym, version: 5, data: { gym_id: gym } });
  await eventually(async () => (await guestTotal()) === before);
  await eventually(async () => (await countOf('posts', { facets: 'gone' })) === MANY + 1);
  expectBounded();
});
