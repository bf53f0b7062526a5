/** Benchmark data, written with the services' stores or copied from rows that the product has written. */
import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { NEVER_BOOSTED } from '../services/content/src/domain/boost.ts';
import { pickTrainingServiceFields } from '../services/content/src/domain/training-service.ts';
import { createStore as createContentStore } from '../services/content/src/store/store.ts';
import { newGym } from '../services/gyms/src/domain/gym.ts';
import { createStore as createGymsStore } from '../services/gyms/src/store/store.ts';
import { type Account, api, expectStatus, register } from '../test/e2e/support.ts';
import { measure } from './measure.ts';
import { log, openDatabase } from './product.ts';
import { seedPayments, seedUsers } from './seed-accounts.ts';
import { FILES_OF_A_POST, seedPosts } from './seed-posts.ts';
import { batches, newestIn, raiseSequence } from './seed-rows.ts';

/** Number of rows of each kind. */
export interface Size {
  posts: number;
  gyms: number;
  trainingServices: number;
  users: number;
  payments: number;
}

export const REQUESTS_SIZE: Size = {
  posts: 10_000,
  gyms: 500,
  trainingServices: 500,
  users: 1_000,
  payments: 1_000,
};

export const PER_PAGE = 30;

const AUTHORS = 40;
/** Rows of one transaction, which has hundreds of index entries for the texts of each. */
const AT_ONCE = 50;
const now = systemClock.now();

const gymOf = (id: number) => {
  const place = { lat: 35 + (id % 100) / 100, lng: 51 + ((id * 7) % 100) / 100 };
  const text = { name: `Gym ${id}`, address: `Street ${id}`, description: 'Strength and cardio' };
  return newGym(id, { ...text, ...place, isActive: true }, now);
};

const seedGyms = async (count: number): Promise<void> => {
  const connection = await openDatabase('gyms');
  const store = createGymsStore(connection, log);
  for (const ids of batches((await newestIn(connection, 'gyms')) + 1, count + 1, AT_ONCE))
    await store.transaction(async (session) => {
      for (const id of ids) await store.gyms.insert(session, gymOf(id));
    });
  await raiseSequence(connection, 'gym', count);
  await connection.close();
};

const serviceOf = (id: number, user_id: number) => ({
  id,
  user_id,
  ...pickTrainingServiceFields({
    title: `Plan ${id}`,
    description: 'Twelve weeks of strength and cardio',
    price: 1_000 + id,
    duration_days: 30,
  }),
  created_at: now,
  updated_at: now,
  version: 1,
  boost: null,
  boosted_until: NEVER_BOOSTED.endsAt,
  media: NO_MEDIA,
});

/** The newest one belongs to the first seller. */
const seedTrainingServices = async (count: number, userIds: readonly number[]): Promise<void> => {
  const connection = await openDatabase('content');
  const store = createContentStore(connection, systemClock);
  const newest = await newestIn(connection, 'training_services');
  for (const ids of batches(newest + 1, count + 1, AT_ONCE))
    await store.transaction(async (session) => {
      for (const id of ids) {
        const seller = userIds[(count - id) % userIds.length] ?? 0;
        await store.trainingServices.insert(session, serviceOf(id, seller));
      }
      const counted = { shardKey: 0, newest: ids.at(-1) };
      await store.counters.incrementServices(session, { active: ids.length }, counted);
    });
  await raiseSequence(connection, 'training_services', Math.max(newest, count));
  await connection.close();
};

const assertPostsShowFiles = async (): Promise<void> => {
  const { data } = expectStatus(await api('GET', `/posts?per_page=${PER_PAGE}`), 200).body;
  const shown = data.flatMap(({ media }: { media: unknown[] }) => media).length;
  if (shown !== PER_PAGE * FILES_OF_A_POST) throw new Error('the list of posts does not show their files');
};

export const prepareData = async () => {
  const authors: Account[] = [];
  await measure(AUTHORS, 4, async () => authors.push(await register()));
  const userIds = authors.map(({ id }) => id);
  const buyer = await register();
  const [reader] = authors;
  if (reader === undefined) throw new Error('there is no author');
  return {
    /** Authors of the posts and sellers of the training services. */
    userIds,
    /** A user who has written posts and sells training services. */
    reader,
    /** A user who has written nothing and sells nothing, like most members. */
    buyer,
    /** Adds missing rows and removes nothing. */
    grow: async (size: Size): Promise<void> => {
      const startedAt = performance.now();
      await seedPosts(size.posts, userIds);
      await seedGyms(size.gyms);
      await seedTrainingServices(size.trainingServices, userIds);
      await seedUsers(size.users, reader.id);
      await seedPayments(size.payments, reader.id);
      await assertPostsShowFiles();
      const seconds = (performance.now() - startedAt) / 1_000;
      console.log(`data: ${JSON.stringify(size)}, written in ${seconds.toFixed(0)} s`);
    },
  };
};

export type Data = Awaited<ReturnType<typeof prepareData>>;
