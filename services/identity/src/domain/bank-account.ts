/** Bank account numbers: an IBAN (ISO 13616), or the number that a bank uses internally. */
import { toLatinDigits } from './digits.ts';

const NOT_WRITTEN = /[\s\p{Pd}\u2212]/gu;
const BEGINS_AS_IBAN = /^[A-Z]{2}/;
const IBAN = /^[A-Z]{2}(?:0[2-9]|[1-8]\d|9[0-8])[A-Z\d]{11,30}$/;
const DIGITS = /^[\d./]{1,34}$/;
/** Shorter numbers are typing errors. */
const MIN_DIGITS = 4;

/**
 * The countries of the IBAN registry and Iran, by the length of their IBANs. Lists disagree about other countries, so only
 * the check digits of their IBANs are verified.
 */
const COUNTRIES: Readonly<Record<number, string>> = {
  15: 'NO',
  16: 'BE',
  18: 'DK FI FK FO GL NL SD',
  19: 'MK SI',
  20: 'AT BA EE KZ LT LU MN XK',
  21: 'CH HR LI LV',
  22: 'BG BH CR DE GB GE IE ME RS VA',
  23: 'AE GI IL IQ OM SO TL',
  24: 'AD CZ ES MD PK RO SA SE SK TN VG',
  25: 'LY PT ST',
  26: 'IR IS TR',
  27: 'BI DJ FR GR IT MC MR SM',
  28: 'AL AZ BY CY DO GT HN HU LB NI PL SV',
  29: 'BR EG PS QA UA',
  30: 'JO KW MU YE',
  31: 'MT SC',
  32: 'LC',
  33: 'RU',
};
const LENGTHS = new Map(
  Object.entries(COUNTRIES).flatMap(([length, codes]) =>
    codes.split(' ').map((code): [string, number] => [code, Number(length)]),
  ),
);

/** One form for all spellings: Latin digits and capital letters, without spaces and dashes. */
export const compactBankAccount = (typed: string): string =>
  toLatinDigits(typed).replace(NOT_WRITTEN, '').toUpperCase();

/** ISO 7064, MOD 97-10: letters have the values 10 to 35. */
const hasCheckDigits = (iban: string): boolean => {
  const digits = Array.from(iban.slice(4) + iban.slice(0, 4), (character) => Number.parseInt(character, 36));
  return BigInt(digits.join('')) % 97n === 1n;
};

/** Whether this can be a bank account. `compact`: from {@link compactBankAccount}. */
export const isBankAccount = (compact: string): boolean => {
  if (!BEGINS_AS_IBAN.test(compact))
    return DIGITS.test(compact) && compact.replace(/\D/g, '').length >= MIN_DIGITS;
  const length = LENGTHS.get(compact.slice(0, 2)) ?? compact.length;
  return IBAN.test(compact) && compact.length === length && hasCheckDigits(compact);
};
