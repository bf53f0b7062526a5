import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../dependencies.ts';
import { buildToken, hashToken, TOKEN_ENTROPY_BYTES } from '../domain/token.ts';
import type { User } from '../domain/user.ts';
import type { Token } from '../store/tokens.ts';

/** The result of registering and of signing in. */
export interface Session {
  token: string;
  expiresAt: Date;
  user: User;
}

/** A token without restrictions. `row` is the document to store; it holds only the hash of `token`. */
export type NewSessionToken = (userId: number) => { token: string; row: Token };

export const createNewSessionToken =
  ({
    random,
    clock,
    tokenLifetimeDays,
  }: Pick<Dependencies, 'random' | 'clock' | 'tokenLifetimeDays'>): NewSessionToken =>
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
        expires_at: new Date(now.getTime() + tokenLifetimeDays * DAY_MS),
      },
    };
  };
