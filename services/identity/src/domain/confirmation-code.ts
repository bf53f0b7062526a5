/**
 * Six-digit codes that prove the possession of the account's phone (specification 4.1 rules 1 and 6, contract 2.1).
 * Only the newest code of a purpose works, for ten minutes and at most five wrong tries; after a hundred wrong codes
 * in a row, over all codes of the account, nothing is heard for a day.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { DAY_MS, MINUTE_MS } from '@fitness/shared/clock.ts';

export const CODE_LENGTH = 6;
export const CODE_LIFETIME_MS = 10 * MINUTE_MS;
export const MAX_WRONG_TRIES = 5;
export const MAX_WRONG_IN_ROW = 100;
export const LOCK_MS = DAY_MS;

export type CodePurpose = 'deletion' | 'reset';

export interface IssuedCode {
  /** Tells two codes with the same digits apart. */
  id: string;
  /** SHA-256 over id and digits, hex: a stored code cannot be read back without trying all digits of that very id. */
  hash: string;
  expires_at: Date;
  /** Tries taken so far; one is taken before the digits are compared. */
  tries: number;
}

export const hashCode = (id: string, digits: string): string =>
  createHash('sha256').update(`${id}:${digits}`).digest('hex');

export const issueCode = (id: string, digits: string, now: Date): IssuedCode => ({
  id,
  hash: hashCode(id, digits),
  expires_at: new Date(now.getTime() + CODE_LIFETIME_MS),
  tries: 0,
});

/** Whether `digits` are those of `code`, in constant time. Expiry and tries are the store's condition. */
export const codeMatches = (code: IssuedCode, digits: string): boolean =>
  timingSafeEqual(Buffer.from(code.hash, 'hex'), Buffer.from(hashCode(code.id, digits), 'hex'));
