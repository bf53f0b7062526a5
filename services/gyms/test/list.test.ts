import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { documentGrams } from '@fitness/shared/kernel/text-search.ts';
import { fillLike } from '@fitness/shared/testing/fill.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Harness, member, openHarness, operator } from './support.ts';

let harness: Harness;
const ids: Record<string, number> = {};

/** Gyms in a line to the north of a point, about 11 km apart. */
const PLACE = { lat: 30, lng: 50 };
const STEPS = 12;

beforeAll(async () => {
  harness = await openHarness();
  const create = async (name: string, owner: number, body: Record<string, unknown> = {}) => {
    ids[name] = await harness.createGym(member(owner), {
      name,
      location_lat: 60,
      location_lng: 100,
      ...body,
    });
  };
  await create('باشگاه علی', 10, { city_id: 1, major_ids: '1,2', address: 'خیابان كارگر پلاک ۱۲' });
  await create('Iron Paradise', 10, { city_id: 1, major_ids: '2', description: '100% (raw) .* power' });
  await create('Café Fit', 11, { city_id: 2, major_ids: '3', is_active: false });
  await create('می\u200cخواهم', 11, { city_id: 2 });
  await create('No place', 12);
  await harness.send('PUT', `/gyms/${ids['No place']}`, { as: member(12), body: { location_lat: null } });
  for (let step = 0; step < STEPS; step += 1) {
    // Created out of order, so neither ids nor insertion order agree with the distance.
    const north = (step * 5) % STEPS;
    await create(`step ${north}`, 13, {
      location_lat: PLACE.lat + north * 0.1,
      location_lng: PLACE.lng,
      is_active: north !== 3,
    });
  }
});
afterAll(() => harness.close());

const list = async (query: string, as?: UserCaller) => {
  const answer = await harness.send('GET', `/gyms?${query}`, as === undefined ? {} : { as });
  expect(answer.status).toBe(200);
  return answer.body;
};
const gramsOf = async (id: number): Promise<string[]> => {
  const stored = await harness.connection.collection('gyms_texts').find({ row: id }).toArray();
  return stored.flatMap(({ grams }) => grams);
};
const names = async (query: string, as?: UserCaller): Promise<string[]> =>
  (await list(query, as)).data.map((gym: { name: string }) => gym.name);

describe('visibility', () => {
  test('gyms are listed newest first, without others’ inactive gyms', async () => {
    const { data, meta } = await list('per_page=100');
    const seen: number[] = data.map((gym: { id: number }) => gym.id);
    expect(seen).toEqual(seen.toSorted((a, b) => b - a));
    expect(seen).toHaveLength(Object.keys(ids).length - 2);
    expect(meta.total).toBe(seen.length);
    expect(seen).not.toContain(ids['Café Fit']);
    for (const gym of data) expect(gym).not.toHaveProperty('user_id');
  });

  test('owners see their inactive gyms too, and gyms.view_all sees all gyms', async () => {
    expect(await names('per_page=100', member(11))).toContain('Café Fit');
    expect(await names('per_page=100', member(10))).not.toContain('Café Fit');
    expect((await list('per_page=100', operator())).meta.total).toBe(Object.keys(ids).length);
    expect(await names('user_id=11', member(11))).toEqual(['می\u200cخواهم', 'Café Fit']);
  });

  test('a list filtered by owner returns 403 for everyone except the owner and gyms.view_all', async () => {
    const near = 'near=35.7,51.4';
    for (const query of ['user_id=11', 'user_id=999', 'user_id=11&search=fit', `user_id=11&${near}`]) {
      for (const as of [undefined, member(10)]) {
        const answer = await harness.send('GET', `/gyms?${query}`, as === undefined ? {} : { as });
        expect([query, answer.status]).toEqual([query, 403]);
      }
      await list(query, operator());
    }
    await list('user_id=11', member(11));
    expect((await harness.send('GET', '/gyms?user_id=x')).status).toBe(422);
  });

  test('an inactive gym is listed only for its new owner after a transfer', async () => {
    const id = await harness.createGym(member(16), { name: 'given', is_active: false });
    const give = (userId: number | null) =>
      harness.send('PUT', `/gyms/${id}`, { as: operator(), body: { user_id: userId } });
    const seen = async (owner: number) =>
      (await list('per_page=100', member(owner))).data.some((gym: { id: number }) => gym.id === id);
    expect([await seen(16), await seen(17)]).toEqual([true, false]);
    expect((await give(17)).status).toBe(200);
    expect([await seen(16), await seen(17)]).toEqual([false, true]);
    expect((await give(null)).status).toBe(200);
    expect([await seen(16), await seen(17)]).toEqual([false, false]);
    await harness.send('DELETE', `/gyms/${id}`, { as: operator() });
  });
});

describe('filters', () => {
  test('city_id, major_ids and user_id work alone and together', async () => {
    expect(await names('city_id=1')).toEqual(['Iron Paradise', 'باشگاه علی']);
    expect(await names('major_ids=1,3', operator())).toEqual(['Café Fit', 'باشگاه علی']);
    expect(await names('major_ids=2&city_id=1&user_id=10&search=iron', member(10))).toEqual([
      'Iron Paradise',
    ]);
    expect(await names('city_id=99999')).toEqual([]);
  });

  test('every combination of filters works by distance, in a search and without one', async () => {
    const made: { id: number; owner: number; city: number; majors: number[] }[] = [];
    for (const owner of [40, 41])
      for (const city of [5, 6])
        for (const majors of [[1], [1, 3]]) {
          const body = { name: `combined ${made.length}`, city_id: city, major_ids: majors.join(',') };
          made.push({ id: await harness.createGym(member(owner), body), owner, city, majors });
        }
    const mine = new Set(made.map(({ id }) => id));
    const idsFor = async (query: string): Promise<number[]> => {
      const { data, meta } = await list(`${query}&per_page=100`, operator());
      const ids: number[] = data.map((gym: { id: number }) => gym.id);
      expect([query, meta.total]).toEqual([query, ids.length]);
      return ids.filter((id) => mine.has(id)).toSorted((a, b) => a - b);
    };
    for (const owner of [undefined, 41])
      for (const city of [undefined, 5])
        for (const majors of [undefined, [1], [2, 3]])
          for (const rest of ['&near=35.7,51.4', '&search=combined&near=35.7,51.4']) {
            const filter = [
              ...(owner === undefined ? [] : [`user_id=${owner}`]),
              ...(city === undefined ? [] : [`city_id=${city}`]),
              ...(majors === undefined ? [] : [`major_ids=${majors.join(',')}`]),
            ].join('&');
            const expected = made
              .filter((gym) => owner === undefined || gym.owner === owner)
              .filter((gym) => city === undefined || gym.city === city)
              .filter((gym) => majors === undefined || gym.majors.some((id) => majors.includes(id)));
            expect([filter, rest, await idsFor(filter + rest)]).toEqual([
              filter,
              rest,
              expected.map(({ id }) => id),
            ]);
          }
    for (const id of mine) await harness.send('DELETE', `/gyms/${id}`, { as: operator() });
  });

  test.each([
    ['city_id', 'city_id=x'],
    ['user_id', 'user_id=-1'],
    ['major_ids', 'major_ids=1,,2'],
    ['near', 'near=91,0'],
    ['near', 'near=1'],
    ['near', 'near=1,2,3'],
    ['near', 'near=a,b'],
    ['page', 'page=0'],
    ['cursor', 'cursor=nonsense'],
    ['search', `search=${'x'.repeat(256)}`],
  ])('a wrong %s is rejected with 422 under it: %s', async (field, query) => {
    const answer = await harness.send('GET', `/gyms?${query}`);
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.body.errors)).toEqual([field]);
  });
});

test('a wrong format and a value out of range have different error texts', async () => {
  const textOf = async (query: string, field: string) =>
    (await harness.send('GET', `/gyms?${query}`)).body.errors[field];
  const form = ['This field does not have the right format.'];
  expect(await textOf('near=x,1', 'near')).toEqual(form);
  expect(await textOf('near=91,1', 'near')).toEqual([
    'The latitude must be from -90 to 90, and the longitude from -180 to 180.',
  ]);
  expect(await textOf('major_ids=x', 'major_ids')).toEqual(form);
  expect(await textOf('major_ids=1,9007199254740992', 'major_ids')).toEqual([
    'This field must be at most 9,007,199,254,740,991.',
  ]);
  expect(await textOf('city_id=x', 'city_id')).toEqual(['This field must be a whole number.']);
  expect(await textOf('city_id=9007199254740992', 'city_id')).toEqual([
    'This field must be at most 9,007,199,254,740,991.',
  ]);
});

describe('search', () => {
  test.each([
    ['different case', 'IRON', 'Iron Paradise'],
    ['a part of a word', 'radis', 'Iron Paradise'],
    ['parts of two words', 'on par', 'Iron Paradise'],
    ['one character', '%25', 'Iron Paradise'],
    ['two characters', '.*', 'Iron Paradise'],
    ['the characters of a regular expression', '(raw)', 'Iron Paradise'],
    ['an Arabic ye for a Persian one', 'علي', 'باشگاه علی'],
    ['a Persian kaf for an Arabic one', 'کارگر', 'باشگاه علی'],
    ['Latin digits for Persian ones', 'پلاک 12', 'باشگاه علی'],
    ['Arabic digits for Persian ones', '١٢', 'باشگاه علی'],
    ['no half-space', 'میخواهم', 'می\u200cخواهم'],
    ['a space for a half-space', 'می خواهم', 'می\u200cخواهم'],
    ['a half-space', 'می\u200cخواهم', 'می\u200cخواهم'],
  ])('a search finds a text by %s', async (_name, search, expected) => {
    const query = `search=${search === '%25' ? search : encodeURIComponent(search)}`;
    expect(await names(query)).toEqual([expected]);
    expect((await list(query)).meta.total).toBe(1);
  });

  test('a search ignores accents, and finds an inactive gym only for its owner', async () => {
    expect(await names('search=cafe', member(11))).toEqual(['Café Fit']);
    expect(await names('search=cafe')).toEqual([]);
  });

  test('a gym with all grams but not the text is neither a match nor in the total', async () => {
    const id = await harness.createGym(member(14), { name: 'wxyw ywxy', location_lat: 60 });
    const { data, meta } = await list('search=ywxyw');
    expect([data, meta.total]).toEqual([[], 0]);
    expect(await names('search=wxyw%20y')).toEqual(['wxyw ywxy']);
    await harness.send('DELETE', `/gyms/${id}`, { as: member(14) });
  });

  test('a gym with too many grams for the index is found by every part of its texts and by distance', async () => {
    // Folding splits every syllable into letters.
    const syllables = (length: number, from: number): string =>
      Array.from({ length }, (_, index) =>
        String.fromCodePoint(0xac00 + (((from + index) * 617) % 11_172)),
      ).join('');
    const texts = {
      name: syllables(255, 0),
      address: syllables(255, 255),
      description: `${syllables(1_990, 510)} farewell`,
    };
    const id = await harness.createGym(member(14), { ...texts, location_lat: 61 });
    expect(await gramsOf(id)).toHaveLength(1);
    for (const search of [texts.name.slice(0, 3), texts.address.slice(-40), 'farewell', 'ewe'])
      for (const near of ['', '&near=61,100'])
        expect(await names(`search=${encodeURIComponent(search)}${near}`)).toEqual([texts.name]);
    expect(await names('search=farewells')).toEqual([]);
    await harness.send('DELETE', `/gyms/${id}`, { as: member(14) });
  });

  test('the grams of a gym follow its texts, and are deleted with it', async () => {
    const texts = { name: 'Zephyr', address: 'Quay 5', description: 'Oars and ropes' };
    const id = await harness.createGym(member(14), texts);
    const put = (body: object) => harness.send('PUT', `/gyms/${id}`, { as: member(14), body });
    const expectGrams = async (of: string[]) =>
      expect((await gramsOf(id)).toSorted()).toEqual(documentGrams(of).toSorted());
    await expectGrams(Object.values(texts));
    for (const change of [{ address: 'Wharf 7' }, { description: null }, { is_active: false }]) {
      expect((await put(change)).status).toBe(200);
      Object.assign(texts, change);
      await expectGrams([texts.name, texts.address, texts.description ?? '']);
    }
    await harness.send('DELETE', `/gyms/${id}`, { as: member(14) });
    expect(await gramsOf(id)).toEqual([]);
  });

  test('a search does not match across two fields', async () => {
    expect(await names('search=paradise%20street')).toEqual([]);
  });

  test('a search for a field path of the database is plain text', async () => {
    expect(await names(`search=${encodeURIComponent('$searchText')}`)).toEqual([]);
    expect(await names(`search=${encodeURIComponent('$$ROOT')}`)).toEqual([]);
  });

  test('a search for white space alone filters nothing', async () => {
    expect((await list('search=%20&per_page=100')).meta.total).toBe((await list('per_page=100')).meta.total);
  });
});

describe('near', () => {
  const near = `near=${PLACE.lat},${PLACE.lng}`;
  const expected = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11].map((north) => `step ${north}`);

  test('gyms are listed nearest first at any distance, without gyms that have no location', async () => {
    const listed = await names(`${near}&per_page=100`);
    expect(listed.slice(0, expected.length)).toEqual(expected);
    expect(listed.slice(expected.length).toSorted()).toEqual(
      ['Iron Paradise', 'باشگاه علی', 'می\u200cخواهم'].toSorted(),
    );
    expect((await list(near)).meta.total).toBe(listed.length);
  });

  test('the caller’s inactive gym is listed by its distance', async () => {
    expect(await names(`${near}&per_page=4`, member(13))).toEqual(['step 0', 'step 1', 'step 2', 'step 3']);
  });

  test.each([
    ['latitude', { location_lat: -70, location_lng: 10 }, { location_lat: -40 }],
    ['longitude', { location_lat: -40, location_lng: 60 }, { location_lng: 10 }],
  ])('a gym whose %s alone changed is found at its new location', async (_name, from, to) => {
    const made: number[] = [];
    for (const step of [1, 2, 3])
      made.push(await harness.createGym(member(15), { location_lat: -40 + step / 10_000, location_lng: 10 }));
    const id = await harness.createGym(member(15), { name: 'moved', ...from });
    const nearest = async () => (await names('near=-40,10&per_page=1'))[0];
    expect(await nearest()).not.toBe('moved');
    await harness.send('PUT', `/gyms/${id}`, { as: member(15), body: to });
    expect(await nearest()).toBe('moved');
    for (const gym of [...made, id]) await harness.send('DELETE', `/gyms/${gym}`, { as: member(15) });
  });

  test('distance can be combined with a search and a filter', async () => {
    expect(await names(`${near}&search=step%201`)).toEqual(['step 1', 'step 10', 'step 11']);
    expect(await names(`${near}&user_id=13&per_page=2`, member(13))).toEqual(['step 0', 'step 1']);
  });

  test.each(['page', 'cursor'])('paging by %s lists every gym once, in order', async (mode) => {
    const seen: string[] = [];
    for (let query: string | null = `${near}&per_page=2`, page = 1; query !== null; page += 1) {
      const { data, meta } = await list(query);
      seen.push(...data.map((gym: { name: string }) => gym.name));
      const next = mode === 'page' ? `page=${page + 1}` : `cursor=${meta.next_cursor}`;
      query = meta.next_cursor === null ? null : `${near}&per_page=2&${next}`;
    }
    expect(seen).toEqual(await names(`${near}&per_page=100`));
  });

  test('distances are correct across the date line and around a pole', async () => {
    const made = [
      await harness.createGym(member(15), { name: 'east', location_lat: 0, location_lng: 179.99 }),
      await harness.createGym(member(15), { name: 'west', location_lat: 0, location_lng: -179.98 }),
      await harness.createGym(member(15), { name: 'pole', location_lat: 89.9, location_lng: -90 }),
    ];
    expect(await names('near=0,-179.999&per_page=2')).toEqual(['east', 'west']);
    expect(await names('near=89.95,90&per_page=1')).toEqual(['pole']);
    for (const id of made) await harness.send('DELETE', `/gyms/${id}`, { as: member(15) });
  });
});

describe('pages', () => {
  test('pages and cursors list every gym once, and a page past the end is empty', async () => {
    const all = (await list('per_page=100')).data.map((gym: { id: number }) => gym.id);
    const byCursor: number[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const body: Awaited<ReturnType<typeof list>> = await list(
        `per_page=4${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      byCursor.push(...body.data.map((gym: { id: number }) => gym.id));
      cursor = body.meta.next_cursor;
    }
    expect(byCursor).toEqual(all);
    const last = await list(`per_page=4&page=${Math.ceil(all.length / 4)}`);
    expect(last.data.at(-1).id).toBe(all.at(-1));
    expect([last.meta.next_cursor, last.links.next]).toEqual([null, null]);
    expect((await list('page=334')).data).toEqual([]);
  });

  test('a page without boosts makes no call', async () => {
    for (const query of ['per_page=1', 'per_page=100', 'near=30,50']) {
      harness.standIns.calls.length = 0;
      await list(query);
      expect(harness.standIns.calls.map((call) => call.method).toSorted()).toEqual([]);
    }
    harness.standIns.calls.length = 0;
    await list('city_id=99999');
    expect(harness.standIns.calls).toEqual([]);
  });
});

describe('searches with many results', () => {
  const FOUND = 1_001;
  beforeAll(async () => {
    const id = await harness.createGym(member(14), { name: 'Plenum', location_lat: 20, location_lng: 20 });
    await fillLike(harness.connection, 'gyms', (n) => ({ _id: id + n }), { name: 'Plenum' }, FOUND - 1);
    await fillLike(harness.connection, 'gyms_texts', (n) => ({ row: id + n }), { row: id }, FOUND - 1);
    await harness.connection
      .collection('gym_counters')
      .updateOne(
        { _id: 0 as never },
        { $inc: { active_placed: FOUND - 1 }, $max: { newest: id + FOUND - 1 } },
      );
  });

  test.each(['', '&near=20,20'])(
    'a search with more than 1,000 results has no total and no last page on any page%s',
    async (near) => {
      for (const page of [1, 2]) {
        const { data, meta, links } = await list(`search=plenum&page=${page}${near}`);
        expect(data).toHaveLength(30);
        expect([meta.total, meta.last_page, links.last]).toEqual([null, null, null]);
        expect([typeof meta.next_cursor, typeof links.next]).toEqual(['string', 'string']);
      }
      const last = await list(`search=plenum&page=34${near}`);
      expect([last.data.length, last.meta.total, last.links.next]).toEqual([11, null, null]);
    },
  );

  test('a search with 1,000 results is counted, even among the nearest gyms', async () => {
    await harness.connection.collection('gyms').deleteOne({ name: 'Plenum' });
    const { meta, links } = await list('search=plenum&near=20,20');
    expect([meta.total, meta.last_page, links.last]).toEqual([1_000, 34, expect.any(String)]);
  });
});
