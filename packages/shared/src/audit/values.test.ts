import { expect, test } from '@jest/globals';
import { systemRandom } from '../kernel/clock.ts';
import { decryptValue, encryptValue, KEY_BYTES } from './values.ts';

const key = systemRandom.bytes(KEY_BYTES);
const encrypt = (value: unknown, place = '1.after.email') => encryptValue(key, place, value, systemRandom);

test.each([['text'], [12], [true], [null], [['a', 'b']], [{ nested: 'فارسی' }]])(
  'the encrypted value %j is read back',
  (value) => {
    expect(decryptValue(key, '1.after.email', encrypt(value))).toEqual(value);
  },
);

test('the ciphertext does not reveal the value, its length or its repetition', () => {
  const [yes, no] = [encrypt(true), encrypt(false)];
  expect(yes).toHaveLength(no.length);
  expect(Buffer.from(encrypt('secret'), 'base64').includes('secret')).toBe(false);
  expect(encrypt('secret')).not.toBe(encrypt('secret'));
});

test('another key, another place and changed data are refused', () => {
  const encrypted = encrypt('secret');
  const changed = Buffer.from(encrypted, 'base64');
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  expect(() => decryptValue(systemRandom.bytes(KEY_BYTES), '1.after.email', encrypted)).toThrow();
  expect(() => decryptValue(key, '2.after.email', encrypted)).toThrow();
  expect(() => decryptValue(key, '1.after.email', changed.toString('base64'))).toThrow();
});
