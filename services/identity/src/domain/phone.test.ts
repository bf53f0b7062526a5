import { describe, expect, test } from '@jest/globals';
import { localPhone, normalizePhone } from './phone.ts';

describe('normalizePhone', () => {
  test.each([
    ['09121234567', '+989121234567'],
    ['9121234567', '+989121234567'],
    ['00989121234567', '+989121234567'],
    ['+98 912 123 4567', '+989121234567'],
    ['۰۹۱۲۱۲۳۴۵۶۷', '+989121234567'],
    ['+4915112345678', '+4915112345678'],
    ['+1 (415) 555-2671', '+14155552671'],
  ])('%s is %s', (input, expected) => expect(normalizePhone(input)).toBe(expected));

  test.each(['', 'abc', '12', '+98912', 'call 09121234567', '+989121234567 ext. 5', '0'.repeat(50)])(
    '%j is not a phone number',
    (input) => expect(normalizePhone(input)).toBeUndefined(),
  );

  test('only Iranian numbers have a national form', () => {
    expect(localPhone('+989121234567')).toBe('09121234567');
    expect(localPhone('+14155552671')).toBeUndefined();
  });
});
