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
  const GRAM = 'abc';
  const FEW = 10;
  const MANY = 251;

  /** Of a collection whose rows `ids` contain {@link GRAM}; with the memory that the rows are kept in. */
  const searched = (ids: () => readonly number[]) => {
    const { read, reads, change } = database();
    const found = (_gram: string, limit: number) => read(ids().slice(0, limit));
    const rows = createKeptRows(read, []);
    const candidates = createKeptCandidates({
      ids: async (gram, limit) => (await found(gram, limit)).map(({ _id }) => _id),
      rows: found,
      keep: rows.keep,
    });
    return { rows, candidates, change, reads };
  };
  const upTo = (count: number) => [...Array(count).keys()].map((id) => id + 1);

  test('that are searched by many at once are read once', async () => {
    const { candidates, reads } = searched(() => [7]);
    expect(await many(() => candidates.find(GRAM, FEW))).toEqual(Array(READERS).fill([7]));
    expect(reads).toHaveLength(1);
  });

  test('of which one changed during a read are read again', async () => {
    const { candidates, reads } = searched(() => [7]);
    const earlier = candidates.find(GRAM, FEW);
    candidates.changed([8]);
    await Promise.all([earlier, candidates.find(GRAM, FEW)]);
    expect(reads).toHaveLength(2);
    await candidates.find(GRAM, FEW);
    expect(reads).toHaveLength(2);
  });

  test('leave no row in memory that changed during the read', async () => {
    const { rows, candidates, change } = searched(() => [7]);
    const earlier = candidates.find(GRAM, FEW);
    change();
    candidates.changed([7]);
    rows.forget([7]);
    await earlier;
    expect(await rows.find([7])).toEqual([{ _id: 7, version: 2 }]);
  });

  test('that are few are read together with their rows', async () => {
    const { rows, candidates, reads } = searched(() => upTo(FEW));
    expect(await candidates.find(GRAM, FEW)).toEqual(upTo(FEW));
    expect(await rows.find(upTo(FEW))).toHaveLength(FEW);
    expect(reads).toHaveLength(1);
  });

  test.each([FEW, MANY])('that are many are all found, with an estimate of %d', async (estimate) => {
    const { candidates } = searched(() => upTo(MANY));
    expect(await candidates.find(GRAM, estimate)).toEqual(upTo(MANY));
  });

  test('are left to the database when they are too many', async () => {
    const { candidates } = searched(() => upTo(1_001));
    expect(await candidates.find(GRAM, FEW)).toBeUndefined();
    expect(await candidates.find(GRAM, FEW)).toBeUndefined();
  });

  test('replace no row that is in memory', async () => {
    const { rows, candidates } = searched(() => [7]);
    const before = await rows.find([7]);
    await candidates.find(GRAM, FEW);
    const after = await rows.find([7]);
    expect(after[0]).toBe(before[0]);
  });
});
