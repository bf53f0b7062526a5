import { expect, test } from '@jest/globals';
import { createRequestScope, remainingMs, runInScope } from './request-scope.ts';
import { createTickBatch } from './tick-batch.ts';

/** Answers each read with its own keys, which it also records. */
const recorded = (maxKeys?: number) => {
  const reads: number[][] = [];
  const read = createTickBatch(async (keys: number[]) => {
    reads.push(keys);
    return new Set(keys);
  }, maxKeys);
  return { reads, read };
};

test('callers in one tick of the event loop share a read that has each key once', async () => {
  const { reads, read } = recorded();
  const results = await Promise.all([[1], [2, 3], [1]].map(read));
  expect(reads).toEqual([[1, 2, 3]]);
  expect(results.map((result) => [...result])).toEqual([
    [1, 2, 3],
    [1, 2, 3],
    [1, 2, 3],
  ]);
});

test('no result is cached: a caller never gets a read that began before its call', async () => {
  const { reads, read } = recorded();
  await read([1]);
  await read([1]);
  expect(reads).toEqual([[1], [1]]);
});

test('a call during a running read gets the next read', async () => {
  const begun = Promise.withResolvers<void>();
  const reads: number[][] = [];
  const end = Promise.withResolvers<void>();
  const read = createTickBatch(async (keys: number[]) => {
    reads.push(keys);
    begun.resolve();
    await end.promise;
  });
  const first = read([1]);
  await begun.promise;
  const second = read([1]);
  end.resolve();
  await Promise.all([first, second]);
  expect(reads).toEqual([[1], [1]]);
});

test('no read exceeds its maximum number of keys, and every caller gets its own keys', async () => {
  const { reads, read } = recorded(200);
  const lists = Array.from({ length: 5 }, (_, list) =>
    Array.from({ length: 90 }, (_, index) => list * 90 + index),
  );
  const results = await Promise.all(lists.map(read));
  expect(reads.map((keys) => keys.length)).toEqual([180, 180, 90]);
  for (const [list, keys] of lists.entries()) expect(keys.every((key) => results[list]?.has(key))).toBe(true);
});

test('a request whose deadline has passed does not end the read that others share', async () => {
  const read = createTickBatch(async () => remainingMs());
  const late = runInScope(createRequestScope(0), () => read([1]));
  const other = read([2]);
  expect(await Promise.all([late, other])).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
});

test('a failed read fails for all of its callers, and the next tick reads again', async () => {
  let isBroken = true;
  const read = createTickBatch(async () => {
    if (isBroken) throw new Error('broken');
    return 'read';
  });
  const outcomes = await Promise.allSettled([read([1]), read([2])]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isBroken = false;
  expect(await read([1])).toBe('read');
});
