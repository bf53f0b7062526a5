/** The budget that delete-account and password reset share: each call may spend an SMS (specification 8). */
import { createHash } from 'node:crypto';
import type { RateLimit } from '@fitness/shared/http/rate-limit-types.ts';
import { canonicalLogin } from '../domain/login.ts';

export const CODE_BUDGET: RateLimit = { name: 'account-codes', points: 5, windowS: 60 };

/** The key under which a route's own limit counts a signed-in user. */
export const codeBudgetKey = (userId: number): string => `user:${userId}`;

/** One text for all spellings of a login; keys of limits must not keep what was typed. */
export const loginHash = (login: string): string =>
  createHash('sha256').update(canonicalLogin(login)).digest('base64url');

/** The budget of a login that is nobody's: counted all the same, so that time does not tell that it is. */
export const unknownBudgetKey = (login: string): string => `login:${loginHash(login)}`;
