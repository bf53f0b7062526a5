/** Benchmark data, written with the services' stores or copied from rows that the product has written. */
import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { documentGrams } from '@fitness/shared/kernel/text-search.ts';
import { toTextDocuments } from '@fitness/shared/lists/texts.ts';
import { versionUpdate } from '@fitness/shared/lists/versions.ts';
import { NEVER_BOOSTED } from '../services/content/src/domain/boost.ts';
import { pickTrainingServiceFields } from '../services/content/src/domain/training-service.ts';
import { createStore as createContentStore } from '../services/content/src/store/store.ts';
import { newGym } from '../services/gyms/src/domain/gym.ts';
import {
  textsOf as textsOfGym,
  toDocument as toGymDocument,
} from '../services/gyms/src/store/gym-document.ts';
import { type Account, api, expectStatus, register } from '../test/e2e/support.ts';
import { measure } from './figures.ts';
import { seedPayments, seedUsers } from './seed-accounts.ts';
import { FILES_OF_A_POST, openPostSeeder } from './seed-posts.ts';
import { batches, type Database, databaseOf, insertAll, type OnWritten, openDatabase } from './seed-rows.ts';

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

const newestIn = async (connection: Database, collection: string): Promise<number> => {
  const rows = connection.collection<{ _id: number }>(collection);
  const [last] = await rows
    .find({}, { projection: { _id: 1 } })
    .sort({ _id: -1 })
    .limit(1)
    .toArray();
  return last?._id ?? 0;
};

const raiseSequence = async (connection: Database, name: string, value: number): Promise<void> => {
  const sequences = connection.collection<{ _id: string; value: number }>('sequences');
  await sequences.updateOne({ _id: name }, { $max: { value } }, { upsert: true });
};

const gymOf = (id: number, now: Date) => {
  const place = { lat: 35 + (id % 100) / 100, lng: 51 + ((id * 7) % 100) / 100 };
  const text = { name: `Gym ${id}`, address: `Street ${id}`, description: 'Strength and cardio' };
  return newGym(id, { ...text, ...place, isActive: true }, now);
};

const seedGyms = async (count: number, onWritten: OnWritten): Promise<void> => {
  const connection = await openDatabase(databaseOf('gyms'));
  const newest = await newestIn(connection, 'gyms');
  const now = systemClock.now();
  for (const ids of batches(newest + 1, count + 1)) {
    const gyms = ids.map((id) => gymOf(id, now));
    await insertAll(connection, 'gyms', gyms.map(toGymDocument));
    await insertAll(
      connection,
      'gyms_texts',
      gyms.flatMap((gym) => toTextDocuments(gym.id, documentGrams(textsOfGym(gym)))),
    );
    const counted = {
      ...versionUpdate(undefined, { active_placed: ids.length }),
      $max: { newest: ids.at(-1) },
    };
    await connection.collection<{ _id: number }>('gym_counters').updateOne({ _id: 0 }, counted);
    onWritten(ids.length);
  }
  await raiseSequence(connection, 'gym', count);
  await connection.close();
};

/** The store writes the first service of each seller, and the others are copies. The newest one belongs to the first seller. */
const seedTrainingServices = async (
  count: number,
  userIds: readonly number[],
  onWritten: OnWritten,
): Promise<void> => {
  const connection = await openDatabase(databaseOf('content'));
  const store = createContentStore(connection, systemClock);
  const rows = connection.collection<{ _id: number }>('training_services');
  const now = systemClock.now();
  const newest = await newestIn(connection, 'training_services');
  const present = await rows
    .find({ user_id: { $in: [...userIds] } })
    .sort({ _id: 1 })
    .limit(userIds.length)
    .toArray();
  for (let id = newest + 1; present.length < userIds.length; id += 1) {
    const user_id = userIds[present.length] ?? 0;
    const text = { title: `Plan ${id}`, description: 'Twelve weeks of strength and cardio' };
    const fields = pickTrainingServiceFields({ ...text, price: 1_000 + id, duration_days: 30 });
    const times = { created_at: now, updated_at: now, version: 1 };
    const copies = { boosted_until: NEVER_BOOSTED.endsAt, media: NO_MEDIA };
    const service = { id, user_id, ...fields, ...times, ...copies };
    await store.transaction(async (session) => {
      await store.trainingServices.insert(session, service);
      await store.counters.incrementServices(session, { active: 1 }, { shardKey: id, newest: id });
    });
    const written = await rows.findOne({ _id: id });
    if (written !== null) present.push(written);
  }
  for (const ids of batches((await newestIn(connection, 'training_services')) + 1, count + 1)) {
    await insertAll(
      connection,
      'training_services',
      ids.map((id) => ({ ...present[(count - id) % present.length], _id: id })),
    );
    const texts = await connection
      .collection<{ row: number; grams: string[] }>('training_services_texts')
      .find({ row: { $in: present.map(({ _id }) => _id) } })
      .toArray();
    const textOf = Map.groupBy(texts, ({ row }) => row);
    const copies = ids.flatMap((id) => {
      const original = textOf.get(present[(count - id) % present.length]?._id ?? 0) ?? [];
      return original.map(({ grams }) => ({ row: id, grams }));
    });
    await insertAll(connection, 'training_services_texts', copies);
    const counted = { shardKey: 0, newest: ids.at(-1) };
    await store.transaction((session) =>
      store.counters.incrementServices(session, { active: ids.length }, counted),
    );
    onWritten(ids.length);
  }
  await raiseSequence(connection, 'training_services', await newestIn(connection, 'training_services'));
  await connection.close();
};

const allPostsShowFiles = async (): Promise<boolean> => {
  const { data } = expectStatus(await api('GET', `/posts?per_page=${PER_PAGE}`), 200).body;
  return (
    data.length === PER_PAGE &&
    data.every(({ media }: { media: unknown[] }) => media.length === FILES_OF_A_POST)
  );
};

export interface Data {
  /** Authors of the posts and sellers of the training services. */
  userIds: readonly number[];
  /** A user who has written posts and sells training services. */
  reader: Account;
  /** A user who has written nothing and sells nothing, like most members. */
  buyer: Account;
  /** Adds missing rows and removes nothing. `onWritten` gets the number of rows in each batch. */
  grow(size: Size, onWritten?: OnWritten): Promise<void>;
}

export const prepareData = async (): Promise<Data> => {
  const authors: Account[] = [];
  await measure(AUTHORS, 4, async () => authors.push(await register()));
  const userIds = authors.map(({ id }) => id);
  const buyer = await register();
  const [reader] = authors;
  if (reader === undefined) throw new Error('there is no author');
  return {
    userIds,
    reader,
    buyer,
    grow: async (size, onWritten = () => undefined) => {
      const posts = await openPostSeeder(userIds);
      await posts.upTo(size.posts, onWritten);
      await posts.close();
      await seedGyms(size.gyms, onWritten);
      await seedTrainingServices(size.trainingServices, userIds, onWritten);
      await seedUsers(size.users, reader.id, onWritten);
      await seedPayments(size.payments, onWritten);
      if (!(await allPostsShowFiles())) throw new Error('the list of posts does not show their files');
    },
  };
};
