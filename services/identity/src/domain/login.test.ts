import { describe, expect, test } from '@jest/globals';
import { canonicalLogin, loginKeysOf } from './login.ts';

describe('a login', () => {
  test('a login is read as a phone number first, then as an email, then as a username', () => {
    expect(loginKeysOf(' 09121234567 ')).toEqual([
      'phone:+989121234567',
      'email:09121234567',
      'username:09121234567',
    ]);
    expect(loginKeysOf('Some.Name')).toEqual(['email:some.name', 'username:some.name']);
  });

  test('all spellings of a login have one canonical form', () => {
    expect(canonicalLogin('0912 123 4567')).toBe(canonicalLogin('+989121234567'));
    expect(canonicalLogin('Some.Name ')).toBe(canonicalLogin('some.name'));
  });
});
