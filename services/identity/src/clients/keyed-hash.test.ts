import { expect, test } from '@jest/globals';
import { createKeyedHash } from './keyed-hash.ts';

const hash = createKeyedHash('one secret of thirty-two characters', 'network');

test('a keyed hash depends on the value, its owner, the key and its purpose', () => {
  const others = [
    hash(1, '192.0.2.2'),
    hash(2, '192.0.2.1'),
    createKeyedHash('another secret of that many characters', 'network')(1, '192.0.2.1'),
    createKeyedHash('one secret of thirty-two characters', 'other')(1, '192.0.2.1'),
  ];
  expect(hash(1, '192.0.2.1')).toBe(hash(1, '192.0.2.1'));
  expect(new Set([hash(1, '192.0.2.1'), ...others]).size).toBe(5);
});

test('a keyed hash can name a database field: it contains no dot and no dollar sign', () => {
  for (let value = 0; value < 500; value += 1) expect(hash(1, String(value))).toMatch(/^[\w-]{22}$/);
});
