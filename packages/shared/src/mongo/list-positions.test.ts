import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createListPositions, type FacetedRow } from './list-positions.ts';
import type { ListVersions } from './list-versions.ts';

/** Every run checks the same examples. */
const SEED = 20260123;

/** A collection of which every change has a version, as the counters tell it. */
const collection = (lists: Readonly<Record<string, readonly number[]>>) => {
  const stored = new Map(Object.entries(lists).map(([facet, ids]) => [facet, new Set(ids)]));
  const changes: number[] = [];
  const reads: string[] = [];
  const versions = (): ListVersions => new Map([['counter', changes.length]]);
  const facetsOf = (id: number): string[] =>
    [...stored].filter(([, ids]) => ids.has(id)).map(([facet]) => facet);
  const positions = createListPositions({
    ids: async (facet) => {
      reads.push(facet);
      return [...(stored.get(facet) ?? [])];
    },
    changes: async (since) => ({
      versions: versions(),
      rows: changes.slice(since.get('counter') ?? 0).map((id): FacetedRow => ({ id, facets: facetsOf(id) })),
    }),
    forget: () => undefined,
  });
  const place = (id: number, facets: readonly string[]): void => {
    for (const [facet, ids] of stored) {
      ids.delete(id);
      if (facets.includes(facet)) ids.add(id);
    }
    changes.push(id);
  };
  return { positions, versions, place, reads };
};

const ids = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 40 });

describe('a slice of lists', () => {
  test('is that of their sorted ids, without those that it leaves out', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          all: ids,
          isFirst: fc.func(fc.boolean()),
          without: ids,
          order: fc.constantFrom('ASC' as const, 'DESC' as const),
          after: fc.option(fc.integer({ min: 0, max: 61 }), { nil: undefined }),
          skip: fc.nat({ max: 20 }),
          take: fc.nat({ max: 10 }),
        }),
        async ({ all, isFirst, without, order, after, skip, take }) => {
          const one = all.filter((id) => isFirst(id));
          const two = all.filter((id) => !isFirst(id));
          const { positions, versions } = collection({ one, two });
          const lists = { facets: ['one', 'two'], total: all.length, versions: versions() };
          const expected = all
            .filter((id) => !without.includes(id))
            .toSorted((a, b) => (order === 'ASC' ? a - b : b - a))
            .filter((id) => after === undefined || (order === 'ASC' ? id > after : id < after))
            .slice(skip, skip + take + 1);
          expect(await positions.find(lists, { order, after, skip, take, without })).toEqual(expected);
        },
      ),
      { seed: SEED, numRuns: 500 },
    );
  });

  test('follows every change, and reads each list once', async () => {
    await fc.assert(
      fc.asyncProperty(
        ids,
        fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.subarray(['one', 'two'])), { maxLength: 20 }),
        async (first, changes) => {
          const { positions, versions, place, reads } = collection({ one: first, two: [] });
          const listed = new Map<string, Set<number>>([
            ['one', new Set(first)],
            ['two', new Set()],
          ]);
          for (const [id, facets] of [[0, []] as [number, string[]], ...changes]) {
            if (id !== 0) place(id, facets);
            for (const [facet, known] of listed) {
              known.delete(id);
              if (facets.includes(facet)) known.add(id);
              const expected = [...known].toSorted((a, b) => a - b);
              expect(await positions.all(facet, versions())).toEqual(expected);
            }
          }
          expect(reads).toEqual(['one', 'two']);
        },
      ),
      { seed: SEED },
    );
  });

  test('is not found in lists that contradict their total, nor for the first page of long ones', async () => {
    const { positions, versions, reads } = collection({ one: [1, 2, 3] });
    const first = { order: 'DESC', skip: 0, take: 5 } as const;
    expect(
      await positions.find({ facets: ['one'], total: 20_001, versions: versions() }, first),
    ).toBeUndefined();
    expect(reads).toEqual([]);
    expect(await positions.find({ facets: ['one'], total: 4, versions: versions() }, first)).toBeUndefined();
    expect(await positions.find({ facets: ['one'], total: 3, versions: versions() }, first)).toEqual([
      3, 2, 1,
    ]);
  });

  test('is not found in many lists at once, which would keep other requests waiting', async () => {
    const names = Array.from({ length: 21 }, (_, index) => `profile:${index}`);
    const { positions, versions, reads } = collection(Object.fromEntries(names.map((name) => [name, []])));
    const slice = { order: 'DESC', skip: 10, take: 5 } as const;
    expect(await positions.find({ facets: names, total: 0, versions: versions() }, slice)).toBeUndefined();
    expect(reads).toEqual([]);
    const few = names.slice(1);
    expect(await positions.find({ facets: few, total: 0, versions: versions() }, slice)).toEqual([]);
    expect(reads).toEqual(few);
  });
});
