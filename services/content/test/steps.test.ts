/** The training services of an erased account, and the boosts of a deleted one, are removed in steps. */
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { CHANGES_MAX } from '@fitness/shared/mongo/steps.ts';
import { fillLike } from '@fitness/shared/testing/fill.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { type TransactionWatch, watchTransactions } from '@fitness/shared/testing/transactions.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, openHarness } from './support.ts';

/** More than two transactions may change. */
const MANY = 2_500;

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

test('an account with more training services than a transaction may delete is erased in steps, each with its event', async () => {
  const userId = 77;
  await create(userId);
  const kept = await create(78);
  const counters = harness.connection.collection('counters');
  const totals = async () => (await harness.send('GET', '/training-services')).body.meta.total;
  const first = 1_000_000;
  await fillLike(
    harness.connection,
    'training_services',
    (n) => ({ _id: first + n }),
    { user_id: userId },
    MANY,
  );
  await counters.updateOne({ 'counts.active': { $gt: 0 } }, { $inc: { 'counts.active': MANY } });
  const grams = Array.from({ length: 20 * 125 }, (_, part) => ({
    row: first + 1 + Math.floor(part / 125),
    grams: [`gram ${part}`],
  }));
  await harness.connection.collection('training_services_texts').insertMany(grams);
  expect(await totals()).toBe(MANY + 2);

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
    return new Set(deleted.map(({ subject }) => subject)).size === MANY + 1;
  });
  expect(await totals()).toBe(1);
  expect(await countOf('training_services', { _id: kept })).toBe(1);
  expect(await countOf('training_services_texts', { row: { $ne: kept } })).toBe(0);
  expectBounded();
});

test('a training service with more boosts than a transaction may delete is deleted at once, and its boosts in steps', async () => {
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
