/** Keys of the rate limits of identity. */
import { createHash } from 'node:crypto';
import { canonicalLogin } from './login.ts';

/** Because the store must not keep what was typed. */
export const hashed = (text: string): string => createHash('sha256').update(text).digest('base64url');

export const userLimitKey = (userId: number): string => `user:${userId}`;

/**
 * The account that a login belongs to, by the key of its signed-in calls.
 * An unknown login is limited too, in all its spellings together, so that the response does not reveal that it is unknown.
 */
export const accountLimitKey = (login: string, userId: number | undefined): string =>
  userId === undefined ? `login:${hashed(canonicalLogin(login))}` : userLimitKey(userId);
