import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { client, type Harness, openHarness, together } from './support.ts';

const USER = 'App\\Models\\User';
const operator = caller(1, ['posts.view_all', 'posts.update_any', 'users.view_all']);

let harness: Harness;
let nextUser = 10;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const someone = (): number => {
  nextUser += 1;
  return nextUser;
};
const write = async (userId: number): Promise<number> => {
  const body = { profile_type: USER, profile_id: userId, title: 'Title', content: 'Content' };
  const answer = await harness.send('POST', '/posts', { as: caller(userId), body });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};
const offer = async (userId: number): Promise<number> => {
  const body = { title: 'Coaching', description: '', price: 1_000, duration_days: 30 };
  const answer = await harness.send('POST', '/training-services', { as: caller(userId), body });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};
const published = (type: string, id: number) =>
  harness.tap.events.filter((event) => event.type === type && event.subject === String(id));
const countOf = (statuses: readonly number[], status: number): number =>
  statuses.filter((one) => one === status).length;
/** Expects the total of the list to equal the number of documents. */
const expectTotal = async (path: string, collection: string): Promise<void> => {
  const { total } = (await harness.send('GET', `${path}?per_page=1`, { as: operator })).body.meta;
  expect(total).toBe(await harness.connection.collection(collection).countDocuments({}));
};

test('a post that is deleted during changes stays deleted and publishes one event', async () => {
  const userId = someone();
  const id = await write(userId);
  const changes = [{ title: 'New' }, { is_draft: true }, { in_blog: true }, { is_draft: false }];
  const answers = await together((index) => {
    const as = caller(userId);
    return index === 12
      ? harness.send('DELETE', `/posts/${id}`, { as })
      : harness.send('PUT', `/posts/${id}`, { as, body: changes[index % 4] });
  }, 25);
  const statuses = answers.map(({ status }) => status);
  expect(statuses[12]).toBe(204);
  const changed = countOf(statuses, 200);
  expect(changed + countOf(statuses, 404)).toBe(24);
  expect((await harness.send('GET', `/posts/${id}`, { as: operator })).status).toBe(404);
  const event = await harness.tap.waitFor('content.post.deleted', {
    matches: ({ subject }) => subject === String(id),
  });
  // Created as version 1; every change and the deletion add one.
  expect(event.aggregateversion).toBe(changed + 2);
  expect(published('content.post.deleted', id)).toHaveLength(1);
  await expectTotal('/posts', 'posts');
});

test('twenty posts of one profile, each changed during its deletion, are all deleted and counted', async () => {
  const userId = someone();
  const ids = await together(() => write(userId));
  const statuses = await together(async (index) => {
    const path = `/posts/${ids[index >> 1]}`;
    const answer =
      index % 2 === 0
        ? await harness.send('PUT', path, { as: caller(userId), body: { is_draft: true } })
        : await harness.send('DELETE', path, { as: caller(userId) });
    return answer.status;
  }, 40);
  for (const index of ids.keys()) {
    expect([200, 404]).toContain(statuses[index * 2]);
    expect(statuses[index * 2 + 1]).toBe(204);
  }
  const { meta } = (await harness.send('GET', `/posts?type=${encodeURIComponent(USER)}&item_id=${userId}`))
    .body;
  expect(meta.total).toBe(0);
  await expectTotal('/posts', 'posts');
});

test('a training service that is deleted during changes stays deleted, with the last version', async () => {
  const userId = someone();
  const id = await offer(userId);
  const answers = await together((index) => {
    const as = caller(userId);
    return index === 12
      ? harness.send('DELETE', `/training-services/${id}`, { as })
      : harness.send('PUT', `/training-services/${id}`, {
          as,
          body: { price: index + 1, is_active: index % 2 === 0 },
        });
  }, 25);
  const statuses = answers.map(({ status }) => status);
  expect(statuses[12]).toBe(204);
  const changed = countOf(statuses, 200);
  expect(changed + countOf(statuses, 404)).toBe(24);
  const event = await harness.tap.waitFor('content.training_service.deleted', {
    matches: ({ subject }) => subject === String(id),
  });
  expect(event.aggregateversion).toBe(changed + 2);
  expect((await harness.send('GET', `/training-services/${id}`, { as: caller(userId) })).status).toBe(404);
  await expectTotal('/training-services', 'training_services');
});

test('a purchase during the deletion of its training service is complete or has no effect', async () => {
  const seller = someone();
  const buyers = Array.from({ length: 30 }, () => someone());
  const id = await offer(seller);
  harness.standIns.booked.clear();
  // The deletion starts when some purchases are paying and others have not started.
  let bookings = 0;
  const halfway = Promise.withResolvers<void>();
  harness.standIns.before.set('Book', async () => {
    bookings += 1;
    if (bookings === 3) halfway.resolve();
  });
  const [removed, ...answers] = await Promise.all([
    halfway.promise.then(() => harness.send('DELETE', `/training-services/${id}`, { as: caller(seller) })),
    ...buyers.map(async (buyer, index) => {
      if (index >= 10) await halfway.promise;
      return harness.send('POST', `/training-services/${id}/purchase`, { as: caller(buyer) });
    }),
  ]);
  harness.standIns.before.clear();
  expect(removed.status).toBe(204);
  const statuses = answers.map(({ status }) => status);
  const bought = countOf(statuses, 201);
  expect(bought + countOf(statuses, 404)).toBe(30);
  expect(harness.standIns.booked.size).toBe(bought);
  const trainees = harness.connection.collection('trainees');
  expect(await trainees.countDocuments({ training_service_id: id, status: 'active' })).toBe(bought);
  expect(await trainees.countDocuments({ training_service_id: id, status: 'pending' })).toBe(0);
  for (const [index, buyer] of buyers.entries()) {
    const { data } = (await harness.send('GET', '/trainees', { as: caller(buyer) })).body;
    // Trainees stay with their buyers.
    expect(data).toHaveLength(statuses[index] === 201 ? 1 : 0);
    if (statuses[index] === 404)
      expect(answers[index]?.body).toEqual({ error: expect.any(String), code: 'payments.target_not_found' });
  }
  const blockers = client(grpcDefinitions.blockers(), harness.content.grpcAddress);
  const { applies, extras_json } = await blockers.call('Evaluate', {
    user_id: seller,
    code: 'active_trainees',
  });
  blockers.close();
  expect([applies, JSON.parse(extras_json)]).toEqual([bought > 0, bought > 0 ? { count: bought } : {}]);
  const late = await harness.send('POST', `/training-services/${id}/purchase`, {
    as: caller(buyers[0] ?? 0),
  });
  expect(late.status).toBe(404);
});

test('purchases during a price rise and a deactivation pay the price that they named or nothing', async () => {
  const seller = someone();
  const id = await offer(seller);
  harness.standIns.booked.clear();
  const change = (body: object) =>
    harness.send('PUT', `/training-services/${id}`, { as: caller(seller), body });
  const [answers] = await Promise.all([
    together(() =>
      harness.send('POST', `/training-services/${id}/purchase`, {
        as: caller(someone()),
        body: { price: 1_000 },
      }),
    ),
    change({ price: 2_000 }).then(() => change({ is_active: false })),
  ]);
  for (const { status, body } of answers) {
    expect([201, 400, 404]).toContain(status);
    if (status === 400) expect(body.code).toBe('payments.price_changed');
    if (status === 201) expect(body.data.price).toBe(1_000);
  }
  const bought = answers.filter(({ status }) => status === 201).length;
  expect(harness.standIns.payments('purchase').map(({ amount }) => amount)).toEqual(
    Array(bought).fill(1_000),
  );
});

test.each([
  ['deactivated', 404, { is_active: false }],
  ['deleted', 404, undefined],
  ['given a higher price', 400, { price: 2_000 }],
])(
  'a training service that is %s between the look-up and the claim is not sold',
  async (_how, status, body) => {
    const seller = someone();
    const id = await offer(seller);
    harness.standIns.booked.clear();
    harness.standIns.before.set('GetRates', async () => {
      const method = body === undefined ? 'DELETE' : 'PUT';
      await harness.send(method, `/training-services/${id}`, { as: caller(seller), body });
    });
    const buyer = caller(someone());
    const path = `/training-services/${id}/purchase`;
    const answer = await harness.send('POST', path, { as: buyer, body: { price: 1_000 } });
    harness.standIns.before.clear();
    expect(answer.status).toBe(status);
    expect(harness.standIns.booked.size).toBe(0);
    expect(await harness.connection.collection('trainees').countDocuments({ training_service_id: id })).toBe(
      0,
    );
  },
);
