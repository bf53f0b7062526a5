import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { mediaDeleted } from '@fitness/proto/events/media.ts';
import { GUEST } from '@fitness/shared/caller.ts';
import {
  type CommandWatch,
  exceptOnPrebuilt,
  FILL_TIMEOUT_MS,
  FILLED,
  fillLike,
  type SentCommand,
  watchCommands,
} from '@fitness/shared/testing/commands.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { indexGrams, queryGrams } from '@fitness/shared/text-search.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { encodeGeohash } from '../src/domain/geohash.ts';
import { EVERYONE } from '../src/store/gym-document.ts';
import { member, openWorld, operator, type World } from './support.ts';

const OWNER = operator(7);

const EXCEPTIONS = [
  ...exceptOnPrebuilt('it scans for every findAndModify, also by `_id`', [
    'COLLSCAN: findAndModify gym_owners {"_id":"?"}',
    'COLLSCAN: findAndModify gym_ratings {"gymId":"?","userId":"?"}',
    'COLLSCAN: findAndModify gyms {"_id":"?"}',
  ]),
  ...exceptOnPrebuilt('it sorts what an index has found, also where the index is in that order', [
    'SORT: find gyms {"cityId":"?"} sort {"_id":-1} limit',
    'SORT: find gyms {"cityId":"?","_id":{"$lt":"?"}} sort {"_id":-1} limit',
    'SORT: find gyms {"ownerId":"?"} sort {"_id":-1} limit',
    'SORT: find gyms {"ownerId":"?","_id":{"$lt":"?"}} sort {"_id":-1} limit',
    'SORT: find gyms {"grams":"?"} sort {"_id":-1} limit',
    'SORT: find gyms {"grams":"?","_id":{"$lt":"?"}} sort {"_id":-1} limit',
    'SORT: find gyms {"majorIds":{"$in":["?"]}} sort {"_id":-1} limit',
    'SORT: find gyms {"majorIds":{"$in":["?"]},"_id":{"$lt":"?"}} sort {"_id":-1} limit',
  ]),
];

const SMALL = {
  gym_counters: 'sixteen documents',
  states: 'the states of a country',
  cities: 'the cities of a country',
  majors: 'a list of kinds of sport',
};

let world: World;
let watch: CommandWatch;
/** A gym for each of the works below, besides those that the lists are about. */
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

/** Every hundredth has the words that are searched for. */
const nameOf = (n: number): string => (n % 100 === 0 ? `Zor number ${n}` : `Hall ${n}`);

/** The first gyms are real; ids go on behind them without a gap. */
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
    // An index of all grams of all gyms takes minutes to fill.
    grams: [...new Set(indexGrams(nameOf(n)))].filter((gram) => SEARCHED.has(gram)),
  };
};

beforeAll(async () => {
  world = await openWorld({ watched: true });
  watch = watchCommands(world.config.MONGODB_DATABASE, { exceptions: EXCEPTIONS, small: SMALL });
  for (let index = 0; index < 30; index += 1) await world.createGym(OWNER, bodyOf(index));
  id = await world.createGym(OWNER);
  await world.send('PUT', `/gyms/${id}/rating`, { as: OWNER, body: { score: 3 } });
  await fillLike(world.connection, 'gyms', gymChange(id));
  await world.connection
    .collection('sequences')
    .updateOne({ _id: 'gym' as never }, { $inc: { value: FILLED } });
  await world.connection
    .collection('gym_counters')
    .updateOne({ _id: 0 as never }, { $inc: { active_placed: FILLED, newest: FILLED } });
  await fillLike(world.connection, 'gym_ratings', (n) => ({ gymId: id + n, userId: 100 + (n % 5_000) }));
  await fillLike(world.connection, 'gym_owners', (n) => ({ _id: 1_000 + n }));
}, FILL_TIMEOUT_MS);
afterAll(() => world.close());

/** The relay and the inbox are shared ground, with tests of their own. */
const OWN = ['gyms', 'gym_counters', 'gym_ratings', 'gym_owners', 'states', 'cities', 'majors'];
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

describe('an index finds, among 20,000, what is asked for by', () => {
  const lists = Object.entries(filters).flatMap(([filterName, filter]) =>
    Object.entries(readers).map(([reader, as]) => ({ filterName, filter, reader, as })),
  );
  test.each(lists)('GET /gyms by $filterName for a $reader', async ({ filter, as }) => {
    for (const near of ['', '&near=30,50']) {
      const list = async (more: string): Promise<string | null> => {
        const path = `/gyms?${filter}${near}&per_page=1${more}`;
        const answer = await world.send('GET', path, as === undefined ? {} : { as });
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
    world.send(method, path(), body === undefined ? { as: OWNER } : { as: OWNER, body });
  test.each<[string, () => Promise<unknown>]>([
    ['GET /gyms/{id}', send('GET', () => `/gyms/${id}`)],
    ['GET /cities', send('GET', () => '/cities')],
    ['GET /cities of a state', send('GET', () => '/cities?state_id=2')],
    ['GET /majors', send('GET', () => '/majors')],
    ['POST /gyms', () => world.createGym(OWNER, bodyOf(99))],
    [
      'PUT /gyms/{id}',
      send('PUT', () => `/gyms/${id}`, { name: 'New', user_id: 7, city_id: 2, gym_license_image: null }),
    ],
    ['PUT /gyms/{id}/rating', send('PUT', () => `/gyms/${id}/rating`, { score: 4 })],
    ['PUT /gyms/{id}/crowd', send('PUT', () => `/gyms/${id}/crowd`, { current: 1, capacity: 2 })],
    [
      'PUT /gyms/{id}/working-periods',
      send('PUT', () => `/gyms/${id}/working-periods`, { working_periods: [] }),
    ],
    [
      'DELETE /gyms/{id}',
      async () => world.send('DELETE', `/gyms/${await world.createGym(OWNER)}`, { as: OWNER }),
    ],
    ['Gyms.GetGyms', () => world.gyms.call('GetGyms', { ids: [id, id + 1] })],
    [
      'Gyms.AttachLicense',
      () => world.gyms.call('AttachLicense', { gym_id: id, media_id: 9, filename: 'a' }),
    ],
    [
      'media.media.deleted',
      async () => {
        await world.gyms.call('AttachLicense', { gym_id: id, media_id: 10, filename: 'a' });
        await world.tell('media', mediaDeleted, {
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
          const { body } = await world.send('GET', `/gyms/${id}`, { as: OWNER });
          return body.gym.gym_license_image === null;
        });
      },
    ],
    [
      'the blocker gym_ownership',
      () => world.blockers.call('Evaluate', { user_id: 7, code: 'gym_ownership' }),
    ],
    [
      'identity.account.deleted',
      async () => {
        const data = { user_id: 7, deleted_at: '2026-01-15 10:00:00' };
        await world.tell('identity', accountDeleted, { subject: 7, data });
        await eventually(async () => {
          const { body } = await world.send('GET', `/gyms/${id}`, { as: operator() });
          return body.gym.user_id === null;
        });
      },
    ],
  ])('%s', async (_name, work) => expectServed(work));

  test('a page past the end of the nearest looks at no place', async () => {
    const isPlace = ({ collection, command }: SentCommand): boolean => {
      const [first] = (command.pipeline ?? []) as { $match?: object }[];
      return collection === 'gyms' && Object.hasOwn(first?.$match ?? {}, 'geohash');
    };
    const placesAsked = async (work: () => Promise<unknown>): Promise<number> =>
      (await watch.during(work)).filter(isPlace).length;
    for (const as of [GUEST, member(7), OWNER]) {
      const read = async (page: string) => (await world.send('GET', `/gyms?near=30,50&${page}`, { as })).body;
      const { meta: whole } = await read('per_page=1');
      expect(await placesAsked(() => read('per_page=1'))).toBeGreaterThan(0);
      const asked = placesAsked(async () => {
        const { data, meta } = await read('page=999999999');
        expect([data, meta.total]).toEqual([[], whole.total]);
      });
      expect(await asked).toBe(0);
    }
  });
});
