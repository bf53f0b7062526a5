/** Without letters that are read as one another. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
export const REFERRAL_CODE_BYTES = 8;

/** Eight characters, one for each byte. */
export const toReferralCode = (bytes: Buffer): string =>
  [...bytes].map((byte) => ALPHABET[byte % ALPHABET.length]).join('');

export const normalizeReferralCode = (input: string): string => input.trim().toUpperCase();
