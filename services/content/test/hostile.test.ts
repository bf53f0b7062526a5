import { encodeCursor } from '@fitness/shared/http/pagination.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { caller, gatewayContext } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Harness, openHarness } from './support.ts';

const USER = 'App\\Models\\User';
const seller = caller(10);
const buyer = caller(11);

let harness: Harness;
let postId: number;
let serviceId: number;
beforeAll(async () => {
  harness = await openHarness();
  const post = { profile_type: USER, profile_id: 10, title: 'Title', content: 'Content' };
  postId = (await harness.send('POST', '/posts', { as: seller, body: post })).body.data.id;
  const service = { title: 'Title', description: '', price: 5, duration_days: 1 };
  serviceId = (await harness.send('POST', '/training-services', { as: seller, body: service })).body.data.id;
});
afterAll(() => harness.close());

/** Sends the body as written, because JSON has values that JavaScript cannot serialize. */
const send = async (
  method: string,
  path: string,
  body: string,
  { as = seller, headers = {} }: { as?: typeof seller; headers?: Record<string, string> } = {},
) => {
  const context = gatewayContext('content', as);
  const response = await fetch(`${harness.content.url}/api/v1${path}`, {
    method,
    headers: { [CALLER_HEADER]: context, 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: response.status, body: (await response.json()) as { errors?: Record<string, string[]> } };
};

const everything = async () => {
  const names = ['posts', 'profiles', 'counters', 'training_services', 'trainees', 'purchase_keys'];
  return Promise.all(names.map((name) => harness.connection.collection(name).find({}).toArray()));
};

const SHAPES = ['null', '[]', '[1]', '["1"]', '{}', '{"$gt":""}', '{"$ne":null}', '{"$set":{"title":"x"}}'];
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
const SWITCH = [...SHAPES, '"true"', '""', '0', '1', '-0'];
const whole = (max: number) => [
  ...SHAPES,
  ...[
    '0',
    '-0',
    '-1',
    '1.5',
    `${max + 1}`,
    '1e308',
    '1e400',
    '9007199254740993',
    '"1"',
    '"NaN"',
    '""',
    'true',
  ],
];
const POST: Record<string, string[]> = {
  title: [...text(255), '""', '" \\t "'],
  content: [...text(20_000), '""'],
  is_draft: SWITCH,
  in_blog: SWITCH,
};
const PLACE: Record<string, string[]> = {
  profile_type: [
    ...SHAPES,
    '""',
    '"user"',
    '"App\\\\Models\\\\Posts\\\\Post"',
    '"App\\\\Models\\\\User,App\\\\Models\\\\Gym"',
  ],
  profile_id: whole(Number.MAX_SAFE_INTEGER),
};
const SERVICE: Record<string, string[]> = {
  title: [...text(255), '""', '"  "'],
  description: text(5_000),
  price: whole(1_000_000_000),
  duration_days: whole(3_650),
  is_active: SWITCH,
};

type Case = [
  method: string,
  /** `:post` and `:service` are ids of `seller`. */
  path: string,
  field: string,
  values: string[],
  beside: object,
  as?: typeof seller,
];
const rightPost = { profile_type: USER, profile_id: 10, title: 'Never', content: 'Never' };
const rightService = { title: 'Never', description: '', price: 1, duration_days: 1 };
const CASES: Case[] = [
  ...Object.entries({ ...POST, ...PLACE }).map(
    ([field, values]): Case => ['POST', '/posts', field, values, rightPost],
  ),
  ...Object.entries(POST).map(
    ([field, values]): Case => ['PUT', '/posts/:post', field, values, { title: 'Never', content: 'Never' }],
  ),
  ...Object.entries(SERVICE).flatMap(([field, values]): Case[] => [
    // Both routes have the same rules, of which PUT tests each.
    ['POST', '/training-services', field, values.filter((_, index) => index % 4 === 0), rightService],
    ['PUT', '/training-services/:service', field, values, { title: 'Never', price: 7 }],
  ]),
  ['POST', '/training-services/:service/purchase', 'price', whole(1_000_000_000), {}, buyer],
];

describe('a wrong value returns 422 under its field, and nothing changes', () => {
  test.each(CASES)(
    '%s %s: a wrong value of %s is rejected with 422',
    async (method, path, field, values, beside, as = seller) => {
      const before = await everything();
      const failures: unknown[] = [];
      const ownPath = path.replace(':post', String(postId)).replace(':service', String(serviceId));
      for (const value of values) {
        const others = Object.entries(beside)
          .filter(([name]) => name !== field)
          .map(([name, right]) => `${JSON.stringify(name)}:${JSON.stringify(right)}`);
        const answer = await send(method, ownPath, `{${[...others, `"${field}":${value}`].join(',')}}`, {
          as,
        });
        const names = Object.keys(answer.body.errors ?? {});
        if (answer.status !== 422 || names.join() !== field) failures.push([value, answer.status, names]);
      }
      expect(failures).toEqual([]);
      expect(await everything()).toEqual(before);
      expect(harness.standIns.booked.size).toBe(0);
    },
  );

  test.each([
    ['a null byte', '"a\\u0000b"'],
    ['a text of marks alone', '"\\u064b\\u200c"'],
    ['a thousand brackets', `${'['.repeat(1_000)}${']'.repeat(1_000)}`],
  ])('%s in any field is not a 500', async (_name, value) => {
    for (const [path, valid, fields] of [
      ['/posts', rightPost, { ...POST, ...PLACE }],
      ['/training-services', rightService, SERVICE],
    ] as const)
      for (const field of Object.keys(fields)) {
        const others = JSON.stringify({ ...valid, [field]: undefined }).slice(1);
        const { status } = await send('POST', path, `{"${field}":${value},${others}`);
        expect([path, field, status < 500]).toEqual([path, field, true]);
      }
  });

  test('a body that is not an object, not JSON, too long, or of another content type is refused', async () => {
    const before = await everything();
    for (const path of [`/posts/${postId}`, `/training-services/${serviceId}`]) {
      for (const body of ['[]', '[{"title":"Never"}]', '"title"', '5', 'true'])
        expect(await send('PUT', path, body)).toMatchObject({
          status: 422,
          body: { errors: { body: expect.anything() } },
        });
      for (const body of ['{', '{"title":"Never",}', '{"title":NaN}', '{"__proto__":{"title":"x"}}'])
        expect([body, (await send('PUT', path, body)).status]).toEqual([body, 400]);
      expect((await send('PUT', path, `{"title":"${'x'.repeat(1_100_000)}"}`)).status).toBe(413);
      const headers = { 'content-type': 'text/plain' };
      expect((await send('PUT', path, '{"title":"Never"}', { headers })).status).toBe(415);
    }
    expect(await everything()).toEqual(before);
  });

  test('an Idempotency-Key that is empty, too long, or not visible ASCII is rejected with 422', async () => {
    const before = await everything();
    for (const key of ['', 'two words', 'x'.repeat(256), 'tab\tbed', 'é'])
      expect([
        key,
        await send('POST', `/training-services/${serviceId}/purchase`, '{}', {
          as: buyer,
          headers: { 'idempotency-key': key },
        }),
      ]).toMatchObject([key, { status: 422, body: { errors: { idempotency_key: expect.anything() } } }]);
    expect(await everything()).toEqual(before);
    expect(harness.standIns.booked.size).toBe(0);
  });

  test('fields of a post that cannot be changed are ignored', async () => {
    const body =
      '{"id":1,"profile_type":"x","profile_id":-1,"created_at":null,"version":9,"$set":{"title":"x"}}';
    const before = (await harness.send('GET', `/posts/${postId}`)).body.data;
    const answer = await send('PUT', `/posts/${postId}`, body);
    expect(answer).toMatchObject({
      status: 200,
      body: { data: { ...before, updated_at: expect.any(String) } },
    });
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
  /** None of these is an id. */
  const KEYS = [-1, 1.5, 1e308, -1e308];
  const cursorOf = (path: string, key: number[]): string => encodeCursor(key, { url: `/api/v1${path}` });
  const PRICES = ['', '-1', '1.5', 'abc', '1e3', 'NaN', '9'.repeat(16), '1&X=2'];
  const WRONG: [string, string, string[]][] = [
    ['/posts', 'page', [...NUMBERS, '335', '101&per_page=100', '999999999']],
    ['/posts', 'per_page', NUMBERS],
    [
      '/posts',
      'cursor',
      [
        ...CURSORS,
        ...KEYS.map((key) => cursorOf('/posts', [key])),
        cursorOf('/posts', [1, 2]),
        cursorOf('/trainees', [1]),
        'W'.repeat(501),
        `${cursorOf('/posts', [1])}&X=x`,
      ],
    ],
    ['/posts', 'type', ['', ',', USER.toLowerCase(), `${USER},`, '[]', `${USER}&X=${USER}`]],
    [
      '/posts',
      'item_id',
      ['', '-1', '1.5', '1,', '1,,2', 'a', '1e3', '9'.repeat(16), Array(101).fill(1).join(), '1&X=2'],
    ],
    ['/posts', 'in_blog', ['', 'yes', 'TRUE', '2', 'null', 'true&X=true']],
    ['/posts', 'order', ['', 'asc', 'ASC%20', 'random', '1', 'ASC&X=DESC']],
    ['/posts', 'search', ['x'.repeat(201), 'a&X=b']],
    ['/training-services', 'page', [...NUMBERS, '10001&per_page=1']],
    [
      '/training-services',
      'cursor',
      [
        ...CURSORS,
        ...KEYS.map((key) => cursorOf('/training-services', [0, key])),
        cursorOf('/training-services', [1]),
        cursorOf('/training-services', [-1, 1]),
      ],
    ],
    ['/training-services', 'user_id', IDS],
    ['/training-services', 'min_price', PRICES],
    ['/training-services', 'max_price', PRICES],
    ['/training-services', 'search', ['x'.repeat(201), 'a&X=b']],
    ['/trainees', 'per_page', NUMBERS],
    ['/trainees', 'page', ['335']],
    [
      '/trainees',
      'cursor',
      [
        ...CURSORS,
        ...KEYS.map((key) => cursorOf('/trainees', [key])),
        cursorOf('/trainees', [1, 2]),
        cursorOf('/posts', [1]),
      ],
    ],
    ['/trainees', 'role', ['', 'owner', 'BUYER', 'buyer&X=seller']],
    ['/trainees', 'training_service_id', IDS],
    ['/trainees', 'is_delivered', ['', 'no', 'true&X=true']],
  ];
  test.each(WRONG)(
    'GET %s: a wrong %s returns 422 under its name, and an empty one is treated as absent',
    async (path, field, values) => {
      for (const value of values) {
        const query = `${path}?${field}=${value.replaceAll('X', field)}`;
        const answer = await harness.send('GET', query, { as: buyer });
        const expected = value === '' ? [query, 200, []] : [query, 422, [field]];
        expect([query, answer.status, Object.keys(answer.body.errors ?? {})]).toEqual(expected);
      }
    },
  );

  const ODD = [
    'foo=bar',
    '__proto__=1',
    '__proto__[x]=1',
    'constructor=1',
    '=',
    '&&',
    '%',
    'page=100&per_page=100',
  ];
  const TEXTS = ['', '%00', '%ED%A0%BD', '%F0%9F', '.*%24(', '%D9%8B', 'a.b%24gt', '%20'].map(
    (value) => `search=${value}`,
  );
  test.each([
    ...[...ODD, ...TEXTS, 'item_id[$gt]=1', 'item_id=0,0', 'search=t&page=334'].map(
      (query) => `/posts?${query}`,
    ),
    ...['order=ASC', 'order=DESC', 'search=t'].map(
      (query) => `/posts?${query}&cursor=${cursorOf('/posts', [Number.MAX_SAFE_INTEGER])}`,
    ),
    ...[...ODD, ...TEXTS, 'user_id=9007199254740991', 'min_price=9&max_price=1', 'max_price=0'].map(
      (query) => `/training-services?${query}`,
    ),
    ...[0, 1, 0.5, 1e308].map(
      (rank) => `/training-services?cursor=${cursorOf('/training-services', [rank, 1])}`,
    ),
    ...[...ODD, 'training_service_id=9007199254740991'].map((query) => `/trainees?${query}`),
  ])('GET %s returns 200', async (query) => {
    expect((await harness.send('GET', query, { as: buyer })).status).toBe(200);
  });

  test('a page holds 1 to 100 rows for any per_page', async () => {
    for (const path of ['/posts', '/training-services', '/trainees']) {
      const per = async (perPage: number): Promise<number> =>
        (await harness.send('GET', `${path}?per_page=${perPage}`, { as: buyer })).body.meta.per_page;
      expect([await per(1), await per(100), await per(101), await per(999_999_999)]).toEqual([
        1, 100, 100, 100,
      ]);
      expect((await harness.send('GET', path, { as: buyer })).body.meta.per_page).toBe(30);
    }
  });
});

test('an id that is not a positive integer is rejected with 404', async () => {
  const ids = [
    '0',
    '-1',
    '-0',
    '1.5',
    '1e1',
    '0x1',
    'abc',
    'NaN',
    '9007199254740993',
    '%00',
    '1%20',
    '٣',
    '9'.repeat(2_000),
  ];
  for (const id of ids) {
    const routes = [
      ['GET', `/posts/${id}`],
      ['PUT', `/posts/${id}`],
      ['DELETE', `/posts/${id}`],
      ['GET', `/training-services/${id}`],
      ['PUT', `/training-services/${id}`],
      ['DELETE', `/training-services/${id}`],
      ['POST', `/training-services/${id}/purchase`],
      ['POST', `/trainees/${id}/deliver`],
    ] as const;
    for (const [method, path] of routes)
      expect([path, (await harness.send(method, path, { as: buyer })).status]).toEqual([path, 404]);
  }
});
