/** Tests the cache against a database in which every change has a version. */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createCache } from './cache.ts';
import type { Database, ListRow, Window } from './list.ts';
import { createListMemory, type ListMemory } from './memory.ts';
import type { ListVersions } from './versions.ts';

/** Every run checks the same examples. */
const SEED = 20260123;
const MIB = 2 ** 20;
const ALL = { order: 'ASC', from: 1, to: 1_000 } as const;

/** Reads take ticks of the event loop, and return what was stored when they began. `slow`: a read that takes longer the first time. */
const store = ({ bytes = MIB, slow = 'nothing' } = {}) => {
  const rows = new Map<number, ListRow>();
  const changes: (number | string)[] = [];
  const reads: string[] = [];
  const fail = { rows: false };
  const read = async <Result>(name: string, result: Result): Promise<Result> => {
    reads.push(name);
    const isSlow = name === slow && reads.filter((one) => one === name).length === 1;
    for (let turn = 0; turn < (isSlow ? 20 : 3); turn += 1) await new Promise(setImmediate);
    return result;
  };
  const having = (key: unknown, { from, to }: Pick<Window, 'from' | 'to'>): ListRow[] =>
    [...rows.values()].filter(
      ({ _id, facets, title }) =>
        _id >= from &&
        _id < to &&
        ((facets as unknown[]).includes(key) || String(title).includes(String(key))),
    );
  const database: Database = {
    catchUp: async () => undefined,
    whole: ({ keys }) =>
      read(
        'whole',
        keys.flatMap(({ facets }) => having(facets, ALL)),
      ),
    windows: ({ keys }, window) =>
      read(
        `windows ${keys.map(({ facets }) => facets).join()}`,
        keys.map(({ facets }) => having(facets, window)),
      ),
    count: ({ keys }, ids) =>
      read(
        'count',
        keys.reduce((sum, { facets }) => sum + having(facets, ids).length, 0),
      ),
    cachedCount: () => undefined,
    candidates: (gram, window) => read(`gram ${gram}`, having(gram, window)),
    byIds: (ids) =>
      fail.rows
        ? Promise.reject(new Error('takes too long'))
        : read(
            `rows ${ids.join()}`,
            ids.flatMap((id) => rows.get(id) ?? []),
          ),
    ranked: () => Promise.reject(new Error('is not kept')),
    ids: ({ facets }) =>
      read(
        `ids ${facets}`,
        having(facets, ALL).map(({ _id }) => _id),
      ),
    named: (names) =>
      read(
        'named',
        names.flatMap((name) => having(name, ALL)),
      ),
  };
  const cache = createCache(database, {
    memory: (createListMemory(bytes / MIB) as ListMemory)('rows', ['title']),
    changesSince: async (since) => {
      reads.push('changes');
      const missed = changes.slice(since.get('counter') ?? 0);
      return { versions: versions(), changed: missed.includes('any') ? undefined : missed };
    },
  });
  const versions = (): ListVersions => new Map([['counter', changes.length]]);
  const write = (
    id: number,
    facets: readonly string[],
    title = 'plain',
    change: number | string = id,
  ): void => {
    if (facets.length === 0) rows.delete(id);
    else rows.set(id, { _id: id, facets, title });
    changes.push(change);
  };
  const list = (names: string | string[], total = 10) => ({
    keys: [names].flat().map((facets) => ({ facets })),
    total,
    newest: 1_000,
  });
  const rowsOf = async (names: string | string[], window: Window, total = 10): Promise<ListRow[]> =>
    (await cache.windows(list(names, total), window)).flat();
  const idsOf = (rows: readonly { _id: number }[]) => rows.map(({ _id }) => _id).toSorted((a, b) => a - b);
  return { cache, versions, write, reads, list, rowsOf, idsOf, rows, fail };
};

describe('a list', () => {
  test('a cached list follows every change and is read once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.subarray(['one', 'two'])), { maxLength: 30 }),
        fc.integer({ min: 1, max: 41 }),
        async (changes, from) => {
          const { cache, versions, write, reads, list, rowsOf, idsOf, rows } = store();
          for (const [id, facets] of changes) {
            write(id, facets);
            await cache.catchUp(versions());
            for (const name of ['one', 'two']) {
              const expected = [...rows.values()].filter((row) => (row.facets as string[]).includes(name));
              const window = { ...ALL, from };
              const inWindow = idsOf(expected).filter((one) => one >= from);
              expect(idsOf(await rowsOf(name, window))).toEqual(inWindow);
              expect(await cache.count(list(name), window)).toBe(inWindow.length);
            }
          }
          expect(reads.filter((name) => name.startsWith('ids')).length).toBeLessThanOrEqual(2);
          expect(reads.filter((name) => name.startsWith('windows'))).toEqual([]);
        },
      ),
      { seed: SEED, numRuns: 50 },
    );
  });

  test.each([[2], ['any'], ['one']])(
    'a list that changes during its read is as new as the requests that wait for it (%p)',
    async (change) => {
      const { cache, versions, write, rowsOf, idsOf } = store({ slow: 'ids one' });
      write(1, ['one']);
      await cache.catchUp(versions());
      const earlier = rowsOf('one', ALL);
      write(2, ['one'], 'plain', change);
      await cache.catchUp(versions());
      expect(idsOf(await rowsOf('one', ALL))).toEqual([1, 2]);
      await earlier;
      expect(idsOf(await rowsOf('one', ALL))).toEqual([1, 2]);
    },
  );

  test('a list with two keys has a row that moves between them once, even during a read', async () => {
    for (const slow of ['nothing', 'ids one', 'ids two']) {
      const { cache, versions, write, rowsOf, idsOf } = store({ slow });
      write(1, ['one']);
      await cache.catchUp(versions());
      await rowsOf('one', ALL);
      let isMoving = true;
      const move = async () => {
        for (let turn = 0; isMoving; turn += 1) {
          write(1, [turn % 2 === 0 ? 'two' : 'one']);
          await new Promise(setImmediate);
        }
      };
      const moving = move();
      for (let page = 0; page < 30; page += 1) {
        await cache.catchUp(versions());
        expect([...new Set(idsOf(await rowsOf(['one', 'two'], ALL)))]).toEqual([1]);
      }
      isMoving = false;
      await moving;
    }
  });

  test('a moved row is not lost if one of two keys was read for another request', async () => {
    const { cache, versions, write, rowsOf, idsOf } = store();
    write(7, ['one']);
    await cache.catchUp(versions());
    expect(await rowsOf('two', ALL)).toEqual([]);
    write(7, ['two']);
    expect(await rowsOf('one', ALL)).toEqual([]);
    expect(idsOf(await rowsOf(['one', 'two'], ALL))).toEqual([7]);
  });

  test('a full window with a deleted row does not hide the rows after it', async () => {
    const { cache, versions, write, rowsOf, rows } = store();
    for (let id = 1; id <= 700; id += 1) write(id, ['one'], 'plain', id === 1 ? 'any' : 'none');
    await cache.catchUp(versions());
    await rowsOf('one', { ...ALL, to: 10 });
    rows.delete(300);
    expect((await rowsOf('one', ALL)).length).toBeGreaterThanOrEqual(500);
  });

  test('a list is read once for all requests that wait for it', async () => {
    const { cache, versions, write, rowsOf, reads } = store();
    write(1, ['one']);
    await cache.catchUp(versions());
    const results = await Promise.all(Array.from({ length: 50 }, () => rowsOf('one', ALL)));
    expect(results.every(({ length }) => length === 1)).toBe(true);
    expect(reads.filter((name) => name === 'ids one' || name === 'changes')).toEqual(['ids one', 'changes']);
  });

  test('a short list is read beside a long one that is cached', async () => {
    const { cache, versions, write, rowsOf, reads, idsOf } = store();
    for (let id = 1; id <= 50; id += 1) write(id, ['one'], 'plain', id === 1 ? 'any' : 'none');
    write(900, ['two']);
    await cache.catchUp(versions());
    await rowsOf('one', ALL);
    reads.length = 0;
    expect(idsOf(await rowsOf(['one', 'two'], ALL, 20_051))).toHaveLength(51);
    expect(reads).toContain('windows one,two');
    expect(idsOf(await rowsOf(['one', 'two'], ALL, 20_050))).toHaveLength(51);
    reads.length = 0;
    expect(idsOf(await rowsOf(['one', 'two'], ALL, 20_050))).toHaveLength(51);
    expect(reads.filter((name) => name.startsWith('windows'))).toEqual([]);
  });

  test('the length of a cached list is known after every change', async () => {
    const { cache, versions, write, rowsOf } = store();
    write(1, ['one']);
    await cache.catchUp(versions());
    expect(cache.cachedCount({ facets: 'one' })).toBeUndefined();
    await rowsOf('one', ALL);
    write(2, ['one']);
    await cache.catchUp(versions());
    expect(cache.cachedCount({ facets: 'one' })).toBe(2);
  });

  test('a request does not wait until a long list is cached', async () => {
    const { cache, versions, write, rowsOf, reads, idsOf } = store();
    write(1, ['one']);
    await cache.catchUp(versions());
    expect(idsOf(await rowsOf('one', ALL, 20_001))).toEqual([1]);
    expect(reads).toContain('windows one');
    await new Promise((resolve) => setTimeout(resolve, 20));
    reads.length = 0;
    expect(idsOf(await rowsOf('one', ALL, 20_001))).toEqual([1]);
    expect(reads.filter((name) => name.startsWith('windows'))).toEqual([]);
  });
});

describe('rows', () => {
  test('rows are read once', async () => {
    const { cache, write, reads, idsOf } = store();
    for (const id of [1, 2, 3]) write(id, ['one']);
    expect(idsOf(await cache.byIds([1, 2]))).toEqual([1, 2]);
    expect(idsOf(await cache.byIds([1, 2, 3]))).toEqual([1, 2, 3]);
    expect(reads).toEqual(['rows 1,2', 'rows 3']);
  });

  test.each([[1], ['any'], ['one']])(
    'rows that change while they are read are read again (%p)',
    async (change) => {
      const { cache, versions, write } = store({ slow: 'rows 1' });
      write(1, ['one'], 'old');
      await cache.catchUp(versions());
      const earlier = cache.byIds([1]);
      write(1, ['one'], 'new', change);
      await cache.catchUp(versions());
      expect(await cache.byIds([1])).toMatchObject([{ title: 'new' }]);
      await earlier;
      expect(await cache.byIds([1])).toMatchObject([{ title: 'new' }]);
    },
  );
});

describe('the rows with a gram', () => {
  test('cached candidates are complete after every change, in any window', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            id: fc.integer({ min: 1, max: 60 }),
            hasGram: fc.boolean(),
            from: fc.integer({ min: 1, max: 60 }),
            width: fc.integer({ min: 1, max: 60 }),
            order: fc.constantFrom('ASC' as const, 'DESC' as const),
          }),
          { maxLength: 30 },
        ),
        async (steps) => {
          const { cache, versions, write, idsOf, rows } = store();
          for (const { id, hasGram, from, width, order } of steps) {
            write(id, ['one'], hasGram ? 'a gram' : 'none');
            await cache.catchUp(versions());
            const window = { order, from, to: from + width };
            const ids = idsOf(await cache.candidates('gram', window));
            for (const row of rows.values())
              if (row._id >= from && row._id < from + width && String(row.title).includes('gram'))
                expect(ids).toContain(row._id);
            expect(ids.every((one) => one >= from && one < from + width)).toBe(true);
          }
        },
      ),
      { seed: SEED, numRuns: 100 },
    );
  });

  test('candidates are not cached if one of them changed while they were read', async () => {
    const { cache, versions, write, idsOf } = store({ slow: 'gram gram' });
    write(1, ['one'], 'gram');
    await cache.catchUp(versions());
    const window = { order: 'DESC', from: 1, to: 100 } as const;
    const earlier = cache.candidates('gram', window);
    write(2, ['one'], 'gram');
    await cache.catchUp(versions());
    await earlier;
    expect(idsOf(await cache.candidates('gram', window))).toEqual([1, 2]);
  });

  test('candidates are read once', async () => {
    const { cache, versions, write, reads } = store();
    write(1, ['one'], 'gram');
    await cache.catchUp(versions());
    const window = { order: 'DESC', from: 1, to: 100 } as const;
    await cache.candidates('gram', window);
    reads.length = 0;
    write(2, ['one'], 'gram');
    await cache.catchUp(versions());
    expect((await cache.candidates('gram', { ...window, to: 101 })).map(({ _id }) => _id)).toEqual([1, 2]);
    expect(reads.filter((name) => name.startsWith('gram'))).toEqual([]);
  });
});

test('a change that names no row clears the cache', async () => {
  const { cache, versions, write, reads, rowsOf, idsOf } = store();
  write(1, ['one'], 'old');
  await cache.catchUp(versions());
  expect(await rowsOf('one', ALL)).toMatchObject([{ title: 'old' }]);
  write(2, ['one'], 'new', 'any');
  await cache.catchUp(versions());
  reads.length = 0;
  expect(idsOf(await rowsOf('one', ALL))).toEqual([1, 2]);
  expect(reads.filter((name) => !['rows ', 'named', 'changes'].includes(name))).toEqual([
    'ids one',
    'rows 1,2',
  ]);
});

test('the number of cached lists is limited, and the lists in use stay', async () => {
  const memory = (createListMemory(64) as ListMemory)('rows', ['title']);
  memory.keepList({ facets: 'public' }, [1, 2, 3]);
  for (let profile = 1; profile <= 6_000; profile += 1) {
    memory.keepList({ facets: `gym:${profile}` }, [profile]);
    expect(memory.list({ facets: 'public' })).toEqual([1, 2, 3]);
  }
  expect(memory.listCount()).toBeLessThanOrEqual(5_000);
  expect(memory.list({ facets: 'gym:6000' })).toEqual([6_000]);
  expect(memory.list({ facets: 'gym:1' })).toBeUndefined();
});

test('more changed rows than a process can place at once clear the cache', async () => {
  const { cache, versions, write, reads, rowsOf, idsOf } = store();
  for (let id = 1; id <= 990; id += 1) write(id, ['one'], 'plain', id === 1 ? 'any' : 'none');
  await cache.catchUp(versions());
  await rowsOf('one', ALL);
  for (let id = 1; id <= 1_200; id += 1) write(id, ['one', 'two']);
  await cache.catchUp(versions());
  reads.length = 0;
  expect(idsOf(await rowsOf('one', { ...ALL, from: 900 }))).toHaveLength(100);
  expect(reads).toContain('ids one');
});

test('changed rows that cannot be read are dropped, and no later request fails because of them', async () => {
  const { cache, versions, write, rowsOf, idsOf, fail } = store();
  write(1, ['one'], 'old');
  await cache.catchUp(versions());
  await rowsOf('one', ALL);
  write(1, ['one'], 'new');
  fail.rows = true;
  await cache.catchUp(versions());
  fail.rows = false;
  expect(await rowsOf('one', ALL)).toMatchObject([{ title: 'new' }]);
  expect(idsOf(await rowsOf('one', ALL))).toEqual([1]);
});

test('cached rows and lists are read again after a minute', async () => {
  let nowMs = 1_000;
  const memory = (createListMemory(64, { now: () => nowMs }) as ListMemory)('rows', ['title']);
  memory.keepRow({ _id: 1, title: 'old' });
  memory.keepList({ facets: 'one' }, [1]);
  nowMs += 59_000;
  expect([memory.row(1)?.title, memory.list({ facets: 'one' })]).toEqual(['old', [1]]);
  nowMs += 2_000;
  // The clock is read once in a millisecond.
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect([memory.row(1), memory.list({ facets: 'one' })]).toEqual([undefined, undefined]);
});

test('the least recently used entries are dropped first and read again', async () => {
  const { cache, versions, write, reads, rowsOf, idsOf } = store({ bytes: 10_000 });
  for (let id = 1; id <= 20; id += 1) write(id, ['one'], 'x'.repeat(100));
  await cache.catchUp(versions());
  for (let round = 0; round < 3; round += 1) expect(idsOf(await rowsOf('one', ALL))).toHaveLength(20);
  reads.length = 0;
  await cache.byIds([1, 2, 3]);
  expect(reads).toHaveLength(1);
});
