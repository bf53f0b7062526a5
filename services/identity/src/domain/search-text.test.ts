import { documentGrams } from '@fitness/shared/kernel/text-search.ts';
import { describe, expect, test } from '@jest/globals';
import { contactTexts, nameSearch } from './search-text.ts';

const NOBODY = {
  username: 'nobody',
  email: 'nobody@example.org',
  phone: '+1',
  first_name: '',
  last_name: '',
};

describe('a search by name', () => {
  const isFound = (names: Partial<typeof NOBODY>, search: string): boolean => {
    const user = { ...NOBODY, ...names };
    const query = nameSearch(search);
    if (query === undefined) return true;
    const stored = documentGrams(contactTexts(user));
    return query.grams.every((gram) => stored.includes(gram)) && query.match(user).isMatch;
  };

  test.each([
    [{ first_name: 'Sara', last_name: 'Kaveh' }, 'ra ka', true],
    [{ first_name: 'علي' }, 'على', true],
    [{ username: 'می‌روم' }, 'میروم', true],
    [{ username: 'می‌روم' }, 'می روم', true],
    [{ username: 'ab', first_name: 'cd' }, 'bc', false],
    [{ username: 'ab', first_name: 'cd' }, 'b\nc', false],
    [{ username: 'ab', first_name: 'cd' }, 'b c', false],
    [{ username: 'abcab' }, 'cabc', false],
    [{ email: 'x@example.com' }, 'x@example.com', false],
    [{ username: 'x' }, '   ', true],
  ])('finds %j by %j: %p', (names, search, expected) => expect(isFound(names, search)).toBe(expected));
});
