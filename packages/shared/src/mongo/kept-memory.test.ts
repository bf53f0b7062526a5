/** Reads of what is not in memory yet: many readers of the same cost the database one read, and none gets what is too old. */
import { describe, expect, test } from '@jest/globals';
import { EVERY_SEARCH } from '../kernel/text-search.ts';
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
    const found = (gram: string, limit: number) => read(gram === GRAM ? ids().slice(0, limit) : []);
    const rows = createKeptRows(read, []);
    const candidates = createKeptCandidates({
      ids: async (gram, limit) => (await found(gram, limit)).map(({ _id }) => _id),
      rows: found,
      keep: rows.keep,
    });
    /** Reads of the gram, without those of the rows that every search looks at. */
    const ofGram = () => reads.filter(({ length }) => length > 0);
    return { rows, candidates, change, ofGram };
  };
  const upTo = (count: number) => [...Array(count).keys()].map((id) => id + 1);

  test('that are searched by many at once are read once', async () => {
    const { candidates, ofGram } = searched(() => [7]);
    expect(await many(() => candidates.find(GRAM, FEW))).toEqual(Array(READERS).fill([7]));
    expect(ofGram()).toHaveLength(1);
  });

  test('of which one changed during a read are read again', async () => {
    const { candidates, ofGram } = searched(() => [7]);
    const earlier = candidates.find(GRAM, FEW);
    candidates.changed([8]);
    await Promise.all([earlier, candidates.find(GRAM, FEW)]);
    expect(ofGram()).toHaveLength(2);
    await candidates.find(GRAM, FEW);
    expect(ofGram()).toHaveLength(2);
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
    const { rows, candidates, ofGram } = searched(() => upTo(FEW));
    expect(await candidates.find(GRAM, FEW)).toEqual(upTo(FEW));
    expect(await rows.find(upTo(FEW))).toHaveLength(FEW);
    expect(ofGram()).toHaveLength(1);
  });

  test.each([FEW, MANY])('that are many are all found, with an estimate of %d', async (estimate) => {
    const { candidates } = searched(() => upTo(MANY));
    expect(await candidates.find(GRAM, estimate)).toEqual(upTo(MANY));
  });

  test('include the rows that are candidates of every search, once each', async () => {
    const candidates = createKeptCandidates({
      ids: async () => [],
      rows: async (gram) => (gram === EVERY_SEARCH ? [7, 8] : [6, 7]).map((_id) => ({ _id })),
      keep: () => undefined,
    });
    expect((await candidates.find(GRAM, FEW))?.toSorted()).toEqual([6, 7, 8]);
  });

  test.each([GRAM, EVERY_SEARCH])(
    'are left to the database when too many rows contain %p',
    async (common) => {
      const candidates = createKeptCandidates({
        ids: async (gram, limit) => (gram === common ? upTo(limit) : []),
        rows: async (gram, limit) => (gram === common ? upTo(limit) : []).map((_id) => ({ _id })),
        keep: () => undefined,
      });
      expect(await candidates.find(GRAM, FEW)).toBeUndefined();
      expect(await candidates.find(GRAM, FEW)).toBeUndefined();
    },
  );
});
