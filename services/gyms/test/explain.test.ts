import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { mediaDeleted } from '@fitness/proto/events/media.ts';
import { GUEST } from '@fitness/shared/caller.ts';
import { type CommandWatch, namesIndex, watchCommands } from '@fitness/shared/testing/commands.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { member, openWorld, operator, type World } from './support.ts';

const OWNER = operator(7);
const GYMS = 30;

let world: World;
let watch: CommandWatch;
/** A gym for each of the works below, besides those that the lists are about. */
let id: number;

const bodyOf = (index: number) => ({
  name: `Gym number ${index}`,
  location_lat: 30 + index / 100,
  location_lng: 50,
  is_active: index % 2 === 0,
  city_id: 1 + (index % 5),
  major_ids: String(1 + (index % 4)),
});

beforeAll(async () => {
  world = await openWorld({ watched: true });
  watch = watchCommands(world.config.MONGODB_DATABASE);
  for (let index = 0; index < GYMS; index += 1) await world.createGym(OWNER, bodyOf(index));
  id = await world.createGym(OWNER);
});
afterAll(() => world.close());

/** The relay and the inbox are shared ground, with tests of their own. */
const OWN = ['gyms', 'gym_counters', 'gym_ratings', 'gym_owners', 'states', 'cities', 'majors'];
const expectServed = async (work: () => Promise<unknown>): Promise<void> => {
  const sent = (await watch.during(work)).filter(({ collection }) => OWN.includes(collection));
  expect(sent.map(({ name }) => name)).not.toEqual([]);
  // A named index is walked from end to end by the stand-ins of MongoDB.
  expect(sent.filter(namesIndex)).toEqual([]);
  expect(await watch.scans(sent)).toEqual([]);
};

const readers = { guest: undefined, member: member(7), 'holder of gyms.view_all': OWNER };
const filters = {
  'no filter': '',
  search: 'search=number%201',
  'a short search': 'search=n',
  'a search with a half-space': `search=${encodeURIComponent('num\u200cber')}`,
  city: 'city_id=1',
  majors: 'major_ids=1,2',
  owner: 'user_id=7',
  'all filters': 'search=gym&city_id=1&major_ids=1&user_id=7',
};

describe('no query of the service scans a collection', () => {
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
    const placesAsked = async (work: () => Promise<unknown>): Promise<number> =>
      (await watch.during(work)).filter(
        ({ collection, command }) =>
          collection === 'gyms' &&
          (command.filter as { geohash?: unknown } | undefined)?.geohash !== undefined,
      ).length;
    for (const as of [GUEST, member(7), OWNER]) {
      const read = async (page: string) => (await world.send('GET', `/gyms?near=30,50&${page}`, { as })).body;
      const all = await read('per_page=100');
      expect(await placesAsked(() => read('per_page=100'))).toBeGreaterThan(0);
      const asked = placesAsked(async () => {
        const { data, meta } = await read('page=999999999');
        expect([data, meta.total]).toEqual([[], all.data.length]);
      });
      expect(await asked).toBe(0);
    }
  });

  test('a scan would be seen', async () => {
    const sent = await watch.during(() => world.send('GET', `/gyms/${id}`, { as: OWNER }));
    const find = sent.find(({ collection }) => collection === 'gyms');
    if (find === undefined) throw new Error('nothing was asked');
    const scan = { ...find, command: { ...find.command, filter: { description: 'x' }, hint: undefined } };
    expect(await watch.scans([scan])).toEqual([expect.stringContaining('COLLSCAN')]);
  });
});
