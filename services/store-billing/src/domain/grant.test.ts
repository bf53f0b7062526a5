import { expect, test } from '@jest/globals';
import { expiryNoticeAt } from './grant.ts';

test.each([
  ['2126-02-15T10:00:00Z', '2126-02-12T10:00:00Z'],
  ['2126-01-18T10:00:01Z', '2126-01-15T10:00:01Z'],
  ['2126-01-18T10:00:00Z', undefined],
  ['2126-01-16T10:00:00Z', undefined],
])('the end %s of a subscription that starts at 2126-01-15T10:00:00Z is announced at %s', (end, at) => {
  const startsAt = new Date('2126-01-15T10:00:00Z');
  const expected = at === undefined ? null : new Date(at);
  expect(expiryNoticeAt({ startsAt, expiresAt: new Date(end) })).toEqual(expected);
});
