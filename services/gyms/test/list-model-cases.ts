import { createLog } from '@fitness/shared/kernel/log.ts';
import type { PageRequest } from '@fitness/shared/kernel/page.ts';
import { documentGrams } from '@fitness/shared/kernel/text-search.ts';
import { toTextDocuments } from '@fitness/shared/lists/texts.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newGym } from '../src/domain/gym.ts';
import { type GymDocument, gymModel, gymTextModel, textsOf, toDocument } from '../src/store/gym-document.ts';
import type { GymQuery, ListViewer } from '../src/store/gym-filter.ts';
import { createStore, type Store } from '../src/store/store.ts';
import { LIST_CACHES } from './support.ts';

/** More gyms than a list reads as a whole, for each major and in one city. */
const COUNT = 1_300;
const OWNER = 3;
const NOW = new Date('2026-01-15T10:00:00Z');

/** Most gyms have two of the majors that a query combines. */
const majorsOf = (id: number): number[] => [1 + (id % 2), 3 + (id % 3), ...(id % 5 === 0 ? [1, 2] : [])];

const gymOf = (id: number): GymDocument => {
  const details = {
    name: id % 4 === 0 ? `Yoga ${id}` : `Hall ${id}`,
    isActive: id % 7 !== 0,
    ownerId: 1 + (id % 9),
    // One city has few gyms, and the other has nearly all.
    cityId: id % 20 === 0 ? 1 : 2,
    majorIds: [...new Set(majorsOf(id))],
  };
  const boost =
    id % 100 === 0 ? { boostedUntil: new Date('2026-02-01'), boostLevel: 1 + (id % 200) / 100 } : {};
  return { ...toDocument(newGym(id, details, NOW)), ...boost };
};
const gyms = Array.from({ length: COUNT }, (_, index) => gymOf(index + 1));

const viewers: ListViewer[] = [{ kind: 'guest' }, { kind: 'user', userId: OWNER }, { kind: 'all' }];
const filters: Omit<GymQuery, 'viewer'>[] = [
  {},
  { cityId: 1 },
  { cityId: 2 },
  { cityId: 2, majorIds: [4, 1] },
  { majorIds: [3] },
  { majorIds: [1, 2] },
  // More majors than keys.
  { majorIds: [1, 2, 3, 4, 5, 6] },
  { ownerId: OWNER },
  { ownerId: OWNER, cityId: 2, majorIds: [1, 2] },
  { cityId: 9 },
  { majorIds: [9] },
];
const queries = filters.flatMap((filter) => [undefined, 'yoga 12'].map((search) => ({ ...filter, search })));

const isSeen = ({ viewer, cityId, majorIds, ownerId, search = '' }: GymQuery, gym: GymDocument): boolean =>
  (gym.isActive || viewer.kind === 'all' || (viewer.kind === 'user' && gym.ownerId === viewer.userId)) &&
  (cityId === undefined || gym.cityId === cityId) &&
  (ownerId === undefined || gym.ownerId === ownerId) &&
  (majorIds === undefined || gym.majorIds.some((id) => majorIds.includes(id))) &&
  (gym.name ?? '').toLowerCase().includes(search);

const expectedFor = (query: GymQuery): number[] =>
  gyms
    .filter((gym) => isSeen(query, gym))
    .toSorted((a, b) => b.boostLevel - a.boostLevel || b._id - a._id)
    .map(({ _id }) => _id);

/** Each viewer sends one of `every` queries, and each viewer others, to a store with a cache and to one without. */
export const testListModel = ({ every }: { every: number }): void => {
  const config = testConfig('gyms');
  let connection: Connection;

  beforeAll(async () => {
    connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
    const [rows, texts] = [gymModel(connection), gymTextModel(connection)];
    await ensureIndexes(connection);
    await rows.collection.insertMany(gyms as never[]);
    await texts.collection.insertMany(
      gyms.flatMap((gym) => toTextDocuments(gym._id, documentGrams(textsOf(gym)))),
    );
    const { counters } = createStore(connection, createLog({ service: 'test', level: 'silent' }));
    await counters.prepare();
    const active = gyms.filter((gym) => gym.isActive).length;
    const totals = { active_unplaced: active, hidden_unplaced: COUNT - active, newest: COUNT };
    await connection.collection<{ _id: number }>('gym_counters').updateOne({ _id: 0 }, { $set: totals });
  });
  afterAll(async () => {
    await connection.close();
    await dropDatabase(config);
  });

  describe.each(LIST_CACHES)('with a cache of lists of %i MiB', (listCacheMib) => {
    let store: Store;
    beforeAll(() => {
      store = createStore(connection, createLog({ service: 'test', level: 'silent' }), listCacheMib);
    });

    const read = async (query: GymQuery, page: PageRequest) => {
      const { rows, total, next } = await store.gyms.list(query, page, NOW);
      return { ids: rows.map(({ id }) => id), total, next };
    };

    const follow = async (query: GymQuery): Promise<number[]> => {
      const followed: number[] = [];
      // The first page of a cursor list is requested by number.
      let page: PageRequest = { mode: 'page', page: 1, perPage: 100, skip: 0 };
      for (;;) {
        const { ids, next } = await read(query, page);
        followed.push(...ids);
        if (next === undefined) return followed;
        page = { mode: 'cursor', perPage: 100, after: next };
      }
    };

    test.each(viewers)(
      'every filter shows each gym once to a $kind, in order, with the correct total',
      async (viewer) => {
        const offset = viewers.indexOf(viewer);
        for (const filter of queries.filter((_, index) => index % every === offset % every)) {
          const query = { ...filter, viewer };
          const expected = expectedFor(query);
          const { total } = await read(query, { mode: 'page', page: 1, perPage: 30, skip: 0 });
          expect([query, total]).toEqual([query, expected.length]);
          expect([query, await follow(query)]).toEqual([query, expected]);
          const { ids } = await read(query, { mode: 'page', page: 22, perPage: 30, skip: 630 });
          expect([query, ids]).toEqual([query, expected.slice(630, 660)]);
        }
      },
    );
  });
};
