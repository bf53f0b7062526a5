import { createLog } from '@fitness/shared/kernel/log.ts';
import { queryGrams } from '@fitness/shared/kernel/text-search.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { distanceM, type Point } from '../src/domain/geohash.ts';
import { newGym } from '../src/domain/gym.ts';
import { gymModel, gymTextModel, toDocument } from '../src/store/gym-document.ts';
import { createStore, type Store } from '../src/store/store.ts';

const config = testConfig('gyms');
let connection: Connection;
let store: Store;
const places = new Map<number, Point>();

/** Creates the same numbers in every run, so a failure can be reproduced. */
const createNumbers = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};
const random = createNumbers(20_260_115);
const around = (center: Point, spread: number): Point => ({
  lat: Math.max(-90, Math.min(90, center.lat + (random() - 0.5) * spread)),
  lng: Math.max(-180, Math.min(180, center.lng + (random() - 0.5) * spread)),
});
const TEHRAN = { lat: 35.7, lng: 51.4 };

beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  const model = gymModel(connection);
  await ensureIndexes(connection);
  const details = { name: null, address: null, description: null, isActive: true, showCrowd: false };
  const documents = Array.from({ length: 600 }, (_, index) => {
    const id = index + 1;
    // Spread over one district, the city, the country or the world.
    const place = around(TEHRAN, [0.01, 0.3, 12, 360][index % 4] ?? 1);
    places.set(id, place);
    return toDocument(
      newGym(id, { ...details, ...place, cityId: null, majorIds: [], ownerId: null }, new Date(0)),
    );
  });
  await model.insertMany(documents);
  store = createStore(connection, createLog({ service: 'test', level: 'silent' }));
  await store.counters.prepare();
  await connection
    .collection<{ _id: number }>('gym_counters')
    .updateOne({ _id: 0 }, { $set: { active_placed: documents.length, newest: documents.length + 1 } });
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

/** Degrees around Tehran within which the search starts. */
const SPREADS = [0.02, 0.5, 15, 360];

test.each(SPREADS)('every page has the nearest gyms in order within %d degrees', async (spread) => {
  for (let round = 0; round < 4; round += 1) {
    const from = around(TEHRAN, spread);
    const perPage = 1 + (round % 7) * 3;
    const skip = perPage * (round % 3);
    const { rows } = await store.gyms.listNearest({ viewer: { kind: 'guest' } }, from, {
      mode: 'page',
      page: 1 + (round % 3),
      perPage,
      skip,
    });
    const expected = [...places]
      .toSorted(([a, one], [b, other]) => distanceM(from, one) - distanceM(from, other) || b - a)
      .slice(skip, skip + perPage)
      .map(([id]) => id);
    expect(rows.map((gym) => gym.id)).toEqual(expected);
  }
});

test.each([undefined, 'closing'])(
  'a gym that closes after it was located is not shown (search: %s)',
  async (search) => {
    const id = 601;
    const at = { lat: -44, lng: 170 };
    const { collection } = gymModel(connection);
    const details = { name: 'closing', address: null, description: null, isActive: true, showCrowd: false };
    const gym = newGym(id, { ...details, ...at, cityId: null, majorIds: [], ownerId: null }, new Date(0));
    await collection.insertOne(toDocument(gym) as never);
    await gymTextModel(connection).collection.insertOne({ row: id, grams: queryGrams('closing') });
    const fresh = createStore(connection, createLog({ service: 'test', level: 'silent' }), 0);
    const query = { viewer: { kind: 'guest' as const }, search };
    const page = { mode: 'cursor' as const, perPage: 1, after: [-1, 0] };
    expect((await fresh.gyms.listNearest(query, at, page)).rows).toMatchObject([{ id }]);

    const find = collection.find.bind(collection);
    jest.spyOn(collection, 'find').mockImplementationOnce((...args: Parameters<typeof find>) => {
      const cursor = find(...args);
      const toArray = cursor.toArray.bind(cursor);
      cursor.toArray = async () => {
        const closed = toDocument({ ...gym, isActive: false, name: 'closing down' });
        await collection.replaceOne({ _id: id } as never, closed as never);
        return toArray();
      };
      return cursor;
    });
    const { rows } = await fresh.gyms.listNearest(query, at, page);
    expect(rows.map((row) => row.id)).not.toContain(id);
    await collection.deleteOne({ _id: id } as never);
    await gymTextModel(connection).collection.deleteMany({ row: id });
  },
);
