import { randomBytes, randomInt } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { isGuessable, isReadable } from './guessable.ts';

test.each([
  ['one character', 'a'.repeat(32)],
  ['one character, short', '0000'],
  ['a repeated word', 'password'.repeat(4)],
  ['a repeated word that is cut', 'correct-horse-correct-horse-correct'],
  ['repeated digits', '1234567890'.repeat(4)],
  ['the alphabet', 'abcdefghijklmnopqrstuvwxyz0123456789'],
  ['the alphabet backwards', 'zyxwvutsrqponmlkjihgfedcba9876543210'],
  ['few characters', 'abbaabacaabbcabcbaabccbabacbaacb'],
  ['runs of characters', 'aaaabbbbccccddddeeeeffffgggghhhh'],
])('%s is recognized as guessable', (_what, secret) => {
  expect(isGuessable(secret)).toBe(true);
});

describe('random secrets', () => {
  const digits = (length: number): string => Array.from({ length }, () => randomInt(10)).join('');

  test.each([
    ['hexadecimal', () => randomBytes(16).toString('hex')],
    ['Base64', () => randomBytes(32).toString('base64')],
    ['40 digits', () => digits(40)],
    ['short', () => randomBytes(9).toString('base64url')],
  ])('a random secret is not guessable: %s', (_form, draw) => {
    for (let time = 0; time < 200; time += 1) expect(isGuessable(draw())).toBe(false);
  });

  test.each(['5A6B7C8D9E', '5f1d7c8e9a0b', 'eyJhbGciOi', 'k', ''])('%j is not guessable', (secret) => {
    expect(isGuessable(secret)).toBe(false);
  });
});

describe('a readable secret', () => {
  test.each([
    'this-is-our-production-oauth-secret',
    'correct-horse-battery-staple-correct',
    'FitnessPlatformOauthSecretForProduction2026!',
    'kilid-e-mahramane-baraye-vorood-karbaran',
    'thisisaverysecretkeythatnobodyknows',
    'the 4 quick foxes of 2026 jump over 12 dogs',
  ])('%j is readable', (secret) => {
    expect(isReadable(secret)).toBe(true);
  });

  test.each(['base64', 'base64url', 'hex'] as const)('48 random bytes in %s are not readable', (form) => {
    for (let time = 0; time < 200; time += 1) expect(isReadable(randomBytes(48).toString(form))).toBe(false);
  });
});
