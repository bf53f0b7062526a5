/** Without the ambiguous characters 0, O, 1 and I. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
export const REFERRAL_CODE_BYTES = 8;

/** One character for each byte. */
export const toReferralCode = (bytes: Buffer): string =>
  [...bytes].map((byte) => ALPHABET[byte % ALPHABET.length]).join('');

export const normalizeReferralCode = (input: string): string => input.trim().toUpperCase();
