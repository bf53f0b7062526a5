import { expect, test } from '@jest/globals';
import { pluralize } from './pluralize.ts';

test.each([
  [0, '0 entries'],
  [1, '1 entry'],
  [3, '3 entries'],
  [1_200, '1,200 entries'],
])('a count of %d reads as a person writes it', (count, text) => {
  expect(pluralize(count, 'entry', 'entries')).toBe(text);
});
