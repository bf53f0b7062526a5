/** Letters and digits without the ambiguous 0, O, 1 and I. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
export const REFERRAL_CODE_BYTES = 8;

/** Converts each byte to one character. */
export const toReferralCode = (bytes: Buffer): string =>
  [...bytes].map((byte) => ALPHABET[byte % ALPHABET.length]).join('');

export const normalizeReferralCode = (input: string): string => input.trim().toUpperCase();
