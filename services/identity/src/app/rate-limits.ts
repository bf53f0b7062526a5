/** Rate limits that a use case consumes itself (specification 8), and their keys. */
import { createHash } from 'node:crypto';
import type { RateLimit } from '@fitness/shared/kernel/rate-limit.ts';
import { canonicalLogin } from '../domain/login.ts';

export const LOGIN_LIMIT: RateLimit = { name: 'login', points: 10, windowS: 60 };

/** Shared by account deletion and password reset: each call may send an SMS. */
export const CODE_LIMIT: RateLimit = { name: 'account-codes', points: 5, windowS: 60 };

/** The same for all spellings of a login. Hashed, because the store must not keep what was typed. */
const loginHash = (login: string): string =>
  createHash('sha256').update(canonicalLogin(login)).digest('base64url');

export const loginLimitKey = (login: string, address: string): string => `${loginHash(login)}:${address}`;

/** The server uses the same key for the limit of a route with a signed-in caller. */
export const codeLimitKey = (userId: number): string => `user:${userId}`;

/** An unknown login is limited too, so that the response time does not reveal that it is unknown. */
export const unknownLoginLimitKey = (login: string): string => `login:${loginHash(login)}`;
