import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Collection, type Connection, createConnection } from 'mongoose';
import type { PageOf, PageRequest } from '../../src/kernel/page.ts';
import {
  documentGrams,
  EVERY_SEARCH,
  indexGrams,
  matchesFolded,
  queryGrams,
} from '../../src/kernel/text-search.ts';
import { COUNTED_MAX } from '../../src/lists/batches.ts';
import { SEARCHED_CHARACTERS_MAX, SEARCHED_ROWS_MAX } from '../../src/lists/first-page.ts';
import { createLists } from '../../src/lists/index.ts';
import type { Listed, ListQuery, Lists, Order, Slice } from '../../src/lists/list.ts';
import { searchIn } from '../../src/lists/match.ts';
import { readListPage, readRankedPage } from '../../src/lists/pages.ts';
import { toTextDocuments } from '../../src/lists/texts.ts';
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

const config = testConfig('wallet');
let connection: Connection;
let collection: Collection;
let reader: Lists;
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
          const result = await toArray();
          reads.push(result.length);
          return result;
        };
        return cursor;
      };
    },
  });
const readerOf = (target: Collection): Lists => {
  const rows = watched(target);
  const grams = watched(connection.collection(`${target.collectionName}_texts`));
  return createLists(rows, { grams, texts: ['title'] });
};
/** Inserts rows, and their grams in the separate collection. */
const insertRows = async (
  target: Collection,
  documents: readonly { _id: number; grams: string[] }[],
): Promise<void> => {
  const texts = connection.collection(`${target.collectionName}_texts`);
  await target.createIndex({ facets: 1, _id: -1 });
  await texts.createIndex({ grams: 1, row: -1 });
  await texts.createIndex({ row: 1 });
  for (let start = 0; start < documents.length; start += 500) {
    const some = documents.slice(start, start + 500);
    await target.insertMany(some.map(({ grams: _, ...row }) => row) as never[]);
    await texts.insertMany(some.flatMap(({ _id, grams }) => toTextDocuments(_id, grams)));
  }
};
const textOf = (text: string) => searchIn(['title'], text);
const listWith = (facet: string, total: number, newest = total): ListQuery => ({
  keys: [{ facets: facet }],
  total,
  newest,
});

beforeAll(async () => {
  connection = await createConnection(config.MONGODB_URI, { dbName: config.MONGODB_DATABASE }).asPromise();
  collection = connection.collection('rows');
  reader = readerOf(collection);
  const ids = Array.from({ length: NEWEST }, (_, index) => index + 1).filter((id) => id % 7 !== 0);
  rows = ids.map((id) => {
    const word = id % 100 === 0 ? 'needle' : 'hay';
    const title = `post ${word}${id % 5 === 0 ? ' abcab' : ' cabca'}${id > NEWS ? ' nowruz' : ''}`;
    const facets = ['all', id % 3 === 0 ? 'third' : 'rest', ...(id % 150 === 0 ? ['rare'] : [])];
    if (id < 600) facets.push('old');
    if (id > 1_900) facets.push('young');
    return { _id: id, title, facets, grams: indexGrams(title) };
  });
  await insertRows(collection, rows);
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
const idsOf = ({ rows }: Listed): number[] => rows.map(({ _id }) => _id);
const totalOf = (...facets: string[]): number =>
  rows.filter((row) => facets.some((word) => row.facets.includes(word))).length;
const listOf = (...facets: string[]): ListQuery => ({
  keys: facets.map((facet) => ({ facets: facet })),
  total: totalOf(...facets),
  newest: NEWEST,
});
const documentsRead = async (work: () => Promise<unknown>): Promise<number> => {
  reads = [];
  await work();
  return reads.reduce((sum, count) => sum + count, 0);
};

describe('the rows of a list', () => {
  test.each(['all', 'rare', 'old', 'young'])(
    'each row of %s is listed once: in both orders, from every depth, by cursor and by page',
    async (facet) => {
      const query = listOf(facet);
      for (const order of ['ASC', 'DESC'] as const) {
        const expected = idsWith(({ facets }) => facets.includes(facet), order);
        const read = (slice: { after?: number; skip?: number; take: number }) =>
          reader.read(query, { order, counted: false, skip: 0, ...slice });
        expect(idsOf(await read({ take: 31 }))).toEqual(expected.slice(0, 31));
        for (const after of [1, 300, 599, 1_300, 2_499]) {
          const result = await read({ after, take: 100 });
          const rest = beyond(expected, order, after);
          expect(idsOf(result)).toEqual(rest.slice(0, 100));
          expect(result.more).toBe(rest.length > 100);
        }
        for (const skip of [1, 400, expected.length - 5, expected.length + 40]) {
          if (skip < 0) continue;
          const result = await read({ skip, take: 30 });
          expect(idsOf(result)).toEqual(expected.slice(skip, skip + 30));
          expect(result.more).toBe(expected.length > skip + 30);
        }
        expect(idsOf(await read({ take: NEWEST }))).toEqual(expected);
      }
    },
  );

  test('a wrong total makes a list slower, never incorrect', async () => {
    const expected = idsWith(({ facets }) => facets.includes('third'), 'DESC');
    for (const total of [1, 50, 100_000]) {
      const query = listWith('third', total, NEWEST);
      const result = await reader.read(query, { order: 'DESC', skip: 0, take: 40, counted: false });
      expect(idsOf(result)).toEqual(expected.slice(0, 40));
    }
  });

  test('a page by number counts the rows before it, and reads few of them', async () => {
    const expected = idsWith(() => true, 'DESC');
    for (const skip of [900, 1_500, expected.length - 40]) {
      let result: Listed | undefined;
      const read = await documentsRead(async () => {
        result = await reader.read(listOf('third', 'rest'), {
          order: 'DESC',
          skip,
          take: 30,
          counted: false,
        });
      });
      expect(result && idsOf(result)).toEqual(expected.slice(skip, skip + 30));
      expect(read).toBeLessThan(750);
    }
  });

  test('a page by number leaves out the rows that are shown elsewhere, not accepted or without the condition', async () => {
    const all = idsWith(() => true, 'DESC');
    const without = [all[3], all[700], all[1_200]].map(Number);
    const slice = { order: 'DESC', skip: 1_300, take: 30, counted: false } as const;
    const others = all.filter((id) => !without.includes(id));
    const result = await reader.read({ ...listOf('all'), without }, slice);
    expect(idsOf(result)).toEqual(others.slice(1_300, 1_330));
    const accept = ({ _id }: { _id: number }) => _id % 3 > 0;
    const accepted = await reader.read({ ...listOf('all'), accept }, slice);
    expect(idsOf(accepted)).toEqual(all.filter((id) => id % 3 > 0).slice(1_300, 1_330));
    const condition = { title: 'post hay cabca' };
    const filtered = await reader.read({ ...listOf('all'), condition }, slice);
    const expected = idsWith(({ title }) => title === condition.title, 'DESC');
    expect(idsOf(filtered)).toEqual(expected.slice(1_300, 1_330));
    const short = await reader.read({ ...listOf('all'), condition, total: 1 }, { ...slice, skip: 1_300 });
    expect(idsOf(short)).toEqual(idsOf(filtered));
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
    const result = await reader.read(query, {
      order: 'DESC',
      after: 1_500,
      skip: 0,
      take: 60,
      counted: false,
    });
    expect(idsOf(result)).toEqual(expected.slice(0, 60));
  });

  test('a row that goes from one key to the other while they are read is in the page once', async () => {
    const query = { ...listOf('third', 'rest'), newest: NEWEST };
    let isMoving = true;
    const move = async () => {
      for (let turn = 0; isMoving; turn += 1)
        await collection.updateOne(
          { _id: 2_498 as never },
          { $set: { facets: ['all', turn % 2 === 0 ? 'rest' : 'third', 'young'] } },
        );
    };
    const moving = move();
    const missing: number[] = [];
    for (let page = 0; page < 60; page += 1) {
      const slice = { order: 'DESC', skip: 0, take: 5, counted: false } as const;
      const ids = idsOf(await reader.read(query, slice));
      if (ids.filter((id) => id === 2_498).length !== 1) missing.push(page);
    }
    isMoving = false;
    await moving;
    await collection.updateOne({ _id: 2_498 as never }, { $set: { facets: ['all', 'rest', 'young'] } });
    expect(missing).toEqual([]);
  });

  test('the last page by cursor reads as few documents as the first', async () => {
    for (const after of [undefined, 1_300, 100]) {
      const slice = { order: 'DESC', after, skip: 0, take: 30, counted: false } as const;
      expect(await documentsRead(() => reader.read(listOf('all'), slice))).toBeLessThan(60);
    }
  });
});

describe('a text', () => {
  const search = (
    query: string,
    slice: { order: Order; after?: number; skip?: number; counted?: boolean },
    by: Lists = reader,
  ) =>
    by.read(
      { ...listOf('third', 'rest'), search: textOf(query) },
      { skip: 0, take: 30, counted: true, ...slice },
    );

  /** Rows that are checked one by one. */
  const rowsOfRarestGram = (query: string): number =>
    Math.min(...queryGrams(query).map((gram) => rows.filter(({ grams }) => grams.includes(gram)).length));

  test.each(['needle', 'n', 'hay', 'bcab', 'nowhere', 'nowruz'])(
    'the text %j is found anywhere, in both orders, from any depth and on any page',
    async (query) => {
      for (const order of ['ASC', 'DESC'] as const) {
        const expected = idsWith(({ title }) => matchesFolded(title, query), order);
        const result = await search(query, { order });
        expect(idsOf(result)).toEqual(expected.slice(0, 30));
        expect(result.total).toBe(rowsOfRarestGram(query) > COUNTED_MAX ? undefined : expected.length);
        const deep = await search(query, { order, after: 1_200, counted: false });
        expect(idsOf(deep)).toEqual(beyond(expected, order, 1_200).slice(0, 30));
        const page = await search(query, { order, skip: 60 });
        expect(idsOf(page)).toEqual(expected.slice(60, 90));
        expect(page.more).toBe(expected.length > 90);
      }
    },
  );

  test('a search of a small list reads only its rows, however common the text is elsewhere', async () => {
    const query = { ...listOf('rare'), search: textOf('hay') };
    const slice = { order: 'DESC', skip: 0, take: 50, counted: true } as const;
    const expected = idsWith(({ facets, title }) => facets.includes('rare') && title.includes('hay'), 'DESC');
    let result: Listed | undefined;
    const read = await documentsRead(async () => {
      result = await reader.read(query, slice);
    });
    expect(result && idsOf(result)).toEqual(expected);
    expect(result?.total).toBe(expected.length);
    expect(read).toBeLessThan(totalOf('rare') + 129);
  });

  test('a search for a rare text reads its results, and for a common one a page', async () => {
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

  test('matches of a rare text are counted, however many rows the collection has', async () => {
    const query = { ...listWith('all', 300_000), search: textOf('needle') };
    const result = await readerOf(collection).read(query, { order: 'DESC', skip: 0, take: 5, counted: true });
    expect(result.total).toBe(idsWith(({ title }) => title.includes('needle'), 'DESC').length);
  });

  test('a search for a new gram reads no additional sample', async () => {
    const fresh = readerOf(collection);
    const slice = { order: 'DESC', counted: false } as const;
    const first = await documentsRead(() => search('needle', slice, fresh));
    const second = await documentsRead(() => search('nowruz', slice, fresh));
    expect(first).toBeGreaterThan(100);
    // An id and a row of each.
    expect(second).toBeLessThan(2 * 50);
  });

  test('a text is found although the sample misleads: all rows of the sample have it, and few others', async () => {
    const ids = Array.from({ length: 128 }, (_, index) => 1 + Math.floor(((index + 0.5) * NEWEST) / 128));
    const chosen = rows.filter(({ _id }) => ids.includes(_id)).map(({ _id }) => _id);
    const title = 'zebra';
    await collection.updateMany({ _id: { $in: chosen } } as never, { $set: { title } });
    const texts = connection.collection('rows_texts');
    await texts.updateMany({ row: { $in: chosen } }, { $set: { grams: indexGrams(title) } });
    const slice = { order: 'DESC', counted: false } as const;
    // One that has no sample of the rows as they were before.
    const fresh = readerOf(collection);
    const result = await search('zeb', slice, fresh);
    expect(idsOf(result)).toEqual(chosen.toReversed().slice(0, 30));
    const after = chosen.at(-31) ?? 0;
    const rest = await search('zeb', { ...slice, after }, fresh);
    expect(idsOf(rest)).toEqual(beyond(chosen.toReversed(), 'DESC', after).slice(0, 30));
  });
});

describe('a document with too many grams', () => {
  /** Contains `word` among 3,000 distinct characters. */
  const hostile = (word: string): string =>
    Array.from({ length: 3_000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('') + word;
  let mixed: Collection;
  let mixedReader: Lists;
  const stored: { _id: number; title: string }[] = [];

  beforeAll(async () => {
    mixed = connection.collection('mixed');
    mixedReader = readerOf(mixed);
    for (let id = 1; id <= 1_500; id += 1) {
      const word = id % 10 === 0 ? 'needle' : 'hay';
      stored.push({ _id: id, title: id % 50 === 0 || id === 1_499 ? hostile(word) : `post ${word}` });
    }
    const documents = stored.map((row) => ({ ...row, facets: ['all'], grams: documentGrams([row.title]) }));
    await insertRows(mixed, documents);
  });

  const search = (query: string, slice: { order: Order; after?: number; skip?: number }) =>
    mixedReader.read(
      {
        ...listWith('all', stored.length),
        search: textOf(query),
      },
      { skip: 0, take: 20, counted: true, ...slice },
    );

  test('a document with too many grams is stored with one key', async () => {
    const texts = connection.collection('mixed_texts');
    expect(await texts.countDocuments({ grams: EVERY_SEARCH })).toBe(31);
    expect(await texts.countDocuments({ grams: [EVERY_SEARCH] as never })).toBe(31);
  });

  test.each(['needle', 'n', '\u4e10\u4e11', '\u5000', EVERY_SEARCH])(
    'a document with too many grams is found by %j only where it matches, on any page',
    async (query) => {
      for (const order of ['ASC', 'DESC'] as const) {
        const ids = stored.filter(({ title }) => matchesFolded(title, query)).map(({ _id }) => _id);
        const expected = order === 'ASC' ? ids : ids.toReversed();
        const first = await search(query, { order });
        expect(idsOf(first)).toEqual(expected.slice(0, 20));
        if (first.total !== undefined) expect(first.total).toBe(expected.length);
        const deep = await search(query, { order, after: 750 });
        expect(idsOf(deep)).toEqual(beyond(expected, order, 750).slice(0, 20));
        expect(idsOf(await search(query, { order, skip: 40 }))).toEqual(expected.slice(40, 60));
      }
    },
  );

  test('a search for a rare gram also reads and counts the documents with too many grams', async () => {
    let result: Listed | undefined;
    const read = await documentsRead(async () => {
      result = await search('\u4e10\u4e11', { order: 'DESC' });
    });
    expect(result?.total).toBe(31);
    expect(read).toBeLessThan(31 + 129);
  });
});

describe('a search that finds nothing among common grams', () => {
  /** Every gram of the query is in every title, the query in none but the first. */
  const QUERY = 'bcabca';
  const COUNT = SEARCHED_ROWS_MAX + 1_500;
  let common: Collection;
  let commonReader: Lists;
  const read = (slice: Partial<Slice> = {}) =>
    commonReader.read(commonQuery, { order: 'DESC', skip: 0, take: 30, counted: true, ...slice });
  const commonQuery: ListQuery = {
    ...listWith('all', COUNT),
    search: textOf(QUERY),
  };

  beforeAll(async () => {
    common = connection.collection('common');
    commonReader = readerOf(common);
    const title = 'abcab cabca';
    const grams = queryGrams(QUERY);
    const documents = Array.from({ length: COUNT }, (_, index) => ({
      _id: index + 1,
      title: index < 2 ? `${title} ${QUERY}` : title,
      facets: ['all'],
      grams,
    }));
    await insertRows(common, documents);
  });

  test('a search without a match reads limited rows and returns where the next page continues', async () => {
    let result: Listed | undefined;
    const documents = await documentsRead(async () => {
      result = await read();
    });
    expect(result).toMatchObject({ rows: [], more: true, total: undefined });
    // An id and a row of each, a sample, and what is read at once after the limit.
    expect(documents).toBeLessThan(2 * SEARCHED_ROWS_MAX + 128 + 1_001);
    expect(result?.continueAfter).toBeGreaterThan(2);
    expect(idsOf(await read({ after: result?.continueAfter, counted: false }))).toEqual([2, 1]);
  });

  test.each([1, 30])('every match is found by following the cursor, %i a page', async (perPage) => {
    const all = [2, 1];
    const readSlice = async (slice: Slice) => {
      const listed = await commonReader.read(commonQuery, slice);
      return { ...listed, rows: listed.rows.map(({ _id }) => ({ id: _id })) };
    };
    const follow = async (of: (after: readonly number[] | undefined) => Promise<PageOf<{ id: number }>>) => {
      const result: number[] = [];
      let pages = 0;
      for (let after: readonly number[] | undefined; ; ) {
        const page = await of(after);
        result.push(...page.rows.map(({ id }) => id));
        pages += 1;
        after = page.next;
        if (after === undefined) return { result, pages };
      }
    };
    const requestOf = (after: readonly number[] | undefined): PageRequest =>
      after === undefined ? { mode: 'page', page: 1, perPage, skip: 0 } : { mode: 'cursor', perPage, after };
    const listed = await follow((after) =>
      readListPage(readSlice, { total: COUNT, search: QUERY }, 'DESC', requestOf(after)),
    );
    expect(listed.result).toEqual(all);
    expect(listed.pages).toBeGreaterThan(1);
    const ranked = [
      { id: COUNT + 2, rank: 2 },
      { id: COUNT + 1, rank: 1 },
    ];
    const led = await follow((after) =>
      readRankedPage(
        {
          ranked,
          findMany: async (ids) => ids.map((id) => ({ id })),
          readRest: readSlice,
          total: COUNT + 2,
          search: QUERY,
        },
        requestOf(after),
      ),
    );
    expect(led.result).toEqual([COUNT + 2, COUNT + 1, ...all]);
  });

  test('a search stops when the client has disconnected', async () => {
    const documents = await documentsRead(() => read({ signal: AbortSignal.abort() }));
    expect(documents).toBeLessThan(128 + 1_001);
  });

  test('a page past the end is empty without a next one', async () => {
    const page = await readListPage(
      async (slice) => ({ ...(await commonReader.read(commonQuery, slice)), rows: [] }),
      { total: COUNT, search: QUERY },
      'DESC',
      { mode: 'page', page: 1_000, perPage: 30, skip: 29_970 },
    );
    expect(page).toEqual({ rows: [], total: undefined, next: undefined });
  });
});

test('a search of long texts reads limited characters', async () => {
  const LENGTH = 20_000;
  const count = Math.ceil(SEARCHED_CHARACTERS_MAX / LENGTH) + 150;
  const long = connection.collection('long');
  const title = 'abcab cabca '.repeat(LENGTH / 12);
  const grams = queryGrams('bcabca');
  const documents = Array.from({ length: count }, (_, index) => ({
    _id: index + 1,
    title: index === 0 ? 'bcabca' : title,
    facets: ['all'],
    grams,
  }));
  await insertRows(long, documents);
  const longReader = readerOf(long);
  const query = {
    ...listWith('all', count),
    search: textOf('bcabca'),
  };
  const slice = { order: 'DESC', skip: 0, take: 30, counted: true } as const;
  const first = await longReader.read(query, slice);
  expect(first).toMatchObject({ rows: [], more: true, total: undefined });
  expect(first.continueAfter).toBeGreaterThan(1);
  expect(first.continueAfter).toBeLessThan(count - 300);
  expect(idsOf(await longReader.read(query, { ...slice, after: first.continueAfter }))).toEqual([1]);
});

test('a search past the end counts its results, as on the first page', async () => {
  const readSlice = async (slice: Slice) => {
    const listed = await reader.read({ ...listOf('all'), search: textOf('needle') }, slice);
    return { ...listed, rows: listed.rows.map(({ _id }) => ({ id: _id })) };
  };
  const total = await collection.countDocuments({ title: /needle/ });
  const query = { total: totalOf('all'), search: 'needle' };
  for (const page of [1, 1_000])
    expect(
      await readListPage(readSlice, query, 'DESC', {
        mode: 'page',
        page,
        perPage: 10,
        skip: (page - 1) * 10,
      }),
    ).toMatchObject({ total });
  const empty = await readListPage(readSlice, { ...query, total: 0 }, 'DESC', {
    mode: 'page',
    page: 1,
    perPage: 10,
    skip: 0,
  });
  expect(empty).toEqual({ rows: [], total: 0, next: undefined });
});
