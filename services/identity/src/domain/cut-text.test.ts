import { describe, expect, test } from '@jest/globals';
import { cutText } from './cut-text.ts';

describe('a text', () => {
  test.each([
    ['that fits is kept', 'abcdef', 6, 'abcdef'],
    ['of ASCII', 'abcdefg', 6, 'abc…'],
    ['of two bytes for each letter', 'سسسس', 7, 'سس…'],
    ['ends before a letter that does not fit', 'سسسس', 6, 'س…'],
    ['ends before a surrogate pair that does not fit', 'a💪💪', 8, 'a💪…'],
    ['ends before an emoji of several code points', 'ab👩‍👧cd', 12, 'ab…'],
    ['ends before a letter with its mark', 'abe\u0301fgh', 6, 'ab…'],
  ])('%s', (_which, text, maxBytes, cut) => {
    expect(cutText(text, maxBytes)).toBe(cut);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxBytes);
  });
});
