import { describe, expect, test } from '@jest/globals';
import { isNestedTooDeeply } from './json-nesting.ts';

const lists = (depth: number, inner = ''): string => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`;
const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

describe('too deep JSON', () => {
  test.each([
    ['33 lists', lists(33)],
    ['33 objects', objects(33)],
    ['lists and objects in turns', `${'[{"a":'.repeat(17)}1${'}]'.repeat(17)}`],
    ['lists without an end', '['.repeat(500_000)],
    ['after a string that ends with a backslash', `{"a":"\\\\","b":${lists(32)}}`],
    ['after a string with an escaped quote', `{"a":"\\"","b":${lists(32)}}`],
  ])('JSON is nested too deeply with %s', (_what, json) => {
    expect(isNestedTooDeeply(json)).toBe(true);
  });
});

describe('accepted JSON', () => {
  test.each([
    ['with 32 lists', lists(32, '1')],
    ['with 32 objects', objects(32)],
    ['with many lists beside each other', `[${Array(1_000).fill('[[]]').join(',')}]`],
    ['with brackets in a string', JSON.stringify({ a: '[{'.repeat(1_000), b: '"[['.repeat(1_000) })],
    ['with escaped quotes and brackets in a string', `["\\"${'\\\\\\"['.repeat(100)}"]`],
    ['with brackets in a name', JSON.stringify({ ['['.repeat(100)]: 1 })],
    ['with an escaped bracket', `["${'\\u005b'.repeat(100)}"]`],
    ['without an end of a string', `"${'['.repeat(100)}`],
    ['with a backslash at its end', '"\\'],
    ['with nothing', ''],
  ])('JSON %s is accepted', (_what, json) => {
    expect(isNestedTooDeeply(json)).toBe(false);
  });
});
