import { systemRandom } from '@fitness/shared/kernel/clock.ts';
import { describe, expect, test } from '@jest/globals';
import { createSecretBox } from './secret-box.ts';

const KEY = 'a key for tests, thirty-two characters or more';
const SECRET = Buffer.from('12345678901234567890');
const box = createSecretBox(KEY, 'second factor', systemRandom);

describe('a sealed secret', () => {
  test('a sealed secret opens with the same key for the same owner', () => {
    expect(box.open(box.seal(SECRET, '7'), '7')).toEqual(SECRET);
    const restarted = createSecretBox(KEY, 'second factor', systemRandom);
    expect(restarted.open(box.seal(SECRET, '7'), '7')).toEqual(SECRET);
  });

  test('sealing twice gives different texts, and neither contains the secret', () => {
    const [one, other] = [box.seal(SECRET, '7'), box.seal(SECRET, '7')];
    expect(one).not.toBe(other);
    expect(Buffer.from(one, 'base64url').includes(SECRET.subarray(0, 4))).toBe(false);
  });

  test('a sealed secret does not open for another owner, key or purpose', () => {
    const sealed = box.seal(SECRET, '7');
    expect(box.open(sealed, '8')).toBeUndefined();
    expect(createSecretBox(`${KEY}!`, 'second factor', systemRandom).open(sealed, '7')).toBeUndefined();
    expect(createSecretBox(KEY, 'something else', systemRandom).open(sealed, '7')).toBeUndefined();
  });

  test('a sealed secret does not open when a byte of it is changed or cut off', () => {
    const bytes = Buffer.from(box.seal(SECRET, '7'), 'base64url');
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(box.open(changed.toString('base64url'), '7')).toBeUndefined();
    }
    expect(box.open(bytes.subarray(0, -1).toString('base64url'), '7')).toBeUndefined();
    expect(box.open(bytes.subarray(0, 20).toString('base64url'), '7')).toBeUndefined();
    expect(box.open('', '7')).toBeUndefined();
  });
});
