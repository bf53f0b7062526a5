/** The limits against abuse (contract 11). */
import type { RateLimit } from '@fitness/shared/kernel/rate-limit.ts';

export interface Limits {
  /** Deletion and password reset of an account together (specification 8). */
  accountCodes: RateLimit;
  /** How many of the anonymous calls in a window of `accountCodes` count for it. */
  countedAnonymousCodes: number;
  /** Requests and attempts of password resets. */
  resetsPerAccountAndAddress: RateLimit;
  resetsPerAccount: RateLimit;
  resetsPerAddress: RateLimit;
  anonymousSmsPerPhone: RateLimit;
  /** Over all phones. */
  anonymousSms: RateLimit;
  signedInSmsPerPhone: RateLimit;
  logins: RateLimit;
}

const MINUTE_S = 60;
const DAY_S = 86_400;

export const perMinute = (name: string, points: number): RateLimit => ({ name, points, windowS: MINUTE_S });

export const perDay = (name: string, points: number): RateLimit => ({
  name,
  points,
  windowS: DAY_S,
  durable: true,
});
