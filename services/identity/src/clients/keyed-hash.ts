/** Hashes of guessable values such as addresses. The database alone does not reveal them. */
import { createHmac, hkdfSync } from 'node:crypto';

const KEY_BYTES = 32;
const HASH_BYTES = 16;

/** The same value has a different hash for each owner. */
export type KeyedHash = (owner: number, value: string) => string;

/** @param purpose separates the keys that are derived from one text */
export const createKeyedHash = (keyText: string, purpose: string): KeyedHash => {
  const key = Buffer.from(hkdfSync('sha256', keyText, '', purpose, KEY_BYTES));
  return (owner, value) =>
    createHmac('sha256', key)
      .update(`${owner}:${value}`)
      .digest()
      .subarray(0, HASH_BYTES)
      .toString('base64url');
};
