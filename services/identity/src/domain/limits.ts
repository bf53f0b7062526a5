/** The limits against abuse. */
import type { DurableRateLimit, RateLimit } from '@fitness/shared/kernel/rate-limit.ts';

export interface Limits {
  /** Deletion and password reset of an account together (specification 8). */
  accountCodes: RateLimit;
  /** How many of the anonymous calls in a window of `accountCodes` count for it. */
  countedAnonymousCodes: number;
  /** Requests and attempts of password resets. */
  resetsPerAccountAndAddress: RateLimit;
  resetsPerAccount: RateLimit;
  resetsPerAddress: RateLimit;
  anonymousSmsPerPhone: DurableRateLimit;
  /** Over all phones. */
  anonymousSms: RateLimit;
  signedInSmsPerPhone: RateLimit;
  /** E-mails of an account, and to an address; those that cannot be switched off have budgets of their own. */
  emailsPerAccount: DurableRateLimit;
  emailsPerRecipient: DurableRateLimit;
  securityEmailsPerAccount: DurableRateLimit;
  securityEmailsPerRecipient: DurableRateLimit;
  /** Of an account, to its previous addresses. */
  emailChangeEmails: DurableRateLimit;
  /** Of an account, by whichever of its names, and an address. */
  logins: RateLimit;
  /** Of an address, over all accounts. */
  failedLogins: RateLimit;
  /** Of an account, on all routes but account deletion, which has `accountCodes`. */
  passwordChecks: RateLimit;
  /** Codes of the second factor of an account, after a right password. */
  wrongSecondFactorCodes: DurableRateLimit;
  /** Of an address; undefined: any number. */
  registrations: RateLimit | undefined;
  /** Requests for another user name, e-mail or phone, which tell whether somebody has it, likewise. */
  nameChanges: RateLimit | undefined;
  /** Of OAuth clients, likewise. */
  clientRegistrations: RateLimit | undefined;
  /** Requests of OAuth clients for an authorization, likewise. */
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
