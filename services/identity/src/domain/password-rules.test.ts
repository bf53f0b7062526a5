import { describe, expect, test } from '@jest/globals';
import { dictionary } from '@zxcvbn-ts/language-common';
import { isCommonPassword, isNameOfAccount, MIN_PASSWORD_LENGTH } from './password-rules.ts';

describe('a common password', () => {
  test.each([
    '1234567890',
    'qwertyuiop',
    'password123',
    'Password123',
    'PASSWORD123',
    '１２３４５６７８９０',
  ])('%s is recognized as a common password', (password) => {
    expect(isCommonPassword(password)).toBe(true);
  });

  // The last password with ten characters among the first 10,000, and the first one after them.
  test('only the 10,000 most frequent passwords are common', () => {
    const long = dictionary['passwords-common']
      .map(String)
      .map((password, at) => ({ password, at }))
      .filter(({ password }) => password.length >= MIN_PASSWORD_LENGTH);
    const last = long.findLast(({ at }) => at < 10_000);
    const next = long.find(({ at }) => at >= 10_000);
    expect(isCommonPassword(String(last?.password))).toBe(true);
    expect(isCommonPassword(String(next?.password))).toBe(false);
  });

  test.each(['demo-password-1', 'correct horse battery', '1234567890 and more'])(
    '%s is not a common password',
    (password) => {
      expect(isCommonPassword(password)).toBe(false);
    },
  );
});

describe('the name of an account', () => {
  const account = { username: 'Sara.Ahmadi', email: 'Sara@Example.org', phone: '+989121234567' };

  test.each([
    'sara.ahmadi',
    ' Sara.Ahmadi',
    'SARA@example.org',
    '+989121234567',
    '989121234567',
    '00989121234567',
    '09121234567',
    '9121234567',
    '0912 123 4567',
    '۰۹۱۲۱۲۳۴۵۶۷',
  ])('the password %j is recognized as a name of the account', (password) => {
    expect(isNameOfAccount(password, account)).toBe(true);
  });

  test.each(['sara.ahmadi1', 'sara@example.com', '09121234568', '1234567', 'a long sentence'])(
    'the password %j is not a name of the account',
    (password) => {
      expect(isNameOfAccount(password, account)).toBe(false);
    },
  );
});
