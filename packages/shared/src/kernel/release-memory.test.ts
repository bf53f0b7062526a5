import { expect, test } from '@jest/globals';
import { releaseMemory } from './release-memory.ts';

test('a piece that is its whole ArrayBuffer is empty afterwards', () => {
  const piece = Buffer.from(new ArrayBuffer(8)).fill(7);
  releaseMemory(piece);
  expect(piece.length).toBe(0);
  expect(piece.buffer.byteLength).toBe(0);
});

test('a part of an ArrayBuffer keeps its bytes, as do the other parts', () => {
  const whole = Buffer.from(new ArrayBuffer(8)).fill(7);
  releaseMemory(whole.subarray(2, 4));
  releaseMemory(whole.subarray(0, 7));
  expect([...whole]).toEqual(Array.from({ length: 8 }, () => 7));
});

test('an empty piece can be used again', () => {
  const empty = Buffer.from(new ArrayBuffer(0));
  releaseMemory(empty);
  expect(() => Buffer.from(empty.buffer)).not.toThrow();
  expect((empty.buffer as ArrayBuffer).detached).toBe(false);
});
