import { describe, expect, test } from '@jest/globals';
import { shareReads, shareReadsById } from './share-reads.ts';

/** Reads that end when `endNext` is called; `reads` has the ids of each. */
const controlled = () => {
  const ends: (() => void)[] = [];
  const reads: (readonly number[])[] = [];
  const read = async (ids: readonly number[] = []) => {
    reads.push(ids);
    const number = reads.length;
    await new Promise<void>((resolve) => ends.push(resolve));
    return new Map(ids.map((id) => [id, number]));
  };
  const endNext = async (): Promise<void> => {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { read, reads, endNext };
};

describe('calls during a read', () => {
  test('calls during a read share the next read, which begins after all of them', async () => {
    const { read, reads, endNext } = controlled();
    const shared = shareReads(() => read());
    const first = shared();
    const [second, third] = [shared(), shared()];
    expect(reads).toHaveLength(1);
    await endNext();
    expect(reads).toHaveLength(2);
    const fourth = shared();
    await endNext();
    expect(reads).toHaveLength(3);
    await endNext();
    expect(await second).toBe(await third);
    expect(await first).not.toBe(await second);
    expect(await fourth).not.toBe(await second);
  });

  test('calls by ids share one read, which asks for all of their ids once', async () => {
    const { read, reads, endNext } = controlled();
    const shared = shareReadsById(read);
    const calls = [shared([1]), shared([2, 3]), shared([3, 4])];
    await endNext();
    const late = shared([1]);
    await endNext();
    await endNext();
    expect(reads).toEqual([[1], [2, 3, 4], [1]]);
    expect((await calls[0])?.get(1)).toBe(1);
    expect((await calls[1])?.get(3)).toBe(2);
    expect((await calls[2])?.get(4)).toBe(2);
    expect((await late).get(1)).toBe(3);
  });

  test('calls after a failed read succeed', async () => {
    let isDown = true;
    const shared = shareReadsById(async (ids) => {
      if (isDown) throw new Error('down');
      return new Map(ids.map((id) => [id, id]));
    });
    const failed = shared([1]);
    const next = shared([2]);
    isDown = false;
    await expect(failed).rejects.toThrow('down');
    expect(await next).toEqual(new Map([[2, 2]]));
  });
});
