import { createLog } from '@fitness/shared/kernel/log.ts';
import { queryGrams } from '@fitness/shared/kernel/text-search.ts';
import { COUNTED_MAX } from '@fitness/shared/lists/batches.ts';
import { SEARCHED_ROWS_MAX } from '@fitness/shared/lists/first-page.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import { dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newGym } from '../src/domain/gym.ts';
import { gymModel, gymTextModel, toDocument } from '../src/store/gym-document.ts';
import { createStore, type Store } from '../src/store/store.ts';

/** Every name contains all grams of the query, but only the two most distant ones contain the query. */
const QUERY = 'bcabca';
const NAME = 'abcab cabca';
const COUNT = SEARCHED_ROWS_MAX + 600;
const EXPANDED_QUERY = 'qqq';
/** A character with a folded form of eighteen characters, next to the grams of the query. */
const EXPANDED = `${'\ufdfa'.repeat(1_900)}qq`;
const EXPANDED_COUNT = 300;
const FROM = { lat: 35, lng: 51 };

const config = monitored(testConfig('gyms'));
let connection: Connection;
let store: Store;

const details = { address: null, description: null, isActive: true, showCrowd: false };
const placed = (id: number, lng: number) =>
  toDocument(
    newGym(
      id,
      { ...details, name: null, lat: 35, lng, cityId: null, majorIds: [], ownerId: null },
      new Date(0),
    ),
  );
/** Has only the grams of one query, because each gram is an index key and filling would be slow. */
const named = (id: number, name: string, query: string, lng: number) => ({
  gym: { ...placed(id, lng), name },
  texts: { row: id, grams: queryGrams(query) },
});

beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  const model = gymModel(connection);
  gymTextModel(connection);
  await ensureIndexes(connection);
  const common = Array.from({ length: COUNT }, (_, index) =>
    named(index + 1, index >= COUNT - 2 ? `${NAME} ${QUERY}` : NAME, QUERY, 51 + index / 100_000),
  );
  const long = Array.from({ length: EXPANDED_COUNT }, (_, index) => {
    const name = index === EXPANDED_COUNT - 1 ? EXPANDED_QUERY : EXPANDED;
    return named(COUNT + 1 + index, name, EXPANDED_QUERY, 60 + index / 100_000);
  });
  const documents = [...common, ...long];
  for (let start = 0; start < documents.length; start += 1_000) {
    const some = documents.slice(start, start + 1_000);
    await model.collection.insertMany(some.map(({ gym }) => gym) as never[]);
    await gymTextModel(connection).collection.insertMany(some.map(({ texts }) => texts));
  }
  // Runs without the cache of lists, which would return what an earlier test has read.
  store = createStore(connection, createLog({ service: 'test', level: 'silent' }), 0);
  await store.counters.prepare();
  const totals = { active_placed: documents.length, newest: documents.length };
  await connection.collection<{ _id: number }>('gym_counters').updateOne({ _id: 0 }, { $set: totals });
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

const search = (text: string, page: { perPage: number; after?: readonly number[]; signal?: AbortSignal }) => {
  const { perPage, after, signal } = page;
  return store.gyms.listNearest({ viewer: { kind: 'guest' }, search: text }, FROM, {
    ...(after === undefined
      ? { mode: 'page' as const, page: 1, perPage, skip: 0 }
      : { mode: 'cursor' as const, perPage, after }),
    signal,
  });
};

/** The ids on each page, from the first one to the last. */
const follow = async (text: string, perPage: number): Promise<number[][]> => {
  const pages: number[][] = [];
  for (let after: readonly number[] | undefined; ; ) {
    const { rows, next } = await search(text, { perPage, ...(after && { after }) });
    pages.push(rows.map(({ id }) => id));
    if (next === undefined) return pages;
    after = next;
  }
};

test('a search without results among many near gyms reads a limited number of rows, without a total', async () => {
  const { rows, total, next } = await search(QUERY, { perPage: 30 });
  expect([rows, total]).toEqual([[], undefined]);
  expect(next).toBeDefined();
});

test('following the cursor finds every match, nearest first', async () => {
  const pages = await follow(QUERY, 1);
  expect(pages.length).toBeGreaterThan(1);
  expect(pages.flat()).toEqual([COUNT - 1, COUNT]);
});

test('a search for a common text returns the nearest pages, without a total', async () => {
  const { rows, total, next } = await search('cabca', { perPage: 5 });
  expect(rows.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
  expect(total).toBeUndefined();
  const second = await search('cabca', { perPage: 5, ...(next && { after: next }) });
  expect(second.rows.map(({ id }) => id)).toEqual([6, 7, 8, 9, 10]);
});

test('a search in texts that grow when folded reads a limited number of characters', async () => {
  expect(EXPANDED_COUNT).toBeLessThan(COUNTED_MAX);
  const first = await search(EXPANDED_QUERY, { perPage: 30 });
  expect([first.rows, first.total]).toEqual([[], undefined]);
  expect((await follow(EXPANDED_QUERY, 30)).flat()).toEqual([COUNT + EXPANDED_COUNT]);
});

test('a search stops when the client disconnects', async () => {
  const commands = watchCommands(config.MONGODB_DATABASE);
  const complete = await commands.during(() => search(QUERY, { perPage: 30 }));
  const stopped = await commands.during(() => search(QUERY, { perPage: 30, signal: AbortSignal.abort() }));
  // Both locate all candidates. The complete search then reads the texts of 5,000 gyms, 250 at a time.
  expect(complete.length - stopped.length).toBeGreaterThanOrEqual(SEARCHED_ROWS_MAX / 250 - 1);
});
