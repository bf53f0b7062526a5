import { expect, test } from '@jest/globals';
import { clientName } from './client.ts';

test.each([
  [undefined, null],
  ['', null],
  [' \u00e9\u0007 ', null],
  ['Fitness/3.2 (Android 15)', 'Fitness/3.2 (Android 15)'],
  ['Fit\u00e9\u0000ness\u200f 1', 'Fit ness 1'],
  ['x'.repeat(1_000), 'x'.repeat(200)],
])('the name of the client %j is %j', (userAgent, name) => {
  expect(clientName(userAgent)).toBe(name);
});
