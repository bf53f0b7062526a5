import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../../dependencies.ts';
import { type Client, clientName } from '../../domain/client.ts';
import { buildToken, hashToken, TOKEN_ENTROPY_BYTES } from '../../domain/token.ts';
import type { User } from '../../domain/user.ts';
import type { Token } from '../../store/tokens.ts';

/** The result of registering or signing in. */
export interface Session {
  token: string;
  expiresAt: Date;
  user: User;
}

/** Creates an unrestricted token. `row` is the document to store, which contains only the hash of `token`. */
export type NewSessionToken = (userId: number, client: Client) => Promise<{ token: string; row: Token }>;

export const createNewSessionToken =
  ({
    sequences,
    random,
    clock,
    tokenLifetimeDays,
  }: Pick<Dependencies, 'sequences' | 'random' | 'clock' | 'tokenLifetimeDays'>): NewSessionToken =>
  async (userId, client) => {
    const token = buildToken('session', random.bytes(TOKEN_ENTROPY_BYTES));
    const number = await sequences.next('sessions');
    const now = clock.now();
    return {
      token,
      row: {
        _id: hashToken(token),
        user_id: userId,
        kind: 'session',
        token_number: number,
        name: clientName(client.userAgent),
        address: client.address,
        permissions: null,
        created_at: now,
        last_used_at: now,
        expires_at: new Date(now.getTime() + tokenLifetimeDays * DAY_MS),
      },
    };
  };
