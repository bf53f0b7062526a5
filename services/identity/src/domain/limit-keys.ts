/** Keys of identity's rate limits. */
import { createHash } from 'node:crypto';
import { canonicalLogin } from './login.ts';

/** Hashed, because the store must not keep what was typed. */
export const hashed = (text: string): string => createHash('sha256').update(text).digest('base64url');

export const userLimitKey = (userId: number): string => `user:${userId}`;

/**
 * Key of the account that a login belongs to, which is the key of its signed-in calls. All spellings of an unknown login
 * share a key: they are limited too, so the response does not reveal that the login is unknown.
 */
export const accountLimitKey = (login: string, userId: number | undefined): string =>
  userId === undefined ? `login:${hashed(canonicalLogin(login))}` : userLimitKey(userId);
