/** Rate limits that prevent abuse. */
import type { DurableRateLimit, RateLimit } from '@fitness/shared/kernel/rate-limit.ts';

export interface Limits {
  /** Calls to deletion and password reset for an account together (specification 8). */
  accountCodes: RateLimit;
  /** How many anonymous calls in a window are included in `accountCodes`. */
  countedAnonymousCodes: number;
  /** Limits for requests and attempts of password resets. */
  resetsPerAccountAndAddress: RateLimit;
  resetsPerAccount: RateLimit;
  resetsPerAddress: RateLimit;
  anonymousSmsPerPhone: DurableRateLimit;
  /** Limit over all phones. */
  anonymousSms: RateLimit;
  signedInSmsPerPhone: RateLimit;
  /** Limits for emails of an account and to an address. Emails that cannot be switched off have separate limits. */
  emailsPerAccount: DurableRateLimit;
  emailsPerRecipient: DurableRateLimit;
  securityEmailsPerAccount: DurableRateLimit;
  securityEmailsPerRecipient: DurableRateLimit;
  /** Limit for emails of an account to its previous addresses. */
  emailChangeEmails: DurableRateLimit;
  /** Limit for an account and an address, whichever of its names is used. */
  logins: RateLimit;
  /** Limit for an address over all accounts. */
  failedLogins: RateLimit;
  /** Limit for an account on all routes except account deletion, which has `accountCodes`. */
  passwordChecks: RateLimit;
  /** Limit for wrong second-factor codes of an account after a correct password. */
  wrongSecondFactorCodes: DurableRateLimit;
  /** Limit for an address. Undefined means unlimited, here and below. */
  registrations: RateLimit | undefined;
  /** Limit for an address: changing a username, email or phone reveals whether it is in use. */
  nameChanges: RateLimit | undefined;
  /** Limit for an address that registers OAuth clients. */
  clientRegistrations: RateLimit | undefined;
  /** Limit for an address whose OAuth clients request authorizations. */
  authorizations: RateLimit | undefined;
}

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;

export const perMinute = (name: string, points: number): RateLimit => ({ name, points, windowS: MINUTE_S });

const durable = (name: string, points: number, windowS: number): DurableRateLimit => ({
  name,
  points,
  windowS,
  durable: true,
});

export const perHour = (name: string, points: number): RateLimit => durable(name, points, HOUR_S);

export const perDay = (name: string, points: number): DurableRateLimit => durable(name, points, DAY_S);
