/** Reads of what is not in memory yet: many readers of the same cost the database one read, and none gets what is too old. */
import { describe, expect, test } from '@jest/globals';
import { createKeptCandidates } from './kept-candidates.ts';
import { createKeptRows } from './kept-rows.ts';

const READERS = 20;
const many = <Result>(work: () => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: READERS }, work));

/** A database whose reads take a turn of the event loop, and answer with what was stored when they began. */
const database = () => {
  let version = 1;
  const reads: number[][] = [];
  return {
    reads,
    change: () => {
      version += 1;
    },
    read: async (ids: readonly number[]) => {
      reads.push([...ids]);
      const now = version;
      await new Promise(setImmediate);
      return ids.map((_id) => ({ _id, version: now }));
    },
  };
};

describe('rows', () => {
  test('that are read by many at once are read once, and each gets the ones it asked for', async () => {
    const { read, reads } = database();
    const rows = createKeptRows(read, []);
    const pages = await Promise.all([...Array(READERS).keys()].map((page) => rows.find([1, 2, 3 + page])));
    expect(reads.flat().toSorted((a, b) => a - b)).toEqual(
      [...Array(READERS + 2).keys()].map((id) => id + 1),
    );
    for (const [page, found] of pages.entries())
      expect(found.map(({ _id }) => _id).toSorted((a, b) => a - b)).toEqual([1, 2, 3 + page]);
  });

  test.each([[[1]], [undefined]])('that changed during a read are read again (%p)', async (changed) => {
    const { read, change } = database();
    const rows = createKeptRows(read, []);
    const earlier = rows.find([1]);
    change();
    rows.forget(changed);
    const [row] = await rows.find([1]);
    expect(row).toMatchObject({ version: 2 });
    await earlier;
    expect(await rows.find([1])).toMatchObject([{ version: 2 }]);
  });

  test('are read again after a read that failed', async () => {
    const { read } = database();
    let fails = true;
    const rows = createKeptRows(async (ids) => {
      if (fails) throw new Error('lost');
      return read(ids);
    }, []);
    await expect(many(() => rows.find([1]))).rejects.toThrow('lost');
    fails = false;
    expect(await rows.find([1])).toHaveLength(1);
  });
});

describe('candidates', () => {
  test('that are searched by many at once are read once', async () => {
    const { read, reads } = database();
    const candidates = createKeptCandidates(async () => (await read([7])).map(({ _id }) => _id));
    expect(await many(() => candidates.find('abc'))).toEqual(Array(READERS).fill([7]));
    expect(reads).toHaveLength(1);
  });

  test('of which one changed during a read are read again', async () => {
    const { read, reads } = database();
    const candidates = createKeptCandidates(async () => (await read([7])).map(({ _id }) => _id));
    const earlier = candidates.find('abc');
    candidates.changed([8]);
    await Promise.all([earlier, candidates.find('abc')]);
    expect(reads).toHaveLength(2);
    await candidates.find('abc');
    expect(reads).toHaveLength(2);
  });
});
