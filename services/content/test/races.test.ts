import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { client, openStage, type Stage, together } from './support.ts';

const USER = 'App\\Models\\User';
const operator = caller(1, ['posts.view_all', 'posts.update_any', 'users.view_all']);

let stage: Stage;
let nextUser = 10;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const someone = (): number => {
  nextUser += 1;
  return nextUser;
};
const write = async (userId: number): Promise<number> => {
  const body = { profile_type: USER, profile_id: userId, title: 'Title', content: 'Content' };
  const answer = await stage.send('POST', '/posts', { as: caller(userId), body });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};
const offer = async (userId: number): Promise<number> => {
  const body = { title: 'Coaching', description: '', price: 1_000, duration_days: 30 };
  const answer = await stage.send('POST', '/training-services', { as: caller(userId), body });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};
const told = (type: string, id: number) =>
  stage.tap.events.filter((event) => event.type === type && event.subject === String(id));
const countOf = (statuses: readonly number[], status: number): number =>
  statuses.filter((one) => one === status).length;
/** The list's total is what the collection holds. */
const expectTotal = async (path: string, collection: string): Promise<void> => {
  const { total } = (await stage.send('GET', `${path}?per_page=1`, { as: operator })).body.meta;
  expect(total).toBe(await stage.connection.collection(collection).countDocuments({}));
};

test('a post that is deleted beside changes stays deleted, each of them answers, and it is told once, last', async () => {
  const userId = someone();
  const id = await write(userId);
  const changes = [{ title: 'New' }, { is_draft: true }, { in_blog: true }, { is_draft: false }];
  const answers = await together((index) => {
    const as = caller(userId);
    return index === 12
      ? stage.send('DELETE', `/posts/${id}`, { as })
      : stage.send('PUT', `/posts/${id}`, { as, body: changes[index % 4] });
  }, 25);
  const statuses = answers.map(({ status }) => status);
  expect(statuses[12]).toBe(204);
  const changed = countOf(statuses, 200);
  expect(changed + countOf(statuses, 404)).toBe(24);
  expect((await stage.send('GET', `/posts/${id}`, { as: operator })).status).toBe(404);
  const event = await stage.tap.waitFor('content.post.deleted', {
    matches: ({ subject }) => subject === String(id),
  });
  // Made as version 1, and one more with every change.
  expect(event.aggregateversion).toBe(changed + 2);
  expect(told('content.post.deleted', id)).toHaveLength(1);
  await expectTotal('/posts', 'posts');
});

test('twenty posts of one profile, each changed beside its deletion: all are gone, and counted', async () => {
  const userId = someone();
  const ids = await together(() => write(userId));
  const statuses = await together(async (index) => {
    const path = `/posts/${ids[index >> 1]}`;
    const answer =
      index % 2 === 0
        ? await stage.send('PUT', path, { as: caller(userId), body: { is_draft: true } })
        : await stage.send('DELETE', path, { as: caller(userId) });
    return answer.status;
  }, 40);
  for (const index of ids.keys()) {
    expect([200, 404]).toContain(statuses[index * 2]);
    expect(statuses[index * 2 + 1]).toBe(204);
  }
  const { meta } = (await stage.send('GET', `/posts?type=${encodeURIComponent(USER)}&item_id=${userId}`))
    .body;
  expect(meta.total).toBe(0);
  await expectTotal('/posts', 'posts');
});

test('a training service that is removed beside changes stays removed, and is told last', async () => {
  const userId = someone();
  const id = await offer(userId);
  const answers = await together((index) => {
    const as = caller(userId);
    return index === 12
      ? stage.send('DELETE', `/training-services/${id}`, { as })
      : stage.send('PUT', `/training-services/${id}`, {
          as,
          body: { price: index + 1, is_active: index % 2 === 0 },
        });
  }, 25);
  const statuses = answers.map(({ status }) => status);
  expect(statuses[12]).toBe(204);
  const changed = countOf(statuses, 200);
  expect(changed + countOf(statuses, 404)).toBe(24);
  const event = await stage.tap.waitFor('content.training_service.deleted', {
    matches: ({ subject }) => subject === String(id),
  });
  expect(event.aggregateversion).toBe(changed + 2);
  expect((await stage.send('GET', `/training-services/${id}`, { as: caller(userId) })).status).toBe(404);
  await expectTotal('/training-services', 'training_services');
});

test('purchases beside the removal of their training service are bought whole or not at all', async () => {
  const seller = someone();
  const buyers = Array.from({ length: 30 }, () => someone());
  const id = await offer(seller);
  stage.world.booked.clear();
  // The removal begins when some have begun to pay and others are about to begin.
  let asked = 0;
  const halfway = Promise.withResolvers<void>();
  stage.world.before.set('Book', async () => {
    asked += 1;
    if (asked === 3) halfway.resolve();
  });
  const [removed, ...answers] = await Promise.all([
    halfway.promise.then(() => stage.send('DELETE', `/training-services/${id}`, { as: caller(seller) })),
    ...buyers.map(async (buyer, index) => {
      if (index >= 10) await halfway.promise;
      return stage.send('POST', `/training-services/${id}/purchase`, { as: caller(buyer) });
    }),
  ]);
  stage.world.before.clear();
  expect(removed.status).toBe(204);
  const statuses = answers.map(({ status }) => status);
  const bought = countOf(statuses, 201);
  expect(bought + countOf(statuses, 404)).toBe(30);
  expect(stage.world.booked.size).toBe(bought);
  const trainees = stage.connection.collection('trainees');
  expect(await trainees.countDocuments({ training_service_id: id, status: 'active' })).toBe(bought);
  expect(await trainees.countDocuments({ training_service_id: id, status: 'pending' })).toBe(0);
  for (const [index, buyer] of buyers.entries()) {
    const { data } = (await stage.send('GET', '/trainees', { as: caller(buyer) })).body;
    // What was sold stays with its buyer.
    expect(data).toHaveLength(statuses[index] === 201 ? 1 : 0);
    if (statuses[index] === 404)
      expect(answers[index]?.body).toEqual({ error: expect.any(String), code: 'payments.target_not_found' });
  }
  const blockers = client(grpcDefinitions.blockers(), stage.content.grpcAddress);
  const { applies, extras_json } = await blockers.call('Evaluate', {
    user_id: seller,
    code: 'active_trainees',
  });
  blockers.close();
  expect([applies, JSON.parse(extras_json)]).toEqual([bought > 0, bought > 0 ? { count: bought } : {}]);
  const late = await stage.send('POST', `/training-services/${id}/purchase`, { as: caller(buyers[0] ?? 0) });
  expect(late.status).toBe(404);
});

test('purchases beside a price that rises and a service that is closed pay what they were told or nothing', async () => {
  const seller = someone();
  const id = await offer(seller);
  stage.world.booked.clear();
  const change = (body: object) =>
    stage.send('PUT', `/training-services/${id}`, { as: caller(seller), body });
  const [answers] = await Promise.all([
    together(() =>
      stage.send('POST', `/training-services/${id}/purchase`, {
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
  expect(stage.world.payments('purchase').map(({ amount }) => amount)).toEqual(Array(bought).fill(1_000));
});

test.each([
  ['closed', 404, { is_active: false }],
  ['removed', 404, undefined],
  ['made dearer', 400, { price: 2_000 }],
])(
  'a training service that is %s between its look-up and the sale is not sold',
  async (_how, status, body) => {
    const seller = someone();
    const id = await offer(seller);
    stage.world.booked.clear();
    stage.world.before.set('GetRates', async () => {
      const method = body === undefined ? 'DELETE' : 'PUT';
      await stage.send(method, `/training-services/${id}`, { as: caller(seller), body });
    });
    const buyer = caller(someone());
    const path = `/training-services/${id}/purchase`;
    const answer = await stage.send('POST', path, { as: buyer, body: { price: 1_000 } });
    stage.world.before.clear();
    expect(answer.status).toBe(status);
    expect(stage.world.booked.size).toBe(0);
    expect(await stage.connection.collection('trainees').countDocuments({ training_service_id: id })).toBe(0);
  },
);
