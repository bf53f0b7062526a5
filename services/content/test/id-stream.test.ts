import { dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { indexGrams, matchesFolded } from '@fitness/shared/text-search.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Collection, type Connection, createConnection } from 'mongoose';
import { mergeIds, type Order, readIds } from '../src/store/id-stream.ts';
import { COUNTED_MAX, findText } from '../src/store/text-stream.ts';

/** Large enough that windows are read, with holes in the ids. */
const NEWEST = 9_000;

interface Row {
  _id: number;
  title: string;
  facets: string[];
  grams: string[];
}

const config = testConfig('content');
let connection: Connection;
let collection: Collection;
let rows: Row[] = [];

beforeAll(async () => {
  connection = await createConnection(config.MONGODB_URI, { dbName: config.MONGODB_DATABASE }).asPromise();
  collection = connection.collection('rows');
  await collection.createIndex({ facets: 1, _id: -1 });
  await collection.createIndex({ grams: 1, _id: -1 });
  const ids = Array.from({ length: NEWEST }, (_, index) => index + 1).filter((id) => id % 7 !== 0);
  rows = ids.map((id) => {
    const title = `post ${id % 400 === 0 ? 'needle' : 'hay'}${id % 5 === 0 ? ' abcab' : ' cabca'}`;
    const facets = ['all', id % 3 === 0 ? 'third' : 'rest', ...(id % 300 === 0 ? ['rare'] : [])];
    if (id < 2_000) facets.push('old');
    return { _id: id, title, facets, grams: indexGrams(title) };
  });
  for (let start = 0; start < rows.length; start += 1_000)
    await collection.insertMany(rows.slice(start, start + 1_000) as never[]);
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

const idsWith = (accept: (row: Row) => boolean, order: Order): number[] => {
  const ids = rows.filter(accept).map(({ _id }) => _id);
  return order === 'ASC' ? ids : ids.toReversed();
};
const beyond = (ids: number[], order: Order, after: number): number[] =>
  ids.filter((id) => (order === 'ASC' ? id > after : id < after));

describe('the ids of a list', () => {
  test.each(['all', 'third', 'rare', 'old'])(
    '%s: in both orders, from every depth, each once',
    async (facet) => {
      const total = rows.filter(({ facets }) => facets.includes(facet)).length;
      for (const order of ['ASC', 'DESC'] as const) {
        const expected = idsWith(({ facets }) => facets.includes(facet), order);
        const stream = { facet, total, newest: NEWEST };
        expect(await readIds(collection, stream, { order, need: 31 })).toEqual(expected.slice(0, 31));
        for (const after of [1, 700, 1_999, 4_500, 8_999]) {
          const found = await readIds(collection, stream, { order, after, need: 100 });
          expect(found).toEqual(beyond(expected, order, after).slice(0, 100));
        }
        expect(await readIds(collection, stream, { order, need: NEWEST })).toEqual(expected);
      }
    },
  );

  test('a wrong total makes it slower, never wrong', async () => {
    for (const total of [1, 50, 100_000]) {
      const found = await readIds(
        collection,
        { facet: 'third', total, newest: NEWEST },
        { order: 'DESC', need: 40 },
      );
      expect(found).toEqual(idsWith(({ facets }) => facets.includes('third'), 'DESC').slice(0, 40));
    }
  });

  test('several lists become one', async () => {
    const streams = [
      { facet: 'third', total: 2_571, newest: NEWEST },
      { facet: 'rest', total: 5_143, newest: NEWEST },
    ];
    const found = await mergeIds(collection, streams, { order: 'DESC', after: 5_000, need: 60 });
    expect(found).toEqual(
      beyond(
        idsWith(() => true, 'DESC'),
        'DESC',
        5_000,
      ).slice(0, 60),
    );
  });

  test('a page at the far end reads as few rows as the first', async () => {
    for (const after of [undefined, 4_500, 100]) {
      const sizes: number[] = [];
      const watched = new Proxy(collection, {
        get: (target, name) => {
          if (name !== 'find') return Reflect.get(target, name);
          return (filter: { _id: { $lt: number; $gte: number } }, options: object) => {
            sizes.push(filter._id.$lt - filter._id.$gte);
            return target.find(filter as never, options);
          };
        },
      });
      const stream = { facet: 'all', total: rows.length, newest: NEWEST };
      await readIds(watched, stream, { order: 'DESC', after, need: 31 });
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(100);
    }
  });
});

describe('a text', () => {
  const search = (query: string, order: Order, need = 31, after?: number) =>
    findText(
      collection,
      { facets: ['third', 'rest'], query, fields: ['title'], total: rows.length, newest: NEWEST },
      { order, need, after },
    );

  test.each(['needle', 'nee', 'e'.repeat(2), 'n', 'hay', 'post', 'abcab', 'bcab', 'nowhere', 'y c'])(
    'of %j is found wherever it is, in both orders and from any depth',
    async (query) => {
      for (const order of ['ASC', 'DESC'] as const) {
        const expected = idsWith(({ title }) => matchesFolded(title, query), order);
        const found = await search(query, order);
        expect(found.ids).toEqual(expected.slice(0, 31));
        if (found.total !== undefined) expect(found.total).toBe(expected.length);
        expect(found.total === undefined).toBe(expected.length > COUNTED_MAX);
        const deep = await search(query, order, 31, 4_200);
        expect(deep.ids).toEqual(beyond(expected, order, 4_200).slice(0, 31));
      }
    },
  );

  test('in one list alone', async () => {
    const found = await findText(
      collection,
      { facets: ['rare'], query: 'hay', fields: ['title'], total: 30, newest: NEWEST },
      { order: 'DESC', need: 50 },
    );
    const expected = idsWith(({ facets, title }) => facets.includes('rare') && title.includes('hay'), 'DESC');
    expect(found.ids).toEqual(expected);
  });
});
