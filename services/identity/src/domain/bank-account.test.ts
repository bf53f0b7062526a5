import { describe, expect, test } from '@jest/globals';
import { compactBankAccount, isBankAccount } from './bank-account.ts';

describe('isBankAccount', () => {
  // The examples of the IBAN registry.
  test.each([
    'IR820540102680020817909002',
    'AE070331234567890123456',
    'BE68539007547034',
    'DE89370400440532013000',
    'FR1420041010050500013M02606',
    'GB29NWBK60161331926819',
    'MT84MALT011000012345MTLCAST001S',
    'NO9386011117947',
    'TR330006100519786457841326',
    // A country without an entry.
    'MA64011519000001205000534921',
    '0101234567008',
    '1234.5678/9',
    '1234',
  ])('%s is a bank account', (number) => expect(isBankAccount(number)).toBe(true));

  test.each([
    'IR820540102680020817909003',
    'IR280540102680020817909002',
    'DE8937040044053201300',
    'DE893704004405320130000',
    // Equal to the correct check digits modulo 97, but never assigned.
    'IR990000000000000000000070',
    'MA64011519000001205000534922',
    'IR',
    'AAAA',
    'A1234',
    'IR82.540102680020817909002',
    '123',
    './..',
    '1234a',
    '1'.repeat(35),
    '',
  ])('%j is not a bank account', (number) => expect(isBankAccount(number)).toBe(false));
});

test('all spellings of a bank account have one compact form', () => {
  for (const typed of ['ir82-0540', 'IR82 0540', ' IR۸۲\u00a0۰۵۴۰ ', 'Ir٨٢\u2013٠٥٤٠', 'IR82\u20110540'])
    expect(compactBankAccount(typed)).toBe('IR820540');
});
