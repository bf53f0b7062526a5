/** Conditions, ranges and ids that client libraries do not send. */
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RawAnswer, sendRaw } from './raw.ts';
import { GYM, type Harness, INACTIVE_GYM, OWNER, openHarness, pdf, STRANGER, VIEWER } from './support.ts';

let harness: Harness;
/** Id of a file of 1,000 bytes. */
let id: number;
let etag: string;
const content = Buffer.from(pdf(1_000).map((byte, index) => (index < 100 ? byte : index % 251)));
beforeAll(async () => {
  harness = await openHarness();
  id = (await harness.upload(OWNER, GYM, content)).body.data.id;
  etag = (await get()).headers.etag ?? '';
});
afterAll(() => harness.close());

const get = (...headers: string[]): Promise<RawAnswer> =>
  sendRaw(harness.url, { as: GUEST, method: 'GET', path: `/api/v1/media/${id}`, headers });
const head = (...headers: string[]): Promise<RawAnswer> =>
  sendRaw(harness.url, { as: GUEST, method: 'HEAD', path: `/api/v1/media/${id}`, headers });

// `parseRanges` has a unit test with many more.
describe('one range', () => {
  test.each([
    ['bytes=-1', 999, 999],
    [`bytes=1-${'9'.repeat(5_000)}`, 1, 999],
    ['bytes= 2-3 ', 2, 3],
  ])('the range %s returns 206', async (range, start, end) => {
    const answer = await get(`range: ${range}`);
    expect([answer.status, answer.headers['content-range']]).toEqual([206, `bytes ${start}-${end}/1000`]);
    expect(answer.body).toEqual(content.subarray(start, end + 1));
  });

  test.each(['bytes=1000-', 'bytes=0-1;2-3', `bytes=${Array(1_000).fill('0-0').join(',')}`])(
    'the range %s is rejected with 416 and the size, without bytes',
    async (range) => {
      const answer = await get(`range: ${range}`);
      expect([answer.status, answer.headers['content-range'], answer.body.length]).toEqual([
        416,
        'bytes */1000',
        0,
      ]);
    },
  );

  test.each(['seconds=0-1', '=0-1'])(
    'the range %j is ignored, because it is not a byte range',
    async (range) => {
      const answer = await get(`range: ${range}`);
      expect([answer.status, answer.body.equals(content)]).toEqual([200, true]);
    },
  );

  test('two Range headers are rejected with 416', async () => {
    expect((await get('range: bytes=0-1', 'range: bytes=3-4')).status).toBe(416);
  });
});

test('overlapping and unordered ranges are returned in the order of the request', async () => {
  const answer = await get('range: bytes=10-19,5-14,0-0');
  expect(answer.status).toBe(206);
  expect(answer.body.length).toBe(Number(answer.headers['content-length']));
  const starts = [...answer.body.toString('latin1').matchAll(/content-range: bytes (\d+)-/g)].map(
    ([, at]) => at,
  );
  expect(starts).toEqual(['10', '5', '0']);
});

describe('conditions', () => {
  test.each<[string, (tag: string) => string, number]>([
    ['*', () => '*', 304],
    ['the tag', (tag) => tag, 304],
    ['a weak tag', (tag) => `W/${tag}`, 304],
    ['the last of 300', (tag) => `${Array(300).fill('"x"').join(', ')},${tag}`, 304],
    ['a list without spaces, with empty elements', (tag) => `,,"x",,${tag},`, 304],
    ['after a tag that contains a comma', (tag) => `"a, b", ${tag}`, 304],
    ['a star in a tag', () => '"*"', 200],
    ['a star between commas in a tag', () => '"a,*,b"', 200],
    ['the tag without quotes', (tag) => tag.slice(1, -1), 200],
    ['the beginning of the tag', (tag) => `${tag.slice(0, 20)}"`, 200],
    ['an unterminated tag', (tag) => tag.slice(0, -1), 200],
    ['an empty value', () => '', 200],
    ['a weak star', () => 'W/*', 200],
  ])('If-None-Match matches only the ETag or a star: %s', async (_name, header, status) => {
    const answer = await get(`if-none-match: ${header(etag)}`);
    expect([answer.status, answer.headers.etag]).toEqual([status, etag]);
  });

  test('HEAD has the same conditions as GET', async () => {
    for (const [header, status] of [
      [etag, 304],
      ['*', 304],
      ['"x"', 200],
    ] as const) {
      const answer = await head(`if-none-match: ${header}`);
      expect([answer.status, answer.headers.etag]).toEqual([status, etag]);
    }
  });

  test('a 304 has no body and no content-length of 0', async () => {
    const { headers, body } = await get(`if-none-match: ${etag}`);
    expect([body.length, headers['content-length'] ?? '1000']).toEqual([0, '1000']);
    expect(headers['transfer-encoding']).toBeUndefined();
  });

  test('If-None-Match takes precedence over Range and If-Range', async () => {
    const conditions = ['range: bytes=0-1', `if-range: ${etag}`];
    expect((await get(...conditions, `if-none-match: ${etag}`)).status).toBe(304);
    expect((await get(...conditions, 'if-none-match: "x"')).status).toBe(206);
  });

  test.each<[string, (tag: string) => string, number]>([
    ['the tag', (tag) => tag, 206],
    ['a list with the tag', (tag) => `"x", ${tag}`, 200],
    ['a star', () => '*', 200],
    ['an empty value', () => '', 200],
    ['a date', () => 'Sat, 01 Jan 2050 00:00:00 GMT', 200],
  ])('If-Range applies only with the exact ETag: %s', async (_name, header, status) => {
    expect((await get('range: bytes=0-1', `if-range: ${header(etag)}`)).status).toBe(status);
    // A range that does not apply is not validated.
    expect((await get('range: bytes=9-0', `if-range: ${header(etag)}`)).status).toBe(
      status === 206 ? 416 : 200,
    );
  });

  test('HEAD never has a body', async () => {
    for (const headers of [
      [],
      ['range: bytes=0-1'],
      ['range: bytes=0-1,5-6', `if-range: ${etag}`],
      ['range: bytes=-0'],
    ]) {
      const answer = await head(...headers);
      expect([answer.status, answer.headers['content-length'], answer.body.length]).toEqual([200, '1000', 0]);
    }
  });
});

describe('an invalid id', () => {
  test.each([
    '0',
    '00',
    '01',
    '+1',
    '-1',
    '1.0',
    '1e0',
    '0x1',
    'NaN',
    'null',
    '%00',
    '1%00',
    '%201',
    '1%20',
    '1%0a',
    '1;2',
    '1,2',
    '%D9%A1',
    '9007199254740993',
    '9'.repeat(400),
    '%2e%2e',
    '..%2f..%2fetc%2fpasswd',
    '[1]',
    '$ne',
    'constructor',
  ])('the id %s is rejected with 404', async (wrong) => {
    const path = `/api/v1/media/${wrong}`;
    expect((await sendRaw(harness.url, { as: VIEWER, method: 'GET', path })).status).toBe(404);
  });

  test('an invalid id is rejected with 404 for every method, with or without a name', async () => {
    for (const wrong of ['0', '1e0', '%00', '$ne'])
      for (const [method, path] of [
        ['HEAD', wrong],
        ['DELETE', wrong],
        ['GET', `${wrong}/a.png`],
        ['HEAD', `${wrong}/a.png`],
      ] as const) {
        const answer = await sendRaw(harness.url, { as: VIEWER, method, path: `/api/v1/media/${path}` });
        expect([method, path, answer.status]).toEqual([method, path, 404]);
      }
  });

  test.each(['%', '%zz', '%c0%af', '%ff'])(
    'the id %s, which cannot be decoded, is never a 500',
    async (wrong) => {
      const { status } = await sendRaw(harness.url, {
        as: VIEWER,
        method: 'GET',
        path: `/api/v1/media/${wrong}`,
      });
      expect([400, 404]).toContain(status);
    },
  );

  test.each([
    '..%2f..%2f..%2fetc%2fpasswd',
    '%00',
    'a%0d%0aset-cookie:%20b=1',
    'x'.repeat(8_000),
    '%E2%80%AEgnp.exe',
    '.',
  ])('the name %s after an existing id has no effect', async (name) => {
    const answer = await sendRaw(harness.url, {
      as: GUEST,
      method: 'GET',
      path: `/api/v1/media/${id}/${name}`,
    });
    expect([answer.status, answer.headers['content-disposition'], answer.headers['set-cookie']]).toEqual([
      200,
      `attachment; filename="a.png"; filename*=UTF-8''a.png`,
      undefined,
    ]);
  });
});

describe('a refusal', () => {
  test('a refusal reveals no ETag, name, type or length of the file, and is not cacheable', async () => {
    const hidden = (await harness.upload(OWNER, INACTIVE_GYM, content, 'secret.png')).body.data.id;
    const license = (await harness.upload(OWNER, { ...GYM, purpose: 'gym_license' }, content, 'secret.png'))
      .body.data.id;
    for (const path of [`/api/v1/media/${hidden}`, `/api/v1/media/${license}`]) {
      for (const as of [GUEST, STRANGER]) {
        for (const headers of [
          [],
          [`if-none-match: ${etag}`],
          ['if-none-match: *'],
          ['range: bytes=0-0'],
          ['range: bytes=5-4'],
        ]) {
          const answer = await sendRaw(harness.url, { as, method: 'GET', path, headers });
          expect([401, 403]).toContain(answer.status);
          // These two headers may contain the digits of the length by chance.
          const { 'x-request-id': _id, date: _date, ...others } = answer.headers;
          const text = JSON.stringify(others) + answer.body.toString();
          for (const secret of [etag.slice(1, -1), 'secret', '1000', 'application/pdf'])
            expect(text).not.toContain(secret);
          expect(answer.headers['cache-control']).toBe('no-store');
        }
      }
    }
  });

  test('the 404 of a missing stored file is not an attachment', async () => {
    const lost = (await harness.upload(OWNER, GYM, content)).body.data.id;
    await harness.connection
      .collection<{ _id: number }>('media')
      .updateOne({ _id: lost }, { $set: { storage_key: '00000000-0000-4000-8000-000000000001' } });
    const { status, headers } = await sendRaw(harness.url, {
      as: GUEST,
      method: 'GET',
      path: `/api/v1/media/${lost}`,
    });
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      404,
      'application/json; charset=utf-8',
      'no-store',
    ]);
    for (const name of ['etag', 'content-disposition', 'accept-ranges'])
      expect(headers[name]).toBeUndefined();
  });
});
