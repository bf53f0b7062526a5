import { describe, expect, test } from '@jest/globals';
import { isLandline, localPhone, normalizePhone } from './phone.ts';

describe('normalizePhone', () => {
  test.each([
    ['09121234567', '+989121234567'],
    ['9121234567', '+989121234567'],
    ['00989121234567', '+989121234567'],
    ['+98 912 123 4567', '+989121234567'],
    ['۰۹۱۲۱۲۳۴۵۶۷', '+989121234567'],
    ['+4915112345678', '+4915112345678'],
    ['+1 (415) 555-2671', '+14155552671'],
  ])('%s is normalized to %s', (input, expected) => expect(normalizePhone(input)).toBe(expected));

  test.each(['', 'abc', '12', '+98912', 'call 09121234567', '+989121234567 ext. 5', '0'.repeat(50)])(
    '%j is not a phone number',
    (input) => expect(normalizePhone(input)).toBeUndefined(),
  );

  test.each([
    ['+982188776655', true],
    ['+984112345678', true],
    ['+442071838750', true],
    ['+989121234567', false],
    ['+989990001234', false],
    // This numbering plan does not distinguish landlines from mobile phones.
    ['+14155552671', false],
    // The metadata does not know this form.
    ['+989981234567', false],
  ])('whether %s is certainly a landline is %p', (phone, expected) =>
    expect(isLandline(phone)).toBe(expected),
  );

  test('the phone of an older account is normalized, whatever its type', () => {
    expect(normalizePhone('021 8877 6655')).toBe('+982188776655');
    expect(normalizePhone('+989981234567')).toBe('+989981234567');
  });

  test('only Iranian numbers have a national form', () => {
    expect(localPhone('+989121234567')).toBe('09121234567');
    expect(localPhone('+14155552671')).toBeUndefined();
  });
});
