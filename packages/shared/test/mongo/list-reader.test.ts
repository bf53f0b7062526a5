import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Collection, type Connection, createConnection } from 'mongoose';
import { indexGrams, matchesFolded, queryGrams } from '../../src/kernel/text-search.ts';
import {
  COUNTED_MAX,
  createListReader,
  type Listed,
  type ListQuery,
  type ListReader,
  type Order,
} from '../../src/mongo/list-reader.ts';
import { dropDatabase, testConfig } from '../../src/testing/harness.ts';

/** Large enough that windows are read, with holes in the ids. */
const NEWEST = 2_500;
/** A word of the newest posts only. */
const NEWS = 2_450;

interface Row {
  _id: number;
  title: string;
  facets: string[];
  grams: string[];
}

const config = testConfig('shared');
let connection: Connection;
let collection: Collection;
let reader: ListReader;
let rows: Row[] = [];
/** Documents that the database returned, by query. */
let reads: number[] = [];

const watched = (target: Collection): Collection =>
  new Proxy(target, {
    get: (collection, name) => {
      if (name !== 'find') return Reflect.get(collection, name);
      return (filter: object, options: object) => {
        const cursor = collection.find(filter as never, options);
        const toArray = cursor.toArray.bind(cursor);
        cursor.toArray = async () => {
          const found = await toArray();
          reads.push(found.length);
          return found;
        };
        return cursor;
      };
    },
  });

beforeAll(async () => {
  connection = await createConnection(config.MONGODB_URI, { dbName: config.MONGODB_DATABASE }).asPromise();
  collection = connection.collection('rows');
  reader = createListReader(watched(collection), { texts: ['title'], accepted: ['facets'] });
  await collection.createIndex({ facets: 1, _id: -1 });
  await collection.createIndex({ grams: 1, _id: -1 });
  const ids = Array.from({ length: NEWEST }, (_, index) => index + 1).filter((id) => id % 7 !== 0);
  rows = ids.map((id) => {
    const word = id % 100 === 0 ? 'needle' : 'hay';
    const title = `post ${word}${id % 5 === 0 ? ' abcab' : ' cabca'}${id > NEWS ? ' nowruz' : ''}`;
    const facets = ['all', id % 3 === 0 ? 'third' : 'rest', ...(id % 150 === 0 ? ['rare'] : [])];
    if (id < 600) facets.push('old');
    if (id > 1_900) facets.push('young');
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
const idsOf = ({ rows: found }: Listed): number[] => found.map(({ _id }) => _id);
const totalOf = (...facets: string[]): number =>
  rows.filter((row) => facets.some((word) => row.facets.includes(word))).length;
const listOf = (...facets: string[]): ListQuery => ({
  condition: { facets: { $in: facets } },
  accept: (row) => (row.facets as string[]).some((word) => facets.includes(word)),
  total: totalOf(...facets),
  newest: NEWEST,
});
const documentsRead = async (work: () => Promise<unknown>): Promise<number> => {
  reads = [];
  await work();
  return reads.reduce((sum, count) => sum + count, 0);
};

describe('the rows of a list', () => {
  test.each(['all', 'third', 'rare', 'old', 'young'])(
    '%s: in both orders, from every depth, by cursor and by page, each once',
    async (facet) => {
      const query = listOf(facet);
      for (const order of ['ASC', 'DESC'] as const) {
        const expected = idsWith(({ facets }) => facets.includes(facet), order);
        const read = (slice: { after?: number; skip?: number; take: number }) =>
          reader.read(query, { order, counted: false, skip: 0, ...slice });
        expect(idsOf(await read({ take: 31 }))).toEqual(expected.slice(0, 31));
        for (const after of [1, 300, 599, 1_300, 2_499]) {
          const found = await read({ after, take: 100 });
          const rest = beyond(expected, order, after);
          expect(idsOf(found)).toEqual(rest.slice(0, 100));
          expect(found.more).toBe(rest.length > 100);
        }
        for (const skip of [1, 400, expected.length - 5, expected.length + 40]) {
          if (skip < 0) continue;
          const found = await read({ skip, take: 30 });
          expect(idsOf(found)).toEqual(expected.slice(skip, skip + 30));
          expect(found.more).toBe(expected.length > skip + 30);
        }
        expect(idsOf(await read({ take: NEWEST }))).toEqual(expected);
      }
    },
  );

  test('a wrong total makes a list slower, never incorrect', async () => {
    const expected = idsWith(({ facets }) => facets.includes('third'), 'DESC');
    for (const total of [1, 50, 100_000]) {
      const query = { ...listOf('third'), total };
      const found = await reader.read(query, { order: 'DESC', skip: 0, take: 40, counted: false });
      expect(idsOf(found)).toEqual(expected.slice(0, 40));
    }
  });

  test('a list with few rows is read by its own condition', async () => {
    for (const [facet, order] of [
      ['old', 'DESC'],
      ['young', 'ASC'],
    ] as const) {
      const slice = { order, skip: 0, take: 30, counted: false } as const;
      const read = await documentsRead(() => reader.read(listOf(facet), slice));
      expect(read).toBeLessThan(totalOf(facet) + 1_200);
    }
  });

  test('several conditions become one list without the rows that are not accepted', async () => {
    const query = { ...listOf('third', 'rest'), accept: ({ _id }: { _id: number }) => _id % 2 === 0 };
    const expected = beyond(
      idsWith(({ _id }) => _id % 2 === 0, 'DESC'),
      'DESC',
      1_500,
    );
    const found = await reader.read(query, {
      order: 'DESC',
      after: 1_500,
      skip: 0,
      take: 60,
      counted: false,
    });
    expect(idsOf(found)).toEqual(expected.slice(0, 60));
  });

  test('the last page by cursor reads as few documents as the first', async () => {
    for (const after of [undefined, 1_300, 100]) {
      const slice = { order: 'DESC', after, skip: 0, take: 30, counted: false } as const;
      expect(await documentsRead(() => reader.read(listOf('all'), slice))).toBeLessThan(60);
    }
  });
});

describe('a text', () => {
  const search = (query: string, slice: { order: Order; after?: number; skip?: number; counted?: boolean }) =>
    reader.read(
      { ...listOf('third', 'rest'), search: query },
      { skip: 0, take: 30, counted: true, ...slice },
    );

  /** Rows that are checked one by one. */
  const rowsOfRarestGram = (query: string): number =>
    Math.min(...queryGrams(query).map((gram) => rows.filter(({ grams }) => grams.includes(gram)).length));

  test.each(['needle', 'nee', 'ee', 'n', 'hay', 'post', 'abcab', 'bcab', 'nowhere', 'y c', 'nowruz'])(
    'of %j is found wherever it is, in both orders, from any depth and on any page',
    async (query) => {
      for (const order of ['ASC', 'DESC'] as const) {
        const expected = idsWith(({ title }) => matchesFolded(title, query), order);
        const found = await search(query, { order });
        expect(idsOf(found)).toEqual(expected.slice(0, 30));
        expect(found.total).toBe(rowsOfRarestGram(query) > COUNTED_MAX ? undefined : expected.length);
        const deep = await search(query, { order, after: 1_200, counted: false });
        expect(idsOf(deep)).toEqual(beyond(expected, order, 1_200).slice(0, 30));
        const page = await search(query, { order, skip: 60 });
        expect(idsOf(page)).toEqual(expected.slice(60, 90));
        expect(page.more).toBe(expected.length > 90);
      }
    },
  );

  test('of a small list reads its rows only, however common the text is in others', async () => {
    const query = { ...listOf('rare'), search: 'hay' };
    const slice = { order: 'DESC', skip: 0, take: 50, counted: true } as const;
    const expected = idsWith(({ facets, title }) => facets.includes('rare') && title.includes('hay'), 'DESC');
    let found: Listed | undefined;
    const read = await documentsRead(async () => {
      found = await reader.read(query, slice);
    });
    expect(found && idsOf(found)).toEqual(expected);
    expect(found?.total).toBe(expected.length);
    expect(read).toBeLessThan(totalOf('rare') + 129);
  });

  test('for a rare text costs its results, for a common one a page', async () => {
    for (const [query, limit] of [
      ['nee', 40],
      ['nowruz', 50],
      ['hay', 60],
      ['h', 60],
    ] as const) {
      const read = await documentsRead(() => search(query, { order: 'DESC', counted: false }));
      expect(read).toBeLessThan(limit + 129);
    }
  });

  test('with a misleading sample costs a second sample', async () => {
    // Every row of the sample contains it, and few others.
    const ids = Array.from({ length: 128 }, (_, index) => 1 + Math.floor(((index + 0.5) * NEWEST) / 128));
    const chosen = rows.filter(({ _id }) => ids.includes(_id)).map(({ _id }) => _id);
    const title = 'zebra';
    await collection.updateMany({ _id: { $in: chosen } } as never, {
      $set: { title, grams: indexGrams(title) },
    });
    const found = await search('zeb', { order: 'DESC', counted: false });
    expect(idsOf(found)).toEqual(chosen.toReversed().slice(0, 30));
    const after = chosen.at(-31) ?? 0;
    const rest = await search('zeb', { order: 'DESC', counted: false, after });
    expect(idsOf(rest)).toEqual(beyond(chosen.toReversed(), 'DESC', after).slice(0, 30));
  });
});
