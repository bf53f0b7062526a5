import { describe, expect, test } from '@jest/globals';
import {
  differenceOfLeaves,
  differenceOfSeal,
  headText,
  nextSeal,
  readHead,
  type SealedRecord,
} from './seal.ts';

const at = new Date('2026-01-15T10:00:00Z');
const record = (key: string, seal: number | null = null): SealedRecord => ({
  key,
  hash: `hash of ${key}`,
  seal,
});
const first = nextSeal(undefined, [record('b'), record('a')], at);
const second = nextSeal(first, [record('c')], at);

test('a seal must follow the previous one', () => {
  expect(differenceOfSeal(first, undefined)).toBeUndefined();
  expect(differenceOfSeal(second, first)).toBeUndefined();
  expect(differenceOfSeal(second, undefined)).toBe('seal 1 does not exist');
  expect(differenceOfSeal({ ...second, previous: second.hash }, first)).toContain('does not follow');
  expect(differenceOfSeal({ ...second, sealedAt: new Date(0) }, first)).toContain('is not what was sealed');
});

describe('the records of a seal', () => {
  const isIntact = ({ key, hash }: SealedRecord): boolean => hash === `hash of ${key}`;
  const older = { isNewest: false, isIntact };

  test('records of a seal may be unmarked only while the seal is the newest', () => {
    expect(differenceOfLeaves(second, [record('c')], { isNewest: true, isIntact })).toBeUndefined();
    expect(differenceOfLeaves(second, [record('c')], older)).toBe(
      'entry c is sealed in 2, but not marked with it',
    );
    expect(differenceOfLeaves(second, [record('c', 2)], older)).toBeUndefined();
  });

  test('a seal accepts exactly its own records, all of them unchanged', () => {
    const [a, b] = [record('a', 1), record('b', 1)];
    expect(differenceOfLeaves(first, [a, b], older)).toBeUndefined();
    expect(differenceOfLeaves(first, [b], older)).toBe('entry a, sealed in 1, does not exist');
    expect(differenceOfLeaves(first, [a, { ...b, hash: 'x' }], older)).toBe(
      'entry b is not what was sealed in 1',
    );
    expect(differenceOfLeaves(first, [a, b, record('z', 1)], older)).toBe(
      'entry z is marked with seal 1, which does not contain it',
    );
  });
});

test('a head that was written as text is read back unchanged', () => {
  expect(readHead(headText(second))).toEqual({ number: 2, hash: second.hash });
  for (const text of ['', '2', '0:ab', `2:${second.hash.slice(1)}`]) expect(readHead(text)).toBeUndefined();
});
