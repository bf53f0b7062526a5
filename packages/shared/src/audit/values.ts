/**
 * The values of an audit entry as they are stored: personal ones are encrypted with AES-256-GCM under a key of the person,
 * which the erasure of the account destroys. The hash of the entry covers the ciphertext, and so stays valid.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Random } from '../kernel/clock.ts';

interface PlainField {
  field: string;
  value: unknown;
}

interface PersonalField {
  field: string;
  /** The account whose key encrypts the value. */
  person: number;
  /** Base64 of IV, tag and ciphertext; null when the account was erased before. */
  data: string | null;
}

export type StoredField = PlainField | PersonalField;

export const KEY_BYTES = 32;
const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Values are padded to a multiple of this. Otherwise the length would distinguish `true` from `false`. */
const PADDING_BYTES = 64;

/** JSON ignores trailing spaces. */
const padded = (value: unknown): string => {
  const json = JSON.stringify(value ?? null);
  const length = Buffer.byteLength(json);
  return json + ' '.repeat(Math.ceil(length / PADDING_BYTES) * PADDING_BYTES - length);
};

/** `place` is authenticated with the value, so that a ciphertext cannot be moved to another entry or field. */
export const encryptValue = (
  key: Buffer,
  place: string,
  value: unknown,
  random: Pick<Random, 'bytes'>,
): string => {
  const iv = random.bytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place));
  const data = Buffer.concat([cipher.update(padded(value), 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), data]).toString('base64');
};

/** Throws if the data, the key or the place differs. */
export const decryptValue = (key: Buffer, place: string, encrypted: string): unknown => {
  const bytes = Buffer.from(encrypted, 'base64');
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(place))
    .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  return JSON.parse(text.toString('utf8')) as unknown;
};
