import { expect, test } from '@jest/globals';
import { omitUndefined } from './omit-undefined.ts';

test('omitUndefined keeps null', () => {
  expect(omitUndefined({ a: null, b: undefined, c: 0 })).toEqual({ a: null, c: 0 });
});
