import { parsePhoneNumberFromString } from 'libphonenumber-js/min';

const HOME_COUNTRY = 'IR';
const HOME_PREFIX = '+98';
const LONGEST_INPUT = 40;

/** E.164 of any usual spelling; a number without a country is an Iranian one. Undefined when it is no phone number. */
export const normalizePhone = (input: string): string | undefined => {
  if (input.length > LONGEST_INPUT) return undefined;
  const parsed = parsePhoneNumberFromString(input, { defaultCountry: HOME_COUNTRY, extract: false });
  if (parsed === undefined || parsed.ext !== undefined || !parsed.isValid()) return undefined;
  return parsed.number;
};

/** As people at home write it, `0912…`; undefined for a foreign number. */
export const localPhone = (phone: string): string | undefined =>
  phone.startsWith(HOME_PREFIX) ? `0${phone.slice(HOME_PREFIX.length)}` : undefined;
