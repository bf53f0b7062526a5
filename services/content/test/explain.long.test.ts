import { wholeUser } from '@fitness/contracts/testing/users.ts';
import { createAuditLog } from '@fitness/shared/audit/log.ts';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, systemClock, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createKeyedQueue } from '@fitness/shared/kernel/keyed-queue.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { documentGrams } from '@fitness/shared/kernel/text-search.ts';
import { registerEventModels } from '@fitness/shared/messaging/models.ts';
import { createOutbox } from '@fitness/shared/messaging/outbox.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { createIdempotency } from '@fitness/shared/mongo/idempotency.ts';
import { createIdempotencyIndexes } from '@fitness/shared/mongo/idempotency-claims.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { createCrossServiceCheck } from '@fitness/shared/runtime/cross-service-idempotency.ts';
import { connectRedis, type Redis } from '@fitness/shared/runtime/redis.ts';
import { type CommandWatch, watchCommands } from '@fitness/shared/testing/commands.ts';
import { FILLED, fillLike } from '@fitness/shared/testing/fill.ts';
import { caller, dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { exceptOnPrebuilt } from '@fitness/shared/testing/query-plans.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mongoose, { type Connection } from 'mongoose';
import type { Dependencies } from '../src/dependencies.ts';
import { pickPostFields } from '../src/domain/post.ts';
import { facetsOf } from '../src/domain/post-lists.ts';
import { GONE_PROFILE, type ProfileRef, profileKey, userProfile } from '../src/domain/profile.ts';
import { pickTrainingServiceFields, serviceFacets } from '../src/domain/training-service.ts';
import { createStore } from '../src/store/store.ts';
import { createUseCases, type UseCases } from '../src/use-cases.ts';
import { SHARDS } from './shards.ts';

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
let dependencies: Dependencies;
let useCases: UseCases;
let watch: CommandWatch;

const NOBODY_HIDDEN = new Map<number, 'gone'>();

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
  dependencies = {
    // Without the cache, which reads the ids of whole lists once per process.
    store: createStore(connection, systemClock, 0),
    outbox: createOutbox({ connection, service: 'content', clock: systemClock, random: systemRandom }),
    audit: createAuditLog({
      connection,
      service: 'content',
      clock: systemClock,
      random: systemRandom,
      log: createLog({ service: 'test', level: 'silent' }),
    }),
    sequences: createSequences(connection),
    idempotency: createIdempotency({
      connection,
      crossServiceCheck: createCrossServiceCheck(redis, config.EVENTS_NAMESPACE, systemClock),
      clock: systemClock,
      uuid: () => systemRandom.uuid(),
    }),
    clock: systemClock,
    log: createLog({ service: 'test', level: 'silent' }),
    users: {
      find: async (ids) => new Map(ids.map((id) => [id, wholeUser(id)])),
      hidden: async () => NOBODY_HIDDEN,
      sellers: async (ids) => new Map(ids.map((id) => [id, wholeUser(id)])),
    },
    gyms: {
      find: async (ids) =>
        new Map(
          ids.map((id) => [id, { state: { ownerUserId: 7, isActive: true, gone: false }, version: 1 }]),
        ),
    },
    wallet: { commissionPercent: async () => 10, book: async () => 'booked' },
    mediaCopies: { find: async () => [] },
    baseUrl: 'http://api.test',
    boosts: { find: async () => new Map(), show: async () => new Map() },
    profileQueue: createKeyedQueue(),
  };
  useCases = createUseCases(dependencies);
  await ensureIndexes(connection);
  await createIdempotencyIndexes(connection);
  await dependencies.store.counters.prepare();
  for (let index = 0; index < OWN; index += 1) {
    await post(index);
    await useCases.createTrainingService(seller, service(index));
  }
  await fill();
  watch = watchCommands(config.MONGODB_DATABASE, { small: SMALL, exceptions: EXCEPTIONS, shards: SHARDS });
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
    pickPostFields({
      title: `Post ${index}`,
      content: 'Text',
      is_draft: index % 5 === 0,
      in_blog: index % 3 === 0,
    }),
  );

const service = (index: number) =>
  pickTrainingServiceFields({
    title: `Service ${index}`,
    description: 'Text',
    price: 10 + index,
    duration_days: 1,
    is_active: index % 4 !== 0,
  });

const buy = (idempotencyKey: string | undefined) =>
  dependencies.idempotency.run(
    { userId: buyer.userId, key: idempotencyKey, fingerprint: 'purchase' },
    (data) => ({ status: 201, body: { data } }),
    (complete) =>
      useCases.buyTrainingService(
        buyer,
        { trainingServiceId: 2, price: undefined, idempotencyKey },
        complete,
      ),
  );

/** The number of posts and of training services of the queries’ users. The filled rows belong to others. */
const OWN = 30;
const stranger = (n: number): number => 1_000 + Math.floor(n / 4);

const fill = async (): Promise<void> => {
  await buy('first');
  await dependencies.store.transaction((session) =>
    useCases.updateBoost(session, { id: 1_000_000, trainingServiceId: 1, level: 1, endsAt: new Date(0) }, 1),
  );
  await fillLists();
  const delivered = (n: number) => ({
    ...{ _id: OWN + n, training_service_id: OWN + n, status: 'delivered' },
    ...{ seller_user_id: stranger(n), user_id: stranger(n + 4) },
  });
  await fillLike(connection, 'trainees', delivered);
  const owner = (n: number) => ({
    _id: `user:${10_000 + n}`,
    profile_id: 10_000 + n,
    owner_user_id: 10_000 + n,
  });
  await fillLike(connection, 'profiles', owner, { kind: 'user' });
  await fillLike(connection, 'boosts', (n) => ({ _id: 1_000_000 + n, training_service_id: 1_000_000 + n }));
  const later = new Date('2100-01-01');
  await fillLike(connection, 'purchase_keys', (n) => ({
    _id: `key-${n}`,
    trainee_id: OWN + n,
    expires_at: later,
  }));
};

const fillLists = async (): Promise<void> => {
  // Few grams, because every gram is an index entry, and index entries make filling slow.
  const words = { title: 'Run', content: 'Run' };
  const grams = documentGrams([words.title, words.content]);
  const flags = { is_draft: false, in_blog: false };
  await fillLike(connection, 'posts', (n) => {
    const { ref, state }: { ref: ProfileRef; state: Parameters<typeof facetsOf>[2] } = userProfile(
      stranger(n),
    );
    const profile = { profile_key: profileKey(ref), profile_kind: ref.kind, profile_id: ref.id };
    const shown = { is_draft: false, in_blog: false, is_public: true, owner_user_id: ref.id };
    return { _id: OWN + n, ...profile, ...shown, ...words, facets: facetsOf(flags, ref, state) };
  });
  await fillLike(connection, 'posts_texts', (n) => ({ row: OWN + n, grams }));
  await fillLike(connection, 'training_services', (n) => {
    const sold = { _id: OWN + n, user_id: stranger(n), price: 1_000 + n, is_active: true };
    const facets = serviceFacets(sold);
    // Every thousandth is boosted.
    const boosted_until = new Date(n % 1_000 === 0 ? '2100-01-01' : 0);
    const boost = { boosted_until, boost_level: 1 + ((n / 1_000) % 2) };
    return { ...sold, title: words.title, description: words.content, facets, ...boost };
  });
  await fillLike(connection, 'training_services_texts', (n) => ({ row: OWN + n, grams }));
  const newest = OWN + FILLED;
  const counters = connection.collection<{ _id: string }>('counters');
  const counted = (field: string) => ({ $inc: { [`counts.${field}`]: FILLED }, $set: { newest } });
  await counters.updateOne({ _id: 'posts/0' }, counted('user_public_regular'));
  await counters.updateOne({ _id: 'training_services' }, counted('active'));
  await connection.collection('sequences').updateMany({}, { $set: { value: newest } });
};

const SMALL = { counters: 'thirty-two documents' };

const EXCEPTIONS = [
  ...exceptOnPrebuilt('it sorts what any condition finds; a window of few rows', [
    'SORT: find posts {"facets":"?","_id":{"$gte":"?","$lt":"?"}}',
    'SORT: find training_services {"facets":"?","_id":{"$gte":"?","$lt":"?"}}',
    'SORT: find posts {"profile_key":"?","_id":{"$gt":"?"}}',
  ]),
  ...exceptOnPrebuilt(
    'it scans for a condition behind two values of an index; the rows of one buyer or seller are few',
    [
      'COLLSCAN: find trainees {"user_id":"?","status":',
      'COLLSCAN: find trainees {"seller_user_id":"?","status":',
    ],
  ),
  ...exceptOnPrebuilt('it scans for every findAndModify; one claim per interrupted purchase', [
    'COLLSCAN: findAndModify trainees {"user_id":"?","status":"?","training_service_id":"?"',
  ]),
  ...exceptOnPrebuilt('it sorts the result of an index even in the order of the index; these are few', [
    'SORT: aggregate trainees {"status":"?","lease_until":{"$lte":"?"}} sort {"lease_until":1}',
  ]),
];

/** The faults of the query plans of `work`. */
const faults = async (work: () => Promise<unknown>): Promise<string[]> => {
  const commands = await watch.during(work);
  expect(commands.length).toBeGreaterThan(0);
  return watch.faults(commands);
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

describe('no query of a route scans a collection, or sorts in memory', () => {
  const listed = Object.entries(postQueries).flatMap(([name, query]) =>
    Object.entries(viewers).map(([who, viewer]) => ({ name, query, who, viewer })),
  );
  test.each(listed)(
    'GET /posts as $who with $name has no fault in its query plans',
    async ({ query, viewer }) => {
      for (const request of [PAGE, CURSOR])
        for (const order of ['ASC', 'DESC'] as const)
          expect(await faults(() => useCases.listPosts(viewer, { ...query, order }, request))).toEqual([]);
    },
  );

  test.each(Object.entries(viewers))(
    'GET /training-services as %s has no fault in its query plans',
    async (_who, viewer) => {
      const filters = [
        {},
        { userId: 7 },
        { minPrice: 12, maxPrice: 20 },
        { search: 'serv' },
        { search: 's' },
      ];
      for (const filter of filters)
        for (const request of [PAGE, RANKED_CURSOR])
          expect(await faults(() => useCases.listTrainingServices(viewer, filter, request))).toEqual([]);
    },
  );

  test('a list that reads windows of ids neither scans a collection nor sorts in memory', async () => {
    for (const query of [{}, { kinds: ['user'] as const }, { search: 'r' }, { search: 'run' }])
      for (const order of ['ASC', 'DESC'] as const)
        expect(await faults(() => useCases.listPosts(seller, { ...query, order }, CURSOR))).toEqual([]);
    for (const filter of [{}, { search: 'r' }])
      expect(await faults(() => useCases.listTrainingServices(GUEST, filter, PAGE))).toEqual([]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['GET /posts/:id', () => useCases.getPost(GUEST, 2)],
    ['POST /posts', () => post(41)],
    ['PUT /posts/:id', () => useCases.updatePost(seller, 3, { title: 'New', is_draft: true })],
    ['DELETE /posts/:id', () => useCases.deletePost(seller, 4)],
    ['GET /training-services/:id', () => useCases.getTrainingService(GUEST, 2)],
    ['POST /training-services', () => useCases.createTrainingService(seller, service(1))],
    ['PUT /training-services/:id', () => useCases.updateTrainingService(seller, 2, { price: 3 })],
    [
      'POST /training-services/:id/purchase',
      async () => {
        await buy(undefined);
        await buy('k');
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
    ['the blocker active_trainees', () => useCases.blockers.active_trainees(7)],
    ['Content.GetPosts', () => useCases.lookUpPosts([1, 2])],
    ['Content.GetTrainingServices', () => useCases.lookUpTrainingServices([1, 2])],
    ['the job that finishes purchases', () => useCases.finishPurchases()],
    [
      'store_billing.boost.granted',
      () =>
        dependencies.store.transaction((session) => {
          const endsAt = new Date(systemClock.now().getTime() + DAY_MS);
          return useCases.updateBoost(session, { id: 1, trainingServiceId: 5, level: 2, endsAt }, 1);
        }),
    ],
    [
      'store_billing.boost.ended',
      () =>
        dependencies.store.transaction((session) =>
          useCases.endBoost(session, { id: 1, trainingServiceId: 5, level: 2, endsAt: systemClock.now() }, 2),
        ),
    ],
    [
      'gyms.gym.changed',
      () =>
        dependencies.store.transaction((session) =>
          useCases.updateProfile(session, {
            ref: { kind: 'gym', id: 7 },
            state: { ownerUserId: 8, isActive: false, gone: false },
            version: 5,
          }),
        ),
    ],
    [
      'gyms.gym.deleted, and the job after it',
      async () => {
        await dependencies.store.transaction((session) =>
          useCases.updateProfile(session, { ref: { kind: 'gym', id: 7 }, state: GONE_PROFILE, version: 6 }),
        );
        await useCases.removeGonePosts();
      },
    ],
    [
      'identity.account.deleted',
      () => dependencies.store.transaction((session) => useCases.eraseAccount(session, 7, 3)),
    ],
  ])('%s has no fault in its query plans', async (_name, work) => {
    expect(await faults(work)).toEqual([]);
  });

  test('an account erasure takes fewer commands than the account has training services', async () => {
    for (let index = 0; index < OWN; index += 1)
      await useCases.createTrainingService(caller(9), service(index));
    const sent = await watch.during(async () => {
      const step = (session: ClientSession) => useCases.eraseAccount(session, 9, 3);
      while ((await dependencies.store.transaction(step)) === 'more');
    });
    expect(sent.length).toBeLessThan(OWN);
    expect(await connection.collection('training_services').countDocuments({ user_id: 9 })).toBe(0);
  });

  test('a collection scan and a command without the shard key are reported', async () => {
    const reported = await faults(() => connection.collection('posts').find({ content: 'x' }).toArray());
    expect(reported).toEqual([
      'every shard is asked: posts find: content',
      expect.stringContaining('COLLSCAN'),
    ]);
  });
});

test('each listed scatter query is sent by one of these commands', () => {
  expect(watch.unusedScatters()).toEqual([]);
});
