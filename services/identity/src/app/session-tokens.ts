import { type Clock, DAY_MS, type Random } from '@fitness/shared/clock.ts';
import { buildToken, hashToken, TOKEN_ENTROPY_BYTES } from '../domain/token.ts';
import type { Token } from '../store/tokens.ts';

interface SessionToken {
  /** Shown to its owner once. */
  token: string;
  /** What is stored of it. */
  row: Token;
}

export type NewSessionToken = (userId: number) => SessionToken;

/** A new token with everything that its user may do. */
export const createNewSessionToken =
  (random: Random, clock: Clock, lifetimeDays: number): NewSessionToken =>
  (userId) => {
    const token = buildToken('session', random.bytes(TOKEN_ENTROPY_BYTES));
    const now = clock.now();
    return {
      token,
      row: {
        _id: hashToken(token),
        user_id: userId,
        kind: 'session',
        token_number: null,
        name: null,
        permissions: null,
        created_at: now,
        expires_at: new Date(now.getTime() + lifetimeDays * DAY_MS),
      },
    };
  };

/** What registering and signing in end with. */
export interface SignedIn<User> {
  token: string;
  expiresAt: Date;
  user: User;
}
