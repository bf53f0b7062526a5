import { describe, expect, test } from '@jest/globals';
import {
  hashRecoveryCode,
  matchingStep,
  newRecoveryCodes,
  otpauthUrl,
  readCode,
  secretText,
} from './totp.ts';

/** RFC 6238, appendix B. The codes there have eight digits; codes with six digits are their last six. */
const SECRET = Buffer.from('12345678901234567890');
const STEP_MS = 30_000;

test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('the code of RFC 6238 for %i s matches up to one step before and after', (seconds, code) => {
  const step = Math.floor(seconds / 30);
  const at = (steps: number) => new Date(seconds * 1_000 + steps * STEP_MS);
  for (const steps of [-1, 0, 1]) expect(matchingStep(SECRET, code, at(steps))).toBe(step);
  for (const steps of [-2, 2]) expect(matchingStep(SECRET, code, at(steps))).toBeUndefined();
});

test.each(['', '28708', '2870820', '000000'])('%j does not match at 59 s', (code) => {
  expect(matchingStep(SECRET, code, new Date(59_000))).toBeUndefined();
});

test('the address of a secret has what an authenticator app needs', () => {
  expect(secretText(SECRET)).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
  const url = new URL(otpauthUrl(SECRET, 'sara&x'));
  expect([url.protocol, url.host, url.pathname]).toEqual(['otpauth:', 'totp', '/Fitness:sara%26x']);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    issuer: 'Fitness',
    secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
});

describe('recovery codes', () => {
  let bytes = 0;
  const codes = newRecoveryCodes((length) => {
    bytes += 1;
    return Buffer.alloc(length, bytes);
  });

  test('a second factor has ten recovery codes of 80 bits each', () => {
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^(?:[A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
  });

  test('a recovery code is stored as a hash that differs for each account', () => {
    const [code = ''] = codes;
    expect(hashRecoveryCode(1, code)).toBe(hashRecoveryCode(1, readCode(` ${code.toLowerCase()}`).code));
    expect(hashRecoveryCode(1, code)).not.toBe(hashRecoveryCode(2, code));
  });
});

test.each([
  ['123456', 'totp', '123456'],
  [' 123 456 ', 'totp', '123456'],
  ['۱۲۳۴۵۶', 'totp', '123456'],
  ['1234567', 'recovery', '1234567'],
  ['é23456', 'recovery', 'É23456'],
  ['abcd-efgh', 'recovery', 'ABCDEFGH'],
])('the typed code %j is read as %s', (typed, kind, code) => {
  expect(readCode(typed)).toEqual({ kind, code });
});
