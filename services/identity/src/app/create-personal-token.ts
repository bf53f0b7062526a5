/** A personal access token: for the user's own programs, never with more permissions than the presented token. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { invalid, message, unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { holdsAll } from '../domain/roles.ts';
import { buildToken, hashToken, TOKEN_ENTROPY_BYTES } from '../domain/token.ts';
import type { Token } from '../store/tokens.ts';

type CreatePersonalTokenDependencies = Pick<
  Dependencies,
  'store' | 'sequences' | 'random' | 'clock' | 'tokenLifetimeDays'
>;

interface PersonalTokenInput {
  name: string;
  /** Undefined: the token is not restricted. */
  permissions?: readonly string[] | undefined;
  expiresAt?: Date | undefined;
}

/** `token` is shown once; `row` is what is stored. 422 for a permission that the caller lacks and an expiry in the past. */
type CreatePersonalToken = (
  caller: UserCaller,
  input: PersonalTokenInput,
) => Promise<{ token: string; row: Token }>;

export const createCreatePersonalToken = (
  dependencies: CreatePersonalTokenDependencies,
): CreatePersonalToken => {
  const { store, sequences, random, clock, tokenLifetimeDays } = dependencies;
  return async (caller, { name, permissions, expiresAt }) => {
    const now = clock.now();
    if (permissions !== undefined && !holdsAll(caller.permissions, permissions)) {
      throw invalid({ permissions: message('auth.permissions_beyond_token') });
    }
    if (expiresAt !== undefined && expiresAt <= now) {
      throw invalid({ expires_at: message('auth.expires_in_the_past') });
    }
    const token = buildToken('personal', random.bytes(TOKEN_ENTROPY_BYTES));
    const row: Token = {
      _id: hashToken(token),
      user_id: caller.userId,
      kind: 'personal',
      token_number: await sequences.next('personal_tokens'),
      name,
      permissions: permissions === undefined ? null : [...new Set(permissions)],
      created_at: now,
      expires_at: expiresAt ?? new Date(now.getTime() + tokenLifetimeDays * DAY_MS),
    };
    await store.transaction(async (session) => {
      // The presented token may have been revoked since it was introspected.
      const presented = await store.tokens.findLive(caller.tokenId, clock.now(), session);
      const user = await store.users.find(caller.userId, session);
      if (presented === null || user === null) throw unauthenticated();
      if (!(await store.tokens.insert(session, row, user.credential_epoch))) throw unauthenticated();
    });
    return { token, row };
  };
};
