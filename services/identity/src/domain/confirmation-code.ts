/**
 * Codes that prove possession of a phone, either the account's or a new one (specification 4.1, rules 1 and 6).
 * Only the newest code of a purpose is valid, for ten minutes and five failed attempts. After a hundred consecutive
 * failures the deletion codes of an account are locked for a day.
 *
 * Reset codes are entered anonymously, so a lock would let strangers stop the owner. Instead they are longer, and few are
 * sent per day. Each network has five attempts, so a stranger elsewhere does not invalidate the code; all networks
 * together have twenty.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';

export const CODE_LIFETIME_MS = 10 * MINUTE_MS;
export const MAX_FAILED_ATTEMPTS = 5;
/** Attempts at a reset code from all networks together. */
export const MAX_FAILED_ATTEMPTS_IN_ALL = 20;
export const MAX_CONSECUTIVE_FAILURES = 100;
export const LOCKOUT_MS = DAY_MS;

/** A `phone` code is sent to the phone that an account asks for; the others are sent to its current phone. */
export const CODE_PURPOSES = ['deletion', 'reset', 'phone'] as const;
export type CodePurpose = (typeof CODE_PURPOSES)[number];

export const CODE_LENGTHS: Readonly<Record<CodePurpose, number>> = { deletion: 6, reset: 8, phone: 6 };

export interface IssuedCode {
  id: string;
  /** SHA-256 of id and digits, in hex. */
  hash: string;
  expires_at: Date;
  /** Attempts so far. Each is counted before the digits are compared. */
  tries: number;
  /** For purpose `reset`: attempts by the keyed hash of their network. */
  tries_by_network?: Record<string, number>;
  /** For purpose `phone`: the phone that the code was sent to, in E.164. The code makes it the account's phone. */
  phone?: string;
}

export const hashCode = (id: string, digits: string): string =>
  createHash('sha256').update(`${id}:${digits}`).digest('hex');

export const issueCode = (id: string, digits: string, now: Date): IssuedCode => ({
  id,
  hash: hashCode(id, digits),
  expires_at: new Date(now.getTime() + CODE_LIFETIME_MS),
  tries: 0,
});

/** Compares in constant time. The store checks expiry and attempts. */
export const codeMatches = (code: IssuedCode, digits: string): boolean =>
  timingSafeEqual(Buffer.from(code.hash, 'hex'), Buffer.from(hashCode(code.id, digits), 'hex'));
