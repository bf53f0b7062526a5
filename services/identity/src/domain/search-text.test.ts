import { describe, expect, test } from '@jest/globals';
import { nameSearch, searchGrams } from './search-text.ts';

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
    const stored = searchGrams(user);
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
  ])('whether %j is found by %j is %p', (names, search, expected) =>
    expect(isFound(names, search)).toBe(expected),
  );

  test('a search by name reads no account because of its email or phone', () => {
    const stored = searchGrams({ ...NOBODY, email: 'quartz@example.com', phone: '+989120001234' });
    for (const search of ['quartz', '@', '0001'])
      expect(nameSearch(search)?.grams.filter((gram) => stored.includes(gram))).toEqual([]);
  });
});
