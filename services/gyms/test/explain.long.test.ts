import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { mediaDeleted } from '@fitness/proto/events/media.ts';
import { boostGranted } from '@fitness/proto/events/store-billing.ts';
import { indexGrams, queryGrams } from '@fitness/shared/kernel/text-search.ts';
import { type CommandWatch, watchCommands } from '@fitness/shared/testing/commands.ts';
import { FILLED, fillLike } from '@fitness/shared/testing/fill.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { exceptOnPrebuilt } from '@fitness/shared/testing/query-plans.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { encodeGeohash } from '../src/domain/geohash.ts';
import { EVERYONE } from '../src/store/gym-document.ts';
import { SHARDS } from './shards.ts';
import { type Harness, member, openHarness, operator } from './support.ts';

const OWNER = operator(7);
/** Owners do not rate their own gym. */
const RATER = member(8);

const EXCEPTIONS = [
  ...exceptOnPrebuilt('it scans for every findAndModify, even by `_id`', [
    'COLLSCAN: findAndModify gym_owners {"_id":"?"}',
    'COLLSCAN: findAndModify gym_ratings {"gymId":"?","userId":"?"}',
    'COLLSCAN: findAndModify gyms {"_id":"?"}',
  ]),
  ...exceptOnPrebuilt('it sorts the result of any condition; a window of few rows', [
    'SORT: find gyms {"cityId":"?","_id":{"$gte":"?","$lt":"?"}}',
    'SORT: find gyms {"isActive":"?","_id":{"$gte":"?","$lt":"?"}}',
    'SORT: find gyms {"majorIds":"?","_id":{"$gte":"?","$lt":"?"}}',
    'SORT: find gyms {"visibleTo":"?","_id":{"$gte":"?","$lt":"?"}}',
  ]),
];

const SMALL = {
  gym_counters: 'sixteen documents',
  states: 'the states of one country',
  cities: 'the cities of one country',
  majors: 'a short list',
};

let harness: Harness;
let watch: CommandWatch;
/** The gym that the requests change. */
let id: number;

const SEARCHES = ['number 1', 'z', 'num\u200cber', 'zor'] as const;
const SEARCHED = new Set(SEARCHES.flatMap(queryGrams));

const bodyOf = (index: number) => ({
  name: `Zor number ${index}`,
  location_lat: 30 + index / 100,
  location_lng: 50,
  is_active: index % 2 === 0,
  city_id: 1 + (index % 5),
  major_ids: String(1 + (index % 4)),
});

/** Every hundredth gym matches the searches. */
const nameOf = (n: number): string => (n % 100 === 0 ? `Zor number ${n}` : `Hall ${n}`);

/** Ids continue after the gyms created through the service. */
const gymChange = (offset: number) => (n: number) => {
  const [lat, lng] = [30 + (n % 200) / 100, 50 + Math.floor(n / 200) / 100];
  const isActive = n % 11 !== 0;
  const ownerId = 100 + (n % 5_000);
  return {
    _id: offset + n,
    name: nameOf(n),
    lat,
    lng,
    geohash: encodeGeohash({ lat, lng }),
    isActive,
    ownerId,
    visibleTo: isActive ? EVERYONE : ownerId,
    cityId: 1 + (n % 50),
    majorIds: [1 + (n % 40)],
    boostedUntil: new Date(n % 1_000 === 0 ? '2100-01-01' : 0),
    boostLevel: 1 + ((n / 1_000) % 2),
  };
};

/** Contains only the grams of the searches: an index of all grams of all gyms takes minutes to fill. */
const textChange = (offset: number) => (n: number) => ({
  row: offset + n,
  grams: [...new Set(indexGrams(nameOf(n)))].filter((gram) => SEARCHED.has(gram)),
});

beforeAll(async () => {
  // Runs without the cache, which reads the ids of whole lists once per process.
  harness = await openHarness({ watched: true, listCacheMib: 0 });
  watch = watchCommands(harness.config.MONGODB_DATABASE, {
    exceptions: EXCEPTIONS,
    shards: SHARDS,
    small: SMALL,
  });
  for (let index = 0; index < 30; index += 1) await harness.createGym(OWNER, bodyOf(index));
  id = await harness.createGym(OWNER);
  await harness.send('PUT', `/gyms/${id}/rating`, { as: RATER, body: { score: 3 } });
  await fillLike(harness.connection, 'gyms', gymChange(id));
  await fillLike(harness.connection, 'gyms_texts', textChange(id));
  await harness.connection
    .collection('sequences')
    .updateOne({ _id: 'gym' as never }, { $inc: { value: FILLED } });
  await harness.connection
    .collection('gym_counters')
    .updateOne({ _id: 0 as never }, { $inc: { active_placed: FILLED, newest: FILLED } });
  await fillLike(harness.connection, 'gym_ratings', (n) => ({ gymId: id + n, userId: 100 + (n % 5_000) }));
  await fillLike(harness.connection, 'gym_owners', (n) => ({ _id: 1_000 + n }));
});
afterAll(() => harness.close());

/** The relay and the inbox have separate tests. */
const OWN = ['gyms', 'gyms_texts', 'gym_counters', 'gym_ratings', 'gym_owners', 'states', 'cities', 'majors'];
const expectServed = async (work: () => Promise<unknown>): Promise<void> => {
  const sent = (await watch.during(work)).filter(({ collection }) => OWN.includes(collection));
  expect(sent.map(({ name }) => name)).not.toEqual([]);
  expect(await watch.faults(sent)).toEqual([]);
};

const readers = { guest: undefined, member: member(7), 'holder of gyms.view_all': OWNER };
const filters = {
  'no filter': '',
  search: `search=${encodeURIComponent(SEARCHES[0])}`,
  'a short search': `search=${SEARCHES[1]}`,
  'a search with a half-space': `search=${encodeURIComponent(SEARCHES[2])}`,
  city: 'city_id=1',
  majors: 'major_ids=1,2',
  owner: 'user_id=7',
  'all filters': 'search=zor&city_id=1&major_ids=1&user_id=7',
};

describe('queries among 20,000 gyms', () => {
  const lists = Object.entries(filters).flatMap(([filterName, filter]) =>
    Object.entries(readers)
      // Guests cannot filter by owner.
      .filter(([, as]) => as !== undefined || !filter.includes('user_id'))
      .map(([reader, as]) => ({ filterName, filter, reader, as })),
  );
  test.each(lists)('GET /gyms by $filterName for a $reader uses an index', async ({ filter, as }) => {
    for (const near of ['', '&near=30,50']) {
      const list = async (more: string): Promise<string | null> => {
        const path = `/gyms?${filter}${near}&per_page=1${more}`;
        const answer = await harness.send('GET', path, as === undefined ? {} : { as });
        expect([answer.status, answer.body.data.length]).toEqual([200, 1]);
        return answer.body.meta.next_cursor;
      };
      let cursor: string | null = null;
      await expectServed(async () => {
        cursor = await list('&page=1');
      });
      expect(cursor).not.toBeNull();
      await expectServed(() => list(`&cursor=${cursor}`));
    }
  });

  const send = (method: string, path: () => string, body?: unknown) => () =>
    harness.send(method, path(), body === undefined ? { as: OWNER } : { as: OWNER, body });
  test.each(['/cities', '/cities?state_id=2', '/majors'])('GET %s sends no query', async (path) => {
    const sent = await watch.during(send('GET', () => path));
    expect(
      sent.filter(({ collection }) => [...OWN, 'cities', 'states', 'majors'].includes(collection)),
    ).toEqual([]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['GET /gyms/{id}', send('GET', () => `/gyms/${id}`)],
    ['GET /gyms/license-reviews', send('GET', () => '/gyms/license-reviews?per_page=1')],
    ['POST /gyms', () => harness.createGym(OWNER, bodyOf(99))],
    [
      'PUT /gyms/{id}',
      send('PUT', () => `/gyms/${id}`, { name: 'New', user_id: 7, city_id: 2, gym_license_image: null }),
    ],
    [
      'PUT /gyms/{id}/rating',
      () => harness.send('PUT', `/gyms/${id}/rating`, { as: RATER, body: { score: 4 } }),
    ],
    ['PUT /gyms/{id}/crowd', send('PUT', () => `/gyms/${id}/crowd`, { current: 1, capacity: 2 })],
    [
      'PUT /gyms/{id}/working-periods',
      send('PUT', () => `/gyms/${id}/working-periods`, { working_periods: [] }),
    ],
    [
      'DELETE /gyms/{id}',
      async () => harness.send('DELETE', `/gyms/${await harness.createGym(OWNER)}`, { as: OWNER }),
    ],
    [
      'store_billing.boost.granted',
      async () => {
        const times = { starts_at: '2026-01-15 10:00:00', ends_at: '2026-01-16 10:00:00' };
        const target = { boostable_type: 'gym' as const, boostable_id: id };
        const data = { boost_id: 1, ...target, level: 2, ...times };
        await harness.publish(boostGranted, { subject: 1, data });
        const gyms = harness.connection.collection<{ _id: number }>('gyms');
        await eventually(async () => (await gyms.countDocuments({ _id: id, boostLevel: 2 })) === 1);
      },
    ],
    ['Gyms.GetGyms', () => harness.gyms.call('GetGyms', { ids: [id, id + 1] })],
    [
      'Gyms.AttachLicense',
      () => harness.gyms.call('AttachLicense', { gym_id: id, media_id: 9, filename: 'a' }),
    ],
    [
      'media.media.deleted',
      async () => {
        await harness.gyms.call('AttachLicense', { gym_id: id, media_id: 10, filename: 'a' });
        await harness.publish(mediaDeleted, {
          subject: 10,
          data: {
            media_id: 10,
            attachable_type: 'App\\Models\\Gyms\\Gym',
            attachable_id: id,
            purpose: 'gym_license',
            filename: 'a',
            uploaded_by: 7,
          },
        });
        await eventually(async () => {
          const { body } = await harness.send('GET', `/gyms/${id}`, { as: OWNER });
          return body.gym.gym_license_image === null;
        });
      },
    ],
    [
      'the blocker gym_ownership',
      () => harness.blockers.call('Evaluate', { user_id: 7, code: 'gym_ownership' }),
    ],
    [
      'identity.account.deleted',
      async () => {
        const data = { user_id: 7, deleted_at: '2026-01-15 10:00:00' };
        await harness.publish(accountDeleted, { subject: 7, data });
        await eventually(async () => {
          const { body } = await harness.send('GET', `/gyms/${id}`, { as: operator() });
          return body.gym.user_id === null;
        });
      },
    ],
  ])('the queries of %s use an index', async (_name, work) => expectServed(work));
});

test('every listed scatter is a command of these queries', () => {
  expect(watch.unusedScatters()).toEqual([]);
});
