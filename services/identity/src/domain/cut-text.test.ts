import { describe, expect, test } from '@jest/globals';
import { cutText } from './cut-text.ts';

describe('cutText', () => {
  test.each([
    ['a text that fits is kept', 'abcdef', 6, 'abcdef'],
    ['an ASCII text is cut at its size', 'abcdefg', 6, 'abc…'],
    ['a text with two bytes for each letter is cut at its size', 'سسسس', 7, 'سس…'],
    ['a text ends before a letter that does not fit', 'سسسس', 6, 'س…'],
    ['a text ends before a surrogate pair that does not fit', 'a💪💪', 8, 'a💪…'],
    ['a text ends before an emoji of several code points', 'ab👩‍👧cd', 12, 'ab…'],
    ['a text ends before a letter with a combining mark', 'abe\u0301fgh', 6, 'ab…'],
  ])('%s', (_which, text, maxBytes, cut) => {
    expect(cutText(text, maxBytes)).toBe(cut);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxBytes);
  });
});
