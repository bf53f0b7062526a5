import { GUEST } from '@fitness/shared/caller.ts';
import { DAY_MS, systemClock, systemRandom } from '@fitness/shared/clock.ts';
import { createOutbox } from '@fitness/shared/events/outbox.ts';
import { createIdempotency, createIdempotencyIndexes } from '@fitness/shared/http/idempotency.ts';
import { createKeyAgreement } from '@fitness/shared/http/key-agreement.ts';
import { createLog } from '@fitness/shared/log.ts';
import { syncIndexes } from '@fitness/shared/mongo/connect.ts';
import { registerEventModels } from '@fitness/shared/mongo/event-models.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { connectRedis, type Redis } from '@fitness/shared/redis.ts';
import { type CommandWatch, namesIndex, watchCommands } from '@fitness/shared/testing/commands.ts';
import { caller, dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { wholeUser } from '@fitness/shared/testing/users.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mongoose, { type Connection } from 'mongoose';
import { GONE } from '../src/app/keep-profiles.ts';
import type { Parts } from '../src/app/parts.ts';
import { createUseCases, type UseCases } from '../src/app/use-cases.ts';
import { createStore } from '../src/store/store.ts';

const config = testConfig('content');
const seller = caller(7);
const buyer = caller(8);
const operator = caller(1, [
  'posts.view_all',
  'users.view_all',
  'training_services.create',
  'training_services.update_any',
]);

let connection: Connection;
let redis: Redis;
let parts: Parts;
let useCases: UseCases;
let watch: CommandWatch;

const NOBODY_HIDDEN = { pending: new Set<number>(), gone: new Set<number>() };

beforeAll(async () => {
  mongoose.set('sanitizeFilter', true);
  connection = await mongoose
    .createConnection(config.MONGODB_URI, {
      dbName: config.MONGODB_DATABASE,
      monitorCommands: true,
      autoIndex: false,
      autoCreate: false,
    })
    .asPromise();
  registerEventModels(connection);
  redis = await connectRedis({ url: config.REDIS_URL });
  parts = {
    store: createStore(connection),
    outbox: createOutbox({ connection, service: 'content', clock: systemClock, random: systemRandom }),
    sequences: createSequences(connection),
    idempotency: createIdempotency({
      connection,
      agreement: createKeyAgreement(redis, config.EVENTS_NAMESPACE, systemClock),
      clock: systemClock,
      uuid: () => systemRandom.uuid(),
    }),
    clock: systemClock,
    log: createLog({ service: 'test', level: 'silent' }),
    users: {
      show: async (ids) => new Map(ids.map((id) => [id, wholeUser(id)])),
      hidden: async () => NOBODY_HIDDEN,
    },
    gyms: {
      find: async (ids) =>
        new Map(
          ids.map((id) => [id, { state: { ownerUserId: 7, isActive: true, gone: false }, version: 1 }]),
        ),
    },
    wallet: { commissionPercent: async () => 10, book: async () => 'booked' },
    decorations: {
      media: async () => new Map(),
      boosts: { shown: async () => new Map(), known: async () => new Map() },
    },
  };
  useCases = createUseCases(parts);
  await syncIndexes(connection);
  await createIdempotencyIndexes(connection);
  await parts.store.counters.prepare();
  for (let index = 0; index < 30; index += 1) {
    await post(index);
    await useCases.createTrainingService(seller, service(index));
  }
  watch = watchCommands(config.MONGODB_DATABASE);
});
afterAll(async () => {
  redis.disconnect();
  await connection.close();
  await dropDatabase(config);
});

const post = (index: number) =>
  useCases.createPost(
    seller,
    { kind: index % 2 === 0 ? 'gym' : 'user', id: 7 },
    { title: `Post ${index}`, content: 'Text', isDraft: index % 5 === 0, inBlog: index % 3 === 0 },
  );

const service = (index: number) => ({
  title: `Service ${index}`,
  description: 'Text',
  price: 10 + index,
  durationDays: 1,
  isActive: index % 4 !== 0,
});

/** The commands of `work` that scan a collection, or name their index: that is a walk of it on a stand-in of MongoDB. */
const scans = async (work: () => Promise<unknown>): Promise<string[]> => {
  const commands = await watch.during(work);
  expect(commands.length).toBeGreaterThan(0);
  const named = commands.filter(namesIndex).map(({ name, collection }) => `${name} ${collection}: a hint`);
  return [...named, ...(await watch.scans(commands))];
};

const PAGE = { mode: 'page', page: 1, perPage: 5, skip: 0 } as const;
const CURSOR = { mode: 'cursor', perPage: 5, after: [20] } as const;
const RANKED_CURSOR = { mode: 'cursor', perPage: 5, after: [1, 20] } as const;
const viewers = { guest: GUEST, member: seller, operator };

const postQueries = {
  'no filter': {},
  'one type': { kinds: ['gym'] as const },
  'the blog': { inBlog: true },
  'one profile': { kinds: ['gym'] as const, itemIds: [7] },
  'several profiles': { itemIds: [7, 8, 9] },
  'unknown profiles': { kinds: ['gym'] as const, itemIds: [70, 71] },
  'a search': { search: 'post 1' },
  'a short search': { search: 'p' },
  'a search on a profile': { itemIds: [7], search: 'post' },
};

describe('no query of a route scans a collection', () => {
  const listed = Object.entries(postQueries).flatMap(([name, query]) =>
    Object.entries(viewers).map(([who, viewer]) => ({ name, query, who, viewer })),
  );
  test.each(listed)('GET /posts, $name, $who', async ({ query, viewer }) => {
    for (const request of [PAGE, CURSOR])
      for (const order of ['ASC', 'DESC'] as const)
        expect(await scans(() => useCases.listPosts(viewer, { ...query, order }, request))).toEqual([]);
  });

  test.each(Object.entries(viewers))('GET /training-services as %s', async (_who, viewer) => {
    const filters = [{}, { userId: 7 }, { minPrice: 12, maxPrice: 20 }, { search: 'serv' }, { search: 's' }];
    for (const filter of filters)
      for (const request of [PAGE, RANKED_CURSOR])
        expect(await scans(() => useCases.listTrainingServices(viewer, filter, request))).toEqual([]);
  });

  test('nor does it in a large collection, where windows are read', async () => {
    const counters = connection.collection<{ _id: string }>('counters');
    const counts = { gym_public_regular: 1_000, user_public_regular: 1_000, gym_public_blog: 20_000 };
    await counters.updateOne({ _id: 'posts/0' }, { $set: { counts, newest: 30_000 } });
    await counters.updateOne({ _id: 'training_services' }, { $set: { newest: 30_000 } });
    for (const query of [{}, { kinds: ['gym'] as const }, { search: 'p' }, { search: 'post 1' }])
      for (const order of ['ASC', 'DESC'] as const)
        expect(await scans(() => useCases.listPosts(seller, { ...query, order }, CURSOR))).toEqual([]);
    for (const filter of [{}, { search: 's' }])
      expect(await scans(() => useCases.listTrainingServices(GUEST, filter, PAGE))).toEqual([]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['GET /posts/:id', () => useCases.getPost(GUEST, 2)],
    ['POST /posts', () => post(41)],
    ['PUT /posts/:id', () => useCases.updatePost(seller, 3, { title: 'New', isDraft: true })],
    ['DELETE /posts/:id', () => useCases.deletePost(seller, 4)],
    ['GET /training-services/:id', () => useCases.getTrainingService(GUEST, 2)],
    ['POST /training-services', () => useCases.createTrainingService(seller, service(1))],
    ['PUT /training-services/:id', () => useCases.updateTrainingService(seller, 2, { price: 3 })],
    [
      'POST /training-services/:id/purchase',
      async () => {
        const purchase = { trainingServiceId: 2, price: undefined };
        await useCases.buyTrainingService(buyer, { ...purchase, idempotencyKey: undefined });
        await useCases.buyTrainingService(buyer, { ...purchase, idempotencyKey: 'k' });
      },
    ],
    [
      'GET /trainees',
      async () => {
        await useCases.listTrainees(seller, { userId: 7 }, PAGE);
        await useCases.listTrainees(seller, { userId: 7, trainingServiceId: 2, isDelivered: false }, CURSOR);
      },
    ],
    ['POST /trainees/:id/deliver', () => useCases.deliverTrainee(seller, 1)],
    ['DELETE /training-services/:id', () => useCases.deleteTrainingService(seller, 3)],
    ['the blocker active_trainees', () => useCases.activeTrainees(7)],
    ['Content.GetPosts', () => useCases.lookUpPosts([1, 2])],
    ['Content.GetTrainingServices', () => useCases.lookUpTrainingServices([1, 2])],
    ['the job that finishes purchases', () => useCases.finishPurchases()],
    [
      'store_billing.boost.granted',
      () =>
        parts.store.transaction((session) => {
          const endsAt = new Date(systemClock.now().getTime() + DAY_MS);
          return useCases.keepBoost(session, { id: 1, trainingServiceId: 5, endsAt }, 1);
        }),
    ],
    [
      'gyms.gym.changed',
      () =>
        parts.store.transaction((session) =>
          useCases.keepProfile(session, {
            ref: { kind: 'gym', id: 7 },
            state: { ownerUserId: 8, isActive: false, gone: false },
            version: 5,
          }),
        ),
    ],
    [
      'gyms.gym.deleted, and the job after it',
      async () => {
        await parts.store.transaction((session) =>
          useCases.keepProfile(session, { ref: { kind: 'gym', id: 7 }, state: GONE, version: 6 }),
        );
        await useCases.removeGonePosts();
      },
    ],
    [
      'identity.account.deleted',
      () => parts.store.transaction((session) => useCases.eraseAccount(session, 7, 3)),
    ],
  ])('%s', async (_name, work) => {
    expect(await scans(work)).toEqual([]);
  });

  test('the explanation does find a scan', async () => {
    const found = await scans(() => connection.collection('posts').find({ content: 'x' }).toArray());
    expect(found).toEqual([expect.stringContaining('COLLSCAN')]);
  });
});
