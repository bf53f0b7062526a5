/** Encryption of stored secrets with AES-256-GCM. The database alone does not reveal them. */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Random } from '@fitness/shared/kernel/clock.ts';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface SecretBox {
  /** Each call returns a different text. Opening it requires `owner`, which it does not contain. */
  seal(secret: Buffer, owner: string): string;
  /** Undefined if the key or the owner is another one, or the text was changed. */
  open(sealed: string, owner: string): Buffer | undefined;
}

/** @param purpose separates the keys that are derived from one text */
export const createSecretBox = (
  keyText: string,
  purpose: string,
  random: Pick<Random, 'bytes'>,
): SecretBox => {
  const key = Buffer.from(hkdfSync('sha256', keyText, '', purpose, KEY_BYTES));
  return {
    seal: (secret, owner) => {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(owner));
      const text = Buffer.concat([cipher.update(secret), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url');
    },
    open: (sealed, owner) => {
      const bytes = Buffer.from(sealed, 'base64url');
      const [nonce, rest] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES)];
      try {
        const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(owner))
          .setAuthTag(rest.subarray(0, TAG_BYTES));
        return Buffer.concat([decipher.update(rest.subarray(TAG_BYTES)), decipher.final()]);
      } catch {
        return undefined;
      }
    },
  };
};
