/** Every list of the product, including those for operators. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { administratorToken, api, expectStatus } from './support.ts';

interface Operation {
  parameters?: { name: string; in: string }[];
}

let lists: string[];
let token: string;
beforeAll(async () => {
  token = await administratorToken();
  const { id } = expectStatus(await api('GET', '/auth/me', { token }), 200).body.user;
  const { paths } = expectStatus(await api('GET', '/openapi.json'), 200).body;
  lists = Object.entries(paths as Record<string, { get?: Operation }>).flatMap(([path, { get }]) =>
    get?.parameters?.some(({ name }) => name === 'cursor') === true
      ? [path.replace('/api/v1', '').replace('/users/{id}/', `/users/${id}/`)]
      : [],
  );
});

const fieldsOf = async (path: string): Promise<[number, string[]]> => {
  const { status, body } = await api('GET', path, { token });
  return [status, Object.keys(body.errors ?? {})];
};

test('the product has at least twelve lists, with no path parameter except the user', () => {
  expect(lists.length).toBeGreaterThanOrEqual(12);
  expect(lists.filter((path) => path.includes('{'))).toEqual([]);
});

describe('requests to each list', () => {
  const encoded = (key: unknown): string => Buffer.from(JSON.stringify(key)).toString('base64url');

  test('a list rejects an invented cursor with an error for its name', async () => {
    const cursors = [[-1], [0], [1], [5, 5], [1.5], [1e308], [], {}, null, 7].map(encoded);
    for (const path of lists) {
      for (const cursor of [...cursors, 'x', '=', '%00', 'W10=']) {
        expect([path, cursor, ...(await fieldsOf(`${path}?cursor=${cursor}`))]).toEqual([
          path,
          cursor,
          422,
          ['cursor'],
        ]);
      }
    }
  });

  test('a list accepts its own cursor, and rejects it if it is changed, cut or from another list', async () => {
    const cursors = [];
    for (const path of lists) {
      const { meta } = expectStatus(await api('GET', `${path}?per_page=1`, { token }), 200).body;
      if (meta.next_cursor !== null) cursors.push({ path, cursor: meta.next_cursor as string });
    }
    expect(cursors.length).toBeGreaterThan(4);
    for (const { path, cursor } of cursors) {
      expect([path, (await fieldsOf(`${path}?cursor=${cursor}`))[0]]).toEqual([path, 200]);
      const swapped = `${cursor.slice(0, -2)}${cursor.at(-1)}${cursor.at(-2)}`;
      for (const wrong of [cursor.slice(0, -1), `${cursor}A`, ...(swapped === cursor ? [] : [swapped])]) {
        expect([path, ...(await fieldsOf(`${path}?cursor=${wrong}`))]).toEqual([path, 422, ['cursor']]);
      }
      for (const other of lists.filter((one) => one !== path)) {
        expect([path, other, ...(await fieldsOf(`${other}?cursor=${cursor}`))]).toEqual([
          path,
          other,
          422,
          ['cursor'],
        ]);
      }
    }
  });

  test('a list has page numbers for its first 10,000 rows, even if it is shorter', async () => {
    for (const path of lists) {
      for (const [query, status] of [
        ['page=334', 200],
        ['page=335', 422],
        ['page=100&per_page=100', 200],
        ['page=101&per_page=100', 422],
        ['page=101&per_page=999', 422],
        ['page=10000&per_page=1', 200],
        ['page=10001&per_page=1', 422],
      ] as const) {
        const answer = await fieldsOf(`${path}?${query}`);
        expect([path, query, ...answer]).toEqual([path, query, status, status === 422 ? ['page'] : []]);
      }
    }
  });
});

test('the gateway compresses a list as the client accepts it', async () => {
  const answers = await Promise.all(
    ['identity', 'gzip', 'br'].map((coding) =>
      api('GET', '/cities', { headers: { 'accept-encoding': coding } }),
    ),
  );
  const [plain, ...others] = answers;
  expect(plain?.text.length).toBeGreaterThan(1_024);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(answers.map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip', 'br']);
  // fetch decompresses the responses.
  for (const { text, headers } of others) {
    expect(text).toBe(plain?.text);
    expect(Number(headers.get('content-length'))).toBeLessThan((plain?.text.length ?? 0) / 2);
    expect(headers.get('etag')).not.toBe(plain?.headers.get('etag'));
  }
});
