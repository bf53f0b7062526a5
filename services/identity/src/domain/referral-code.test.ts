import { expect, test } from '@jest/globals';
import { normalizeReferralCode, toReferralCode } from './referral-code.ts';

test('referral codes have eight unambiguous characters and are case-insensitive', () => {
  const code = toReferralCode(Buffer.from([0, 31, 32, 63, 128, 200, 254, 255]));
  expect(code).toMatch(/^[2-9A-HJ-NP-Z]{8}$/);
  expect(normalizeReferralCode(` ${code.toLowerCase()}`)).toBe(code);
});
