import { describe, expect, test } from '@jest/globals';
import { indexText, searchQuery } from './search-text.ts';

describe('search', () => {
  const contains = (parts: string[], search: string): boolean => {
    const row = indexText(parts);
    const query = searchQuery(search);
    if (query === undefined) return true;
    return (
      query.grams.every((gram) => row.grams.includes(gram)) &&
      query.texts.some((text) => row.text.includes(text))
    );
  };

  test.each([
    [['Sara Kaveh'], 'ra ka', true],
    [['علي'], 'على', true],
    [['می‌روم'], 'میروم', true],
    [['می‌روم'], 'می روم', true],
    [['ab', 'cd'], 'bc', false],
    [['ab', 'cd'], 'b\nc', false],
    [['abcab'], 'cabc', false],
    [['x'], '   ', true],
  ])('%p and %p: %p', (parts, search, expected) => expect(contains(parts, search)).toBe(expected));
});
