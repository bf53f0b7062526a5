import { appCaller, restrictedCaller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Harness, holder, member, openHarness, operator } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());
beforeEach(() => {
  harness.standIns.boosts = [];
  harness.standIns.media = [];
  harness.standIns.calls.length = 0;
  Object.assign(harness.standIns.up, { identity: true, media: true, storeBilling: true });
});

const BODY = { name: 'Iron', address: 'Street 1', location_lat: 35.7, location_lng: 51.4 };

describe('POST /gyms', () => {
  test('a created gym belongs to the caller and has the defaults of the contract', async () => {
    const answer = await harness.send('POST', '/gyms', {
      as: member(10),
      body: { ...BODY, description: 'D', city_id: 1, major_ids: '2,1,2' },
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      gym: {
        id: expect.any(Number),
        name: 'Iron',
        address: 'Street 1',
        location_lat: 35.7,
        location_lng: 51.4,
        is_active: true,
        description: 'D',
        created_at: '2026-01-15 10:00:00',
        updated_at: '2026-01-15 10:00:00',
        show_crowd: false,
        crowd: null,
        city: { id: 1, name: 'Tehran', state: { id: 1, name: 'Tehran' } },
        majors: [
          { id: 2, title: 'Fitness' },
          { id: 1, title: 'Bodybuilding' },
        ],
        working_periods: [],
        working_status: null,
        boost: null,
        media: [],
        rating_count: 0,
        rating_average: 0,
        user_id: 10,
        gym_license_image: null,
        gym_license_link: null,
        gym_license_approved: null,
        gym_license_rejection_reason: null,
      },
    });
    const changed = await harness.tap.waitFor('gyms.gym.changed', {
      matches: (event) => event.subject === String(answer.body.gym.id),
    });
    expect(changed.data).toEqual({ gym_id: answer.body.gym.id, name: 'Iron', user_id: 10, is_active: true });
    expect(changed.aggregateversion).toBe(1);
  });

  test('a guest gets 401, and a caller without gyms.create 403, before the body is read', async () => {
    expect((await harness.send('POST', '/gyms', { body: 'no' })).status).toBe(401);
    const refused = await harness.send('POST', '/gyms', { as: holder(1, 'gyms.update'), body: {} });
    expect(refused.status).toBe(403);
  });

  test('a 422 names every wrong field', async () => {
    const answer = await harness.send('POST', '/gyms', {
      as: member(1),
      body: {
        name: 'x'.repeat(256),
        location_lat: 91,
        location_lng: '51',
        description: 'x'.repeat(2_001),
        is_active: 'yes',
        show_crowd: 1,
        city_id: 1.5,
        major_ids: '1,x',
      },
    });
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.body.errors).toSorted()).toEqual([
      'address',
      'city_id',
      'description',
      'is_active',
      'location_lat',
      'location_lng',
      'major_ids',
      'name',
      'show_crowd',
    ]);
  });

  test('every unknown reference is rejected with 422 under its field, and nothing is stored', async () => {
    const before = await harness.connection.collection('gyms').countDocuments({});
    const answer = await harness.send('POST', '/gyms', {
      as: member(1),
      body: { ...BODY, city_id: 99_999, major_ids: '1,99999' },
      headers: { 'accept-language': 'fa' },
    });
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.body.errors).toSorted()).toEqual(['city_id', 'major_ids']);
    expect(answer.body.errors.city_id[0]).not.toMatch(/[a-z]/i);
    expect(await harness.connection.collection('gyms').countDocuments({})).toBe(before);
  });

  test('the length of a text is counted in code points', async () => {
    const name = '💪'.repeat(255);
    const answer = await harness.send('POST', '/gyms', { as: member(1), body: { ...BODY, name } });
    expect(answer.body.gym.name).toBe(name);
    const longer = await harness.send('POST', '/gyms', {
      as: member(1),
      body: { ...BODY, name: `${name}💪` },
    });
    expect(longer.status).toBe(422);
  });
});

describe('GET /gyms/{id}', () => {
  test('only the owner and holders of gyms.view_all see the owner fields', async () => {
    const id = await harness.createGym(member(20));
    const fields = ['user_id', 'gym_license_image', 'gym_license_link', 'gym_license_approved'];
    for (const as of [member(20), operator()]) {
      const { body } = await harness.send('GET', `/gyms/${id}`, { as });
      expect(Object.keys(body.gym)).toEqual(expect.arrayContaining(fields));
    }
    for (const as of [member(21), undefined]) {
      const { status, body } = await harness.send('GET', `/gyms/${id}`, as === undefined ? {} : { as });
      expect(status).toBe(200);
      for (const field of [...fields, 'gym_license_rejection_reason'])
        expect(body.gym).not.toHaveProperty(field);
    }
  });

  test('an inactive gym is the same 404 as a missing one, except for its owner and gyms.view_all', async () => {
    const id = await harness.createGym(member(22), { is_active: false });
    const hidden = await harness.send('GET', `/gyms/${id}`, { as: member(23) });
    const missing = await harness.send('GET', '/gyms/987654321', { as: member(23) });
    expect([hidden.status, hidden.text]).toEqual([404, missing.text]);
    expect((await harness.send('GET', `/gyms/${id}`)).status).toBe(404);
    expect((await harness.send('GET', `/gyms/${id}`, { as: member(22) })).status).toBe(200);
    expect((await harness.send('GET', `/gyms/${id}`, { as: operator() })).status).toBe(200);
  });

  test.each([
    ['restricted', restrictedCaller],
    ['OAuth', appCaller],
  ])('an owner’s %s token sees only what everyone sees, unless it has gyms.update', async (_kind, token) => {
    const [active, inactive] = [
      await harness.createGym(member(28)),
      await harness.createGym(member(28), { is_active: false }),
    ];
    const read = (id: number, as: ReturnType<typeof token>) => harness.send('GET', `/gyms/${id}`, { as });
    const without = token(28, 'gyms.create', 'posts.view', 'users.view_all');
    expect((await read(active, without)).body).toEqual((await harness.send('GET', `/gyms/${active}`)).body);
    expect((await read(inactive, without)).status).toBe(404);
    const idsFor = async (as: ReturnType<typeof token>): Promise<number[]> =>
      (await harness.send('GET', '/gyms?per_page=100', { as })).body.data.map(
        (gym: { id: number }) => gym.id,
      );
    expect(await idsFor(without)).not.toContain(inactive);
    const covered = token(28, 'gyms.update');
    expect((await read(active, covered)).body.gym.user_id).toBe(28);
    expect((await read(inactive, covered)).status).toBe(200);
    expect(await idsFor(covered)).toContain(inactive);
  });

  test.each(['0', '-1', '1.5', 'abc', '99999999999999999999'])(
    'the gym id %s is rejected with 404',
    async (id) => {
      expect((await harness.send('GET', `/gyms/${id}`)).status).toBe(404);
    },
  );

  test('a gym names its city and majors in the language of the request', async () => {
    const id = await harness.createGym(member(24), { city_id: 1, major_ids: '1' });
    const { body, headers } = await harness.send('GET', `/gyms/${id}`, {
      headers: { 'accept-language': 'fa-IR' },
    });
    expect(headers.get('content-language')).toBe('fa');
    expect(body.gym.city).toEqual({ id: 1, name: 'تهران', state: { id: 1, name: 'تهران' } });
    expect(body.gym.majors).toEqual([{ id: 1, title: 'بدن‌سازی' }]);
  });

  test('a gym embeds its boost and its media', async () => {
    const id = await harness.createGym(member(25));
    const boost = {
      id: 5,
      boostable_type: 'App\\Models\\Gyms\\Gym',
      boostable_id: id,
      level: 2,
      starts_at: '2026-01-01 00:00:00',
      ends_at: '2026-02-01 00:00:00',
      created_at: '2026-01-01 00:00:00',
    };
    const target = { attachable_type: 'App\\Models\\Gyms\\Gym', attachable_id: id };
    const file = {
      id: 7,
      filename: 'a.jpg',
      mime_type: 'image/jpeg',
      size: 12,
      created_at: '2026-01-01 00:00:00',
    };
    harness.standIns.boosts = [boost];
    await harness.mediaCopies.call('Save', { target, version: 2, files: [file] });
    // An older call that arrives late.
    await harness.mediaCopies.call('Save', { target, version: 1, files: [] });
    const { body } = await harness.send('GET', `/gyms/${id}`);
    expect(body.gym.boost).toEqual(boost);
    const link = 'http://api.test/api/v1/media/7/a.jpg';
    expect(body.gym.media).toEqual([{ ...file, ...target, link, purpose: null }]);
  });

  test('a gym without a boost is returned when store-billing is down', async () => {
    const id = await harness.createGym(member(26));
    harness.standIns.up.storeBilling = false;
    const { status, body } = await harness.send('GET', `/gyms/${id}`);
    expect(status).toBe(200);
    expect(body.gym.boost).toBeNull();
  });
});

describe('GET /cities and GET /majors', () => {
  test('every province of Iran has a city, and both are named in English and Persian', async () => {
    const read = async (language: string) => {
      const cities = [];
      for (let path = '/cities?per_page=100'; path !== ''; ) {
        const { body } = await harness.send('GET', path, { headers: { 'accept-language': language } });
        cities.push(...body.data);
        path = body.links.next === null ? '' : body.links.next.replace('http://api.test/api/v1', '');
      }
      return cities;
    };
    const [english, persian] = [await read('en'), await read('fa')];
    expect(new Set(english.map((city) => city.state.id)).size).toBe(31);
    expect(new Set(english.map((city) => city.id)).size).toBe(english.length);
    expect(persian.map((city) => city.id)).toEqual(english.map((city) => city.id));
    for (const city of english) expect(city.name + city.state.name).toMatch(/^[A-Za-z '()-]+$/);
    for (const city of persian) expect(city.name + city.state.name).toMatch(/^[\u0600-\u06ff\u200c ]+$/);
  });

  test('cities are listed by state and by cursor', async () => {
    const { body } = await harness.send('GET', '/cities?state_id=2&per_page=4');
    expect(body.data.map((city: { state: { id: number } }) => city.state.id)).toEqual([2, 2, 2, 2]);
    const next = await harness.send('GET', `/cities?state_id=2&per_page=4&cursor=${body.meta.next_cursor}`);
    expect(next.body.data[0].id).toBeGreaterThan(body.data[3].id);
  });

  test('majors are named in the language of the request', async () => {
    const { body } = await harness.send('GET', '/majors?per_page=100');
    expect(body.data[0]).toEqual({ id: 1, title: 'Bodybuilding' });
    expect(body.meta.total).toBe(body.data.length);
    const persian = await harness.send('GET', '/majors?per_page=1', { headers: { 'accept-language': 'fa' } });
    expect(persian.body.data).toEqual([{ id: 1, title: 'بدن‌سازی' }]);
  });
});
