import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { PageOf } from '../kernel/page.ts';
import { encodeCursor, listBody, listOf, pageQuery, toPageRequest } from './pagination.ts';
import { parseInputs } from './validation.ts';

const schema = z.object(pageQuery);
const parse = (query: Record<string, unknown>) =>
  parseInputs([{ schema, value: query, root: 'query' }])[0] as z.output<typeof schema>;

const fieldsOf = (work: () => unknown): string[] => {
  try {
    work();
  } catch (error) {
    expect(error).toMatchObject({ kind: 'validation' });
    return Object.keys((error as { fields: object }).fields);
  }
  return [];
};

const URL_OF_LIST = '/api/v1/posts?per_page=10';
const cursorOf = (key: number[]): string => encodeCursor(key, { url: URL_OF_LIST });

/** The body of a list of the numbers 1 to 61, ten a page. */
const bodyOf = (query: Record<string, string>, page: Partial<PageOf<number>> = {}) => {
  const request = toPageRequest(parse({ per_page: '10', ...query }), URL_OF_LIST);
  const first = request.mode === 'page' ? request.skip : 0;
  const rows = Array.from({ length: Math.max(0, Math.min(10, 61 - first)) }, (_, i) => first + i + 1);
  const next = first + rows.length < 61 && rows.length > 0 ? [rows.length + first] : undefined;
  const full = { rows, total: request.mode === 'page' ? 61 : undefined, next, ...page };
  const url = `/api/v1/posts?${new URLSearchParams({ per_page: '10', ...query })}`;
  const body = listBody({ baseUrl: 'https://api.example', url, request, page: full, data: full.rows });
  expect(listOf(z.int()).safeParse(body).success).toBe(true);
  return body;
};

const POSTS = 'https://api.example/api/v1/posts';

describe('a page request', () => {
  test('a request without parameters asks for the first thirty rows', () => {
    expect(toPageRequest(parse({}), URL_OF_LIST)).toEqual({ mode: 'page', page: 1, perPage: 30, skip: 0 });
  });

  test.each([
    ['1', 1],
    ['99', 99],
    ['100', 100],
    ['101', 100],
    ['999999999', 100],
  ])('per_page %s gives %i rows', (perPage, rows) => {
    expect(toPageRequest(parse({ per_page: perPage }), URL_OF_LIST).perPage).toBe(rows);
    expect(toPageRequest(parse({ per_page: perPage, cursor: cursorOf([5]) }), URL_OF_LIST).perPage).toBe(
      rows,
    );
  });

  test.each(['0', '-1', '1.5', 'x', '', ' 1', '1e3', '0x10', '٣', '12345678901234567890', ['1', '2'], {}])(
    'an invalid page or per_page %p is rejected with 422 under its name',
    (value) => {
      expect(fieldsOf(() => parse({ page: value }))).toEqual(['page']);
      expect(fieldsOf(() => parse({ per_page: value }))).toEqual(['per_page']);
    },
  );

  test('a page number that is too large and a malformed one have different messages', () => {
    const textOf = (page: string) => {
      try {
        parse({ page });
      } catch (error) {
        return (error as { fields: Record<string, { key: string }[]> }).fields.page?.map(({ key }) => key);
      }
      return undefined;
    };
    expect(textOf('1000000000')).toEqual(['validation.max_value']);
    expect(textOf('0')).toEqual(['validation.min_value']);
    expect(textOf('x')).toEqual(['validation.type.integer']);
  });
});

describe('a cursor', () => {
  test.each([[[1]], [[9_007_199_254_740_991]], [[3, 1_024]], [[0, 0.5, 7]]])(
    'a cursor for the key %p is decoded to the same key',
    (key) => {
      expect(toPageRequest(parse({ cursor: cursorOf(key) }), URL_OF_LIST, { keyLength: key.length })).toEqual(
        {
          mode: 'cursor',
          perPage: 30,
          after: key,
        },
      );
    },
  );

  test('a cursor is URL-safe', () => {
    expect(cursorOf([123_456_789, 987_654_321])).toMatch(/^[\w-]+$/);
  });

  const raw = (text: string): string => Buffer.from(text).toString('base64url');

  test.each([
    ['nothing', ''],
    ['no base64', '%%%'],
    ['no JSON', raw('hello')],
    ['no list', raw('{"0":1}')],
    ['an empty list', raw('[]')],
    ['a list of the wrong length', raw('[1,2]')],
    ['text', raw('["1"]')],
    ['an operator', raw('[{"$gt":0}]')],
    ['nothing known', raw('[null]')],
    ['an endless number', raw('[1e999]')],
    ['half a character', Buffer.from([0xff, 0xfe]).toString('base64url')],
    ['a key without its check', raw('[1]')],
    ['a negative key without its check', raw('[-1]')],
    ['a negative key', cursorOf([-1])],
    ['a fraction instead of an id', cursorOf([1.5])],
    ['no safe integer', cursorOf([2 ** 53])],
    ['another list', encodeCursor([1], { url: '/api/v1/gyms' })],
    ['another order of this list', encodeCursor([1], { url: URL_OF_LIST, order: 'near' })],
    ['this list in padded base64', `${cursorOf([12])}==`],
    ['this list in another alphabet', `${cursorOf([12])} `],
    ['this list, cut', cursorOf([123]).slice(0, -1)],
    ['this list, continued', `${cursorOf([123])}A`],
  ])('a cursor of %s is rejected with 422 under cursor', (_what, cursor) => {
    expect(fieldsOf(() => toPageRequest(parse({ cursor }), URL_OF_LIST))).toEqual(['cursor']);
  });

  test('a cursor with one changed character is rejected with 422', () => {
    const cursor = cursorOf([123_456]);
    for (let at = 0; at < cursor.length; at += 1) {
      for (const other of ['A', 'B', 'Q', 'w', '-']) {
        if (cursor[at] === other) continue;
        const changed = cursor.slice(0, at) + other + cursor.slice(at + 1);
        expect(fieldsOf(() => toPageRequest(parse({ cursor: changed }), URL_OF_LIST))).toEqual(['cursor']);
      }
    }
  });

  test('a cursor stays valid with other filters, another number of rows and a trailing slash', () => {
    for (const url of ['/api/v1/posts', '/api/v1/posts/?per_page=5&order=ASC']) {
      expect(toPageRequest(parse({ cursor: cursorOf([7]) }), url)).toMatchObject({ after: [7] });
    }
  });

  test('a cursor that is too long is rejected with 422', () => {
    expect(fieldsOf(() => parse({ cursor: 'a'.repeat(501) }))).toEqual(['cursor']);
  });

  test('a cursor takes precedence over a page number and leads through all rows', () => {
    const first = bodyOf({ page: '3', cursor: cursorOf([20]) }, { rows: [21, 22], next: [22] });
    expect(first.links).toEqual({
      first: `${POSTS}?per_page=10&page=1`,
      last: null,
      prev: null,
      next: `${POSTS}?per_page=10&cursor=${cursorOf([22])}`,
    });
    expect(first.meta).toEqual({
      current_page: null,
      from: null,
      to: null,
      per_page: 10,
      last_page: null,
      total: null,
      path: POSTS,
      next_cursor: cursorOf([22]),
    });
    const last = bodyOf({ cursor: cursorOf([22]) }, { rows: [23], next: undefined });
    expect([last.links.next, last.meta.next_cursor]).toEqual([null, null]);
  });
});

describe('a page', () => {
  const link = (page: number): string => `${POSTS}?per_page=10&page=${page}`;

  test.each([
    ['the first', 1, { prev: null, next: link(2) }, { from: 1, to: 10 }],
    ['one in the middle', 4, { prev: link(3), next: link(5) }, { from: 31, to: 40 }],
    ['the last but one', 6, { prev: link(5), next: link(7) }, { from: 51, to: 60 }],
    ['the last', 7, { prev: link(6), next: null }, { from: 61, to: 61 }],
    ['one past the end', 8, { prev: link(7), next: null }, { from: null, to: null }],
    ['one far past the end', 900, { prev: link(7), next: null }, { from: null, to: null }],
  ])('a page has its links and its row numbers: %s', (_which, page, links, rows) => {
    const body = bodyOf({ page: String(page) });
    expect(body.links).toEqual({ first: link(1), last: link(7), ...links });
    expect(body.meta).toMatchObject({
      current_page: page,
      last_page: 7,
      total: 61,
      per_page: 10,
      path: POSTS,
      ...rows,
    });
    expect(body.data).toHaveLength(rows.to === null ? 0 : rows.to - rows.from + 1);
  });

  test('the page of an empty list is both its first and last', () => {
    const body = bodyOf({}, { rows: [], total: 0, next: undefined });
    expect(body.links).toEqual({ first: link(1), last: link(1), prev: null, next: null });
    expect(body.meta).toMatchObject({ from: null, to: null, total: 0, last_page: 1, next_cursor: null });
  });

  test('a page of uncounted rows has a next page but no last one', () => {
    const body = bodyOf({ page: '2' }, { total: undefined, next: [20] });
    expect(body.links).toMatchObject({ last: null, prev: link(1), next: link(3) });
    expect(body.meta).toMatchObject({ total: null, last_page: null });
    expect(bodyOf({ page: '2' }, { total: undefined, next: undefined }).links.next).toBeNull();
  });

  test('a page of a search that ended at its limit leads on by cursor, even without rows', () => {
    for (const rows of [[], [11, 12]]) {
      const body = bodyOf({ page: '2' }, { rows, total: undefined, next: [40] });
      expect(body.data).toEqual(rows);
      expect(body.links.next).toBe(`${POSTS}?per_page=10&cursor=${cursorOf([40])}`);
      expect(body.meta).toMatchObject({ total: null, last_page: null, next_cursor: cursorOf([40]) });
    }
  });

  test('the links of a page keep the other query parameters, encoded', () => {
    const body = bodyOf({ search: 'a b&page=9', page: '2' });
    const next = new URL(body.links.next ?? '');
    expect(Object.fromEntries(next.searchParams)).toEqual({
      per_page: '10',
      search: 'a b&page=9',
      page: '3',
    });
  });

  test('a page with rows hidden at reading time keeps its position', () => {
    const request = toPageRequest(parse({ per_page: '10', page: '2' }), URL_OF_LIST);
    const page = { rows: [11, 12, 13], total: 13, next: undefined };
    const body = listBody({
      baseUrl: 'https://api.example',
      url: '/api/v1/posts',
      request,
      page,
      data: [12],
    });
    expect(body.data).toEqual([12]);
    expect(body.meta).toMatchObject({ from: 11, to: 13, total: 13 });
  });
});

describe('page numbers', () => {
  const hundred = (page: string, per = '100') => ({ page, per_page: per });

  test.each([
    ['30', 334],
    ['100', 100],
    ['101', 100],
    ['1', 10_000],
    ['7', 1_429],
  ])(
    'page numbers with per_page=%s end at page %i, which starts within the first 10,000 rows',
    (perPage, last) => {
      const request = toPageRequest(parse(hundred(String(last), perPage)), URL_OF_LIST);
      expect(request.mode === 'page' && request.skip).toBeLessThan(10_000);
      for (const page of [last + 1, 999_999_999]) {
        const beyond = parse(hundred(String(page), perPage));
        expect(fieldsOf(() => toPageRequest(beyond, URL_OF_LIST))).toEqual(['page']);
        // The page number is ignored with a cursor.
        expect(toPageRequest({ ...beyond, cursor: cursorOf([1]) }, URL_OF_LIST).mode).toBe('cursor');
      }
    },
  );

  const longBody = (page: number, { total = 10_500 as number | undefined, count = 100 } = {}) => {
    const query = hundred(String(page));
    const request = toPageRequest(parse(query), URL_OF_LIST);
    const rows = Array.from({ length: count }, (_, i) => i);
    const url = `/api/v1/posts?${new URLSearchParams(query)}`;
    const full = { rows, total, next: [500] };
    return listBody({ baseUrl: 'https://api.example', url, request, page: full, data: rows });
  };
  const numbered = (page: number): string => `${POSTS}?per_page=100&page=${page}`;

  test('the last reachable page number leads on by cursor', () => {
    const { links, meta } = longBody(100);
    expect(links).toEqual({
      first: numbered(1),
      last: null,
      prev: numbered(99),
      next: `${POSTS}?per_page=100&cursor=${cursorOf([500])}`,
    });
    expect(meta).toMatchObject({ total: 10_500, last_page: 105, current_page: 100 });
    expect(longBody(99).links).toMatchObject({ last: null, next: numbered(100) });
    expect(longBody(100, { total: undefined }).links.next).toContain('cursor=');
  });

  test('page numbers reach the last page of a list of 10,000 rows', () => {
    expect(longBody(99, { total: 10_000 }).links).toMatchObject({ last: numbered(100), next: numbered(100) });
    expect(longBody(100, { total: 10_000 }).links).toMatchObject({ last: numbered(100), next: null });
  });
});
