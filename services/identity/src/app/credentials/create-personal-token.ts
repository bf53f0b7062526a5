/** Personal access tokens for the user's programs, never with more permissions than the presented token. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { forbidden, type Message, message, unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import { holdsAll } from '../../domain/roles.ts';
import { buildToken, hashToken, TOKEN_ENTROPY_BYTES } from '../../domain/token.ts';
import type { Token } from '../../store/tokens.ts';
import type { SecurityNotices } from '../sign-in/security-notices.ts';
import { recordNewCredential } from './record-new-credential.ts';
import type { UsablePermissions } from './usable-permissions.ts';

interface CreatePersonalTokenDependencies extends Dependencies {
  securityNotices: SecurityNotices;
  usablePermissions: UsablePermissions;
}

interface PersonalTokenInput {
  name: string;
  /** Undefined when the token is not restricted. */
  permissions?: readonly string[] | undefined;
  expiresAt?: Date | undefined;
}

/**
 * Creates a personal access token. `token` is shown once; `row` is stored. 403: a session with a limited lifetime, such as a
 * page's, because the token would outlive it.
 */
type CreatePersonalToken = (
  caller: UserCaller,
  input: PersonalTokenInput,
) => Promise<{ token: string; row: Token }>;

export const MAX_YEARS_AHEAD = 1;

/** The same day of the last year that a token may have. */
const latestEnd = (now: Date): Date => {
  const then = new Date(now);
  then.setUTCFullYear(now.getUTCFullYear() + MAX_YEARS_AHEAD);
  return then;
};

/** Returns the invalid fields: a permission that the caller lacks, an expiry in the past or more than a year ahead. */
export const createFindInvalidTokenFields =
  ({ clock }: Pick<Dependencies, 'clock'>) =>
  (
    caller: UserCaller,
    { permissions, expiresAt }: Omit<PersonalTokenInput, 'name'>,
  ): Record<string, Message> => {
    const now = clock.now();
    const isTooLate = expiresAt !== undefined && expiresAt > latestEnd(now);
    return {
      ...(permissions !== undefined && !holdsAll(caller.permissions, permissions)
        ? { permissions: message('auth.permissions_beyond_token') }
        : {}),
      ...(isTooLate ? { expires_at: message('auth.expires_too_late') } : {}),
      ...(expiresAt !== undefined && expiresAt <= now
        ? { expires_at: message('auth.expires_in_the_past') }
        : {}),
    };
  };

export const createCreatePersonalToken = (
  dependencies: CreatePersonalTokenDependencies,
): CreatePersonalToken => {
  const { store, sequences, random, clock, tokenLifetimeDays } = dependencies;
  return async (caller, { name, permissions, expiresAt }) => {
    const now = clock.now();
    const latest = latestEnd(now);
    const byDefault = new Date(now.getTime() + tokenLifetimeDays * DAY_MS);
    const token = buildToken('personal', random.bytes(TOKEN_ENTROPY_BYTES));
    const row: Token = {
      _id: hashToken(token),
      user_id: caller.userId,
      kind: 'personal',
      token_number: await sequences.next('personal_tokens'),
      name,
      permissions: permissions === undefined ? null : [...new Set(permissions)],
      created_at: now,
      expires_at: expiresAt ?? (byDefault < latest ? byDefault : latest),
    };
    await store.transaction(async (session) => {
      // The presented token may have been revoked since it was introspected.
      const presented = await store.tokens.findLive(caller.tokenId, clock.now(), session);
      const user = await store.users.find(caller.userId, session);
      if (presented === null || user === null) throw unauthenticated();
      if (presented.ends_at != null) throw forbidden('a session with a limited lifetime creates no tokens');
      if (!(await store.tokens.insert(session, row, user.credential_epoch))) throw unauthenticated();
      await recordNewCredential(dependencies, session, user, {
        change: 'token_created',
        action: 'token.create',
        values: { token_id: row.token_number, permissions: row.permissions, expires_at: row.expires_at },
      });
    });
    return { token, row };
  };
};
