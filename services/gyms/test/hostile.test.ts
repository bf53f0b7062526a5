import { encodeCursor } from '@fitness/shared/http/pagination.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { gatewayContext } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Harness, member, openHarness, operator } from './support.ts';

let harness: Harness;
let gymId: number;
beforeAll(async () => {
  harness = await openHarness();
  gymId = await harness.createGym(member(10), { city_id: 1, major_ids: '1,2' });
});
afterAll(() => harness.close());

/** Sends a body as text, because JSON has values that JSON.stringify never writes. */
const send = async (
  method: string,
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
) => {
  const context = gatewayContext('gyms', operator(10));
  const response = await fetch(`${harness.url}/api/v1${path}`, {
    method,
    headers: { [CALLER_HEADER]: context, 'content-type': 'application/json', ...headers },
    body: body as never,
  });
  return { status: response.status, body: (await response.json()) as { errors?: Record<string, string[]> } };
};

const everything = async () => {
  const [gyms, ratings, counters] = await Promise.all(
    ['gyms', 'gym_ratings', 'gym_counters'].map((name) =>
      harness.connection.collection(name).find({}).toArray(),
    ),
  );
  return { gyms, ratings, counters };
};

const SHAPES = ['[]', '[1]', '["1"]', '{}', '{"$gt":""}', '{"$ne":null}', '{"$set":{"name":"x"}}'];
const text = (max: number) => [
  ...SHAPES,
  '5',
  '-0',
  'true',
  '1e400',
  `"${'x'.repeat(max + 1)}"`,
  '"\\ud83d"',
  '"a\\udcaa"',
];
const degrees = (max: number) => [
  ...SHAPES,
  ...[
    '"35.7"',
    '"NaN"',
    '""',
    'true',
    `${max}.0000001`,
    `-${max}.0000001`,
    '9007199254740993',
    '1e308',
    '1e400',
  ],
];
const SWITCH = [...SHAPES, '"true"', '""', '0', '1', '-0'];
const REFERENCE = [
  ...SHAPES,
  ...['0', '-0', '-1', '1.5', '1e308', '1e400', '9007199254740993', '-9007199254740993', '"1"', '""', 'true'],
];
const MAJORS = [
  ...SHAPES,
  ...[
    '1',
    '0',
    'true',
    '""',
    '" "',
    '"00"',
    '"01"',
    '"-1"',
    '"-0"',
    '"1.5"',
    '"1e1"',
    '"NaN"',
    '"1;2"',
    '"۱"',
  ],
  ...['"0,1"', '"1,0"', '"0,0"', '"1,"', '",1"', '"1,,2"', '"9007199254740993"', `"1${',1'.repeat(250)}"`],
];
const WRONG: Record<string, string[]> = {
  name: text(255),
  address: text(255),
  description: text(2_000),
  location_lat: degrees(90),
  location_lng: degrees(180),
  is_active: SWITCH,
  show_crowd: SWITCH,
  city_id: REFERENCE,
  major_ids: MAJORS,
};

/**
 * Sends each wrong value of a field with valid other fields. Returns the responses other than a 422 under
 * that field alone.
 */
const unexpectedAnswers = async (
  method: string,
  path: string,
  field: string,
  values: readonly string[],
  validFields: Record<string, unknown> = {},
): Promise<unknown[]> => {
  const others = Object.entries(validFields).filter(([name]) => name !== field);
  const failures: unknown[] = [];
  for (const value of values) {
    const fields = [
      ...others.map(([name, right]) => `"${name}":${JSON.stringify(right)}`),
      `"${field}":${value}`,
    ];
    const answer = await send(method, path, `{${fields.join(',')}}`);
    const names = Object.keys(answer.body.errors ?? {});
    if (answer.status !== 422 || names.join() !== field) failures.push([value, answer.status, names]);
  }
  return failures;
};

describe('wrong values', () => {
  test.each([
    ...Object.keys(WRONG),
    'user_id',
    'gym_license_image',
    'gym_license_approved',
    'gym_license_rejection_reason',
    'gym_license_media_id',
  ])('PUT /gyms/{id} with a wrong %s returns 422 under it and changes nothing', async (field) => {
    const wrong = {
      ...WRONG,
      user_id: REFERENCE,
      gym_license_image: [...SHAPES, 'false', 'true', '0', '""', '"null"', '"license.pdf"'],
      gym_license_approved: SWITCH,
      gym_license_rejection_reason: text(2_000),
      gym_license_media_id: REFERENCE,
    };
    const before = await everything();
    const validFields = { name: 'Never', description: 'Never' };
    expect(
      await unexpectedAnswers(
        'PUT',
        `/gyms/${gymId}`,
        field,
        wrong[field as keyof typeof wrong] ?? [],
        validFields,
      ),
    ).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  test.each(Object.keys(WRONG))(
    'POST /gyms with a wrong %s returns 422 under it and stores nothing',
    async (field) => {
      const before = await everything();
      const validFields = { name: 'Never', address: 'Nowhere', location_lat: 1, location_lng: 1 };
      const clearable = ['description', 'city_id', 'major_ids'].includes(field);
      // The fields of both routes have the same rules, of which PUT tests each.
      const some = (WRONG[field] ?? []).filter((_, index) => index % 4 === 0);
      const values = [...some, ...(clearable ? [] : ['null'])];
      expect(await unexpectedAnswers('POST', '/gyms', field, values, validFields)).toEqual([]);
      expect(await everything()).toEqual(before);
    },
  );

  test.each<[string, string, string[], Record<string, unknown>]>([
    ['rating', 'score', [...REFERENCE, '6', 'null'], {}],
    [
      'crowd',
      'current',
      [...REFERENCE, '100001', 'null'].filter((value) => !['0', '-0'].includes(value)),
      { capacity: 5 },
    ],
    ['crowd', 'capacity', [...REFERENCE, '100001', 'null'], { current: 1 }],
    ['working-periods', 'working_periods', ['{}', '{"$gt":""}', '"[]"', '5', 'null', 'true'], {}],
  ])(
    'PUT /gyms/{id}/%s with a wrong %s returns 422 under it and changes nothing',
    async (route, field, values, validFields) => {
      const before = await everything();
      expect(await unexpectedAnswers('PUT', `/gyms/${gymId}/${route}`, field, values, validFields)).toEqual(
        [],
      );
      expect(await everything()).toEqual(before);
    },
  );

  test.each(['weekday', 'opens_at', 'closes_at'])(
    'a wrong %s of a working period is rejected with 422 under it and changes nothing',
    async (field) => {
      const before = await everything();
      const times = [
        ...SHAPES,
        '8',
        'null',
        '""',
        '"8:00"',
        '"08:60"',
        '"25:00"',
        '"08:00:00"',
        '"08:00\\n"',
        '"۰۸:۰۰"',
      ];
      const days = [...SHAPES, '-1', '7', '0.5', '"0"', 'null', '1e400', 'true'];
      const period = { weekday: 0, opens_at: '08:00', closes_at: '09:00' };
      for (const value of field === 'weekday' ? days : times) {
        const own = Object.entries(period).map(
          ([name, right]) => `"${name}":${name === field ? value : JSON.stringify(right)}`,
        );
        const answer = await send(
          'PUT',
          `/gyms/${gymId}/working-periods`,
          `{"working_periods":[{${own.join(',')}}]}`,
        );
        expect([value, answer.status, Object.keys(answer.body.errors ?? {})]).toEqual([
          value,
          422,
          [`working_periods.0.${field}`],
        ]);
      }
      expect(await everything()).toEqual(before);
    },
  );

  test('a body that is no object, no JSON, too long or of another media type is refused', async () => {
    const before = await everything();
    const path = `/gyms/${gymId}`;
    for (const body of ['[]', '[{"name":"Never"}]', '"name"', '5', 'true'])
      expect(await send('PUT', path, body)).toMatchObject({
        status: 422,
        body: { errors: { body: expect.anything() } },
      });
    const broken = [
      '{',
      '{"name":"Never",}',
      "{'name':1}",
      '{"name":NaN}',
      '{"name":"a\nb"}',
      '{"__proto__":{"name":1}}',
    ];
    for (const body of [...broken, Buffer.from('{"name":"\xff"}', 'latin1')])
      expect([body, (await send('PUT', path, body)).status]).toEqual([body, 400]);
    const name = `{"name":"${'x'.repeat(1_100_000)}"}`;
    expect((await send('PUT', path, name)).status).toBe(413);
    expect((await send('PUT', path, '{"name":"Never"}', { 'content-type': 'text/plain' })).status).toBe(415);
    expect(await everything()).toEqual(before);
  });
});

describe('unusual but valid values', () => {
  test('minus zero is stored as zero, and the gym is found there', async () => {
    const id = await harness.createGym(member(11));
    const answer = await send('PUT', `/gyms/${id}`, '{"location_lat":-0,"location_lng":-0.0}');
    expect(answer).toMatchObject({ status: 200, body: { gym: { location_lat: 0, location_lng: 0 } } });
    expect((await harness.send('GET', '/gyms?near=0,-0&per_page=1')).body.data[0].id).toBe(id);
    await harness.send('DELETE', `/gyms/${id}`, { as: member(11) });
  });

  test('duplicate ids are stored once, with or without white space', async () => {
    const id = await harness.createGym(member(11), { major_ids: '2,1,2' });
    const majorsOf = async (major_ids: string) =>
      (await harness.send('PUT', `/gyms/${id}`, { as: member(11), body: { major_ids } })).body.gym.majors.map(
        (major: { id: number }) => major.id,
      );
    expect(await majorsOf(' 3 ,3, 1,3 ')).toEqual([3, 1]);
    expect(await majorsOf(' 0 ')).toEqual([]);
    await harness.send('DELETE', `/gyms/${id}`, { as: member(11) });
  });

  test('coordinates and texts at their limits are accepted', async () => {
    const body = {
      name: 'x'.repeat(255),
      address: 'y'.repeat(255),
      description: 'z'.repeat(2_000),
      location_lat: -90,
      location_lng: 180,
      gym_license_approved: false,
      gym_license_rejection_reason: 'r'.repeat(2_000),
    };
    const id = await harness.createGym(member(11));
    const answer = await harness.send('PUT', `/gyms/${id}`, { as: operator(), body });
    expect([answer.status, answer.body.gym]).toEqual([200, expect.objectContaining(body)]);
    for (const near of ['-90,180', '-90,-180', '90,0'])
      expect((await harness.send('GET', `/gyms?near=${near}`)).status).toBe(200);
    await harness.send('DELETE', `/gyms/${id}`, { as: member(11) });
  });

  test('combining marks, format characters and the lines of an address are returned as they were sent', async () => {
    const [name, address] = ['a\u064bb\u200c', '\u200fb\n\u064b\u200c'];
    const id = await harness.createGym(member(11), { name, address });
    const { gym } = (await harness.send('GET', `/gyms/${id}`)).body;
    expect([gym.name, gym.address]).toEqual([name, address]);
    await harness.send('DELETE', `/gyms/${id}`, { as: member(11) });
  });
});

describe('queries', () => {
  const NUMBERS = ['', '0', '-1', '1.5', 'abc', '1e3', 'NaN', '٣', '%00', '9'.repeat(400), '1&X=2'];
  const IDS = [...NUMBERS, '9007199254740993', '[]', '{"$gt":0}'];
  const CURSORS = [
    '',
    'x',
    '1',
    ...['[]', '[null]', '["1"]', '{"$gt":1}', '[1e999]', '[[1]]', '[1,2,3]', 'null'],
  ].map((cursor) => (cursor.length > 1 ? Buffer.from(cursor).toString('base64url') : cursor));
  /** Numbers that are not ids. */
  const KEYS = [-1, 1.5, 1e308, -1e308];
  const cursorOf = (path: string, key: number[], order?: string): string =>
    encodeCursor(key, { url: `/api/v1${path}`, order });
  const WRONG_QUERIES: [string, string, string[]][] = [
    ['/gyms', 'page', NUMBERS],
    ['/gyms', 'per_page', NUMBERS],
    [
      '/gyms',
      'cursor',
      [
        ...CURSORS,
        ...KEYS.map((id) => cursorOf('/gyms', [0, id])),
        cursorOf('/gyms', [1]),
        cursorOf('/gyms', [1, 2], 'near'),
        'W'.repeat(501),
        `${cursorOf('/gyms', [1, 2])}&X=x`,
      ],
    ],
    [
      '/gyms?near=1,1',
      'cursor',
      [
        ...CURSORS,
        ...KEYS.map((id) => cursorOf('/gyms', [0, id], 'near')),
        cursorOf('/gyms', [1], 'near'),
        cursorOf('/gyms', [-1, 1], 'near'),
        cursorOf('/gyms', [1, 2]),
      ],
    ],
    ['/gyms', 'page', ['335', '101&per_page=100', '999999999&near=1,1', '335&search=gym']],
    ['/gyms', 'city_id', IDS],
    ['/gyms', 'user_id', IDS],
    ['/gyms', 'major_ids', ['', '0', '1,0', '1,,2', 'a', '-1', '[1]', '9007199254740993', '1&X=2']],
    [
      '/gyms',
      'near',
      ['', '1', ',', '1,', '1,2,3', '91,0', '0,180.1', 'NaN,0', 'Infinity,0', '1e1,0', '--1,0', '1,1&X=2,2'],
    ],
    ['/gyms', 'search', ['x'.repeat(256), 'a&X=b']],
    ['/cities', 'state_id', IDS],
    ['/cities', 'cursor', [...CURSORS, cursorOf('/cities', [1, 2]), cursorOf('/majors', [1])]],
    ['/cities', 'page', NUMBERS],
    ['/majors', 'cursor', [...CURSORS, cursorOf('/majors', [1, 2]), cursorOf('/cities', [1])]],
    ['/majors', 'page', ['335']],
    ['/majors', 'per_page', NUMBERS],
  ];
  test.each(WRONG_QUERIES)(
    'GET %s with a wrong %s returns 422, and an empty one is ignored',
    async (path, field, values) => {
      for (const value of values) {
        const query = `${path}${path.includes('?') ? '&' : '?'}${field}=${value.replaceAll('X', field)}`;
        const answer = await harness.send('GET', query);
        const expected = value === '' ? [query, 200, []] : [query, 422, [field]];
        expect([query, answer.status, Object.keys(answer.body.errors ?? {})]).toEqual(expected);
      }
    },
  );

  test.each([
    ...[
      'foo=bar',
      'city_id[$gt]=1',
      'city_id[]=1',
      '__proto__=1',
      '__proto__[x]=1',
      'constructor=1',
      '=',
      '&&',
      '%',
    ],
    ...[
      'search=',
      'search=%00',
      'search=%ED%A0%BD',
      'search=%F0%9F',
      'search=.*%24(',
      'search=%D9%8B',
      'search=a.b%24gt',
    ],
    ...[0, 1, 0.5, 1e308].map((rank) => `cursor=${cursorOf('/gyms', [rank, 1])}`),
    ...[0, 0.5, 1e308].map((meters) => `near=1,1&cursor=${cursorOf('/gyms', [meters, 1], 'near')}`),
    ...['page=334', 'page=100&per_page=100', 'near=1,1&page=334', 'search=gym&page=334'],
    ...['city_id=9007199254740991', 'user_id=9007199254740991', 'major_ids=999999999999999', 'near=%2B1,-0'],
  ])('GET /gyms?%s returns 200', async (query) => {
    expect((await harness.send('GET', `/gyms?${query}`, { as: operator() })).status).toBe(200);
  });

  test('a page has at most 100 items', async () => {
    for (const path of ['/gyms', '/gyms?near=1,1', '/cities', '/majors']) {
      const per = async (perPage: number): Promise<number> => {
        const { body } = await harness.send(
          'GET',
          `${path}${path.includes('?') ? '&' : '?'}per_page=${perPage}`,
        );
        expect(body.data.length).toBeLessThanOrEqual(body.meta.per_page);
        return body.meta.per_page;
      };
      expect([await per(1), await per(100), await per(101), await per(999_999_999)]).toEqual([
        1, 100, 100, 100,
      ]);
    }
  });
});

describe('paths and headers', () => {
  test('an id that is not a positive integer is rejected with 404', async () => {
    const ids = [
      '0',
      '-1',
      '-0',
      '1.5',
      '1e1',
      '0x1',
      'abc',
      'null',
      'NaN',
      '9007199254740993',
      '%00',
      '1%20',
      '٣',
      '9'.repeat(2_000),
    ];
    for (const id of ids) {
      const path = `/gyms/${id}`;
      const statuses = [
        (await harness.send('GET', path, { as: operator() })).status,
        (await harness.send('PUT', path, { as: operator(), body: { name: 'Never' } })).status,
        (await harness.send('PUT', `${path}/rating`, { as: operator(), body: { score: 1 } })).status,
        (await harness.send('DELETE', path, { as: operator() })).status,
      ];
      expect([id, ...statuses]).toEqual([id, 404, 404, 404, 404]);
    }
  });

  test('malformed headers are ignored', async () => {
    const odd = [
      { 'accept-language': 'x'.repeat(4_000) },
      { 'accept-language': ';;,,*;q=9,fa;q=NaN' },
      { traceparent: '00-zz-zz-zz' },
      { 'x-request-id': 'two words' },
      { 'x-request-id': 'x'.repeat(4_000) },
      { accept: 'text/html' },
      { range: 'bytes=0-1' },
      { 'if-none-match': 'unquoted' },
    ];
    for (const headers of odd) {
      const answer = await harness.send('GET', `/gyms/${gymId}`, { headers });
      expect([headers, answer.status, answer.headers.get('content-language')]).toEqual([
        headers,
        200,
        expect.stringMatching(/^(en|fa)$/),
      ]);
      expect(answer.headers.get('x-request-id')).toMatch(/^[\w-]{1,128}$/);
    }
  });

  test('an unsigned or forged caller context is rejected with 401, even where guests have access', async () => {
    const guest = gatewayContext('gyms');
    for (const forged of [
      '',
      'x',
      `${guest}x`,
      `${guest}, ${guest}`,
      guest.split('.').slice(0, 2).join('.'),
    ]) {
      const answer = await harness.send('GET', '/gyms', { headers: { [CALLER_HEADER]: forged } });
      expect(answer.status).toBe(401);
    }
  });
});
