import { parsePhoneNumberFromString as parseWithTypes } from 'libphonenumber-js/max';
import { parsePhoneNumberFromString } from 'libphonenumber-js/min';

const HOME_COUNTRY = 'IR';
const HOME_PREFIX = '+98';
const LONGEST_INPUT = 40;

/** Converts a phone number to E.164. A number without a country code is Iranian. Undefined for an invalid number. */
export const normalizePhone = (input: string): string | undefined => {
  if (input.length > LONGEST_INPUT) return undefined;
  const parsed = parsePhoneNumberFromString(input, { defaultCountry: HOME_COUNTRY, extract: false });
  if (parsed === undefined || parsed.ext !== undefined || !parsed.isValid()) return undefined;
  return parsed.number;
};

/** ISO 3166 code of an E.164 number's country; undefined for a number that belongs to no country. */
export const countryOf = (phone: string): string | undefined => parsePhoneNumberFromString(phone)?.country;

/**
 * Whether an E.164 number is certainly a landline. Some numbering plans do not distinguish them, and the type of a
 * number may be unknown. Only this function uses the metadata with types, which takes 1 MB of memory. The smaller
 * metadata decides what is valid: the phones of all accounts were stored by it, and sign-ins look them up by it.
 */
export const isLandline = (phone: string): boolean => parseWithTypes(phone)?.getType() === 'FIXED_LINE';

/** The national form of an Iranian E.164 number, `0912…`; undefined for other countries. */
export const localPhone = (phone: string): string | undefined =>
  phone.startsWith(HOME_PREFIX) ? `0${phone.slice(HOME_PREFIX.length)}` : undefined;
