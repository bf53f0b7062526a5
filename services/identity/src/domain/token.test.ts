import { describe, expect, test } from '@jest/globals';
import { buildToken, hashToken, isWellFormedToken } from './token.ts';

describe('a token', () => {
  const token = buildToken('personal', Buffer.alloc(30, 1));

  test('a token has a prefix for its kind, 240 random bits and a checksum', () => {
    expect(token).toMatch(/^fpp_[A-Za-z0-9_-]{40}[0-9a-f]{8}$/);
    expect(isWellFormedToken(token)).toBe(true);
  });

  test('a token with any one character changed is not well-formed', () => {
    for (let at = 0; at < token.length; at += 1) {
      const other = token[at] === 'a' ? 'b' : 'a';
      expect(isWellFormedToken(token.slice(0, at) + other + token.slice(at + 1))).toBe(false);
    }
  });

  test('a token cannot be built from less entropy', () => {
    expect(() => buildToken('session', Buffer.alloc(16))).toThrow();
  });

  test('a token is stored as its SHA-256', () => {
    expect(hashToken('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
