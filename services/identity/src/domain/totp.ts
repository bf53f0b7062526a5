/** Time-based one-time passwords (RFC 6238), and the recovery codes that replace them. */
import { createHash } from 'node:crypto';
import { MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { Secret, TOTP } from 'otpauth';
import { toLatinDigits } from './digits.ts';

/** Parameters that every authenticator app supports; many ignore others in an `otpauth:` URL. */
const PARAMETERS = { issuer: 'Fitness', algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** Steps that are accepted before and after the current one: clocks differ, and typing takes time. */
const WINDOW = 1;

/** The length that RFC 4226, 4 recommends. */
export const TOTP_SECRET_BYTES = 20;
/** Time from showing a secret to its first code. */
export const SETUP_LIFETIME_MS = 10 * MINUTE_MS;

/** The secret in Base32, for typing into an app. */
export const secretText = (secret: Buffer): string => toSecret(secret).base32;

/** The URL for a QR code. */
export const otpauthUrl = (secret: Buffer, username: string): string =>
  new TOTP({ ...PARAMETERS, label: username, secret: toSecret(secret) }).toString();

/** Returns the time step that the code belongs to; undefined for a wrong code. Compares in constant time. */
export const matchingStep = (secret: Buffer, code: string, now: Date): number | undefined => {
  const timestamp = now.getTime();
  const totp = new TOTP({ ...PARAMETERS, secret: toSecret(secret) });
  const delta = totp.validate({ token: code, timestamp, window: WINDOW });
  return delta === null ? undefined : Math.floor(timestamp / (PARAMETERS.period * SECOND_MS)) + delta;
};

const toSecret = (secret: Buffer): Secret => new Secret({ buffer: Uint8Array.from(secret).buffer });

const RECOVERY_CODES = 10;
/** Too long to be guessed, even by someone who has read the hashes. */
const RECOVERY_CODE_BYTES = 10;

/** Each recovery code, `ABCD-EFGH-IJKL-MNOP`, replaces a code once. */
export const newRecoveryCodes = (randomBytes: (length: number) => Buffer): string[] =>
  Array.from({ length: RECOVERY_CODES }, () =>
    secretText(randomBytes(RECOVERY_CODE_BYTES)).replaceAll(/.{4}(?=.)/g, '$&-'),
  );

/** The stored form. */
export const hashRecoveryCode = (userId: number, code: string): string =>
  createHash('sha256')
    .update(`${userId}:${code.replaceAll('-', '')}`)
    .digest('hex');

/** Parses what was typed as a code, in any spelling. */
export const readCode = (typed: string): { kind: 'totp' | 'recovery'; code: string } => {
  const code = toLatinDigits(typed).replaceAll(/[\s-]/g, '').toUpperCase();
  return { kind: /^\d{6}$/.test(code) ? 'totp' : 'recovery', code };
};
