/** Personal access tokens: credentials that a user makes for his own programs, never stronger than their maker. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { type Clock, DAY_MS, type Random } from '@fitness/shared/clock.ts';
import { invalid, message, notFound, unauthenticated } from '@fitness/shared/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { holdsAll } from '../domain/roles.ts';
import { buildToken, hashToken, TOKEN_ENTROPY_BYTES } from '../domain/token.ts';
import type { Token, TokenStore } from '../store/tokens.ts';
import type { UserStore } from '../store/users.ts';
import { narrowedTo } from './narrowed.ts';
import type { Transact } from './transact.ts';

export interface PersonalTokensParts {
  users: UserStore;
  tokens: TokenStore;
  sequences: Sequences;
  random: Random;
  clock: Clock;
  transact: Transact;
  lifetimeDays: number;
}

interface PersonalTokenInput {
  name: string;
  /** Left out: as many as the presenting token has. */
  permissions?: readonly string[] | undefined;
  expiresAt?: Date | undefined;
}

export interface PersonalToken {
  id: number;
  name: string;
  /** null: whatever the user may. */
  permissions: readonly string[] | null;
  createdAt: Date;
  expiresAt: Date;
}

export interface PersonalTokens {
  /** Live ones, newest first. A token that was cut down sees those that may no more than itself. */
  list(caller: UserCaller, request: PageRequest): Promise<PageOf<PersonalToken>>;
  /** 422: more permissions than the presenting token has, an end in the past or beyond a presenting personal one. */
  create(caller: UserCaller, input: PersonalTokenInput): Promise<{ token: string; data: PersonalToken }>;
  /** 404 unless it is one of the caller's own, and one that `list` shows. */
  delete(caller: UserCaller, id: number): Promise<void>;
}

const toPersonal = (row: Token): PersonalToken => ({
  id: row.token_number ?? 0,
  name: row.name ?? '',
  permissions: row.permissions,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});

/** A program's token cannot prolong itself by its children: 422 when a later end was asked for, else cut down. */
const endWithin = (presenting: Token, end: Date, asked: boolean): Date => {
  if (presenting.kind !== 'personal' || end <= presenting.expires_at) return end;
  if (asked) throw invalid({ expires_at: message('auth.expires_beyond_token') });
  return presenting.expires_at;
};

export const createPersonalTokens = (parts: PersonalTokensParts): PersonalTokens => {
  const { users, tokens, clock, transact } = parts;
  return {
    list: async (caller, request) => {
      const { userId } = caller;
      const now = clock.now();
      const within = await narrowedTo(tokens, caller, now);
      const rows = await tokens.listPersonal(userId, now, within, {
        skip: request.mode === 'page' ? request.skip : 0,
        limit: request.perPage + 1,
        beforeNumber: request.mode === 'cursor' ? request.after[0] : undefined,
      });
      const shown = rows.slice(0, request.perPage);
      const last = shown.at(-1)?.token_number ?? undefined;
      return {
        rows: shown.map(toPersonal),
        total: request.mode === 'page' ? await tokens.countPersonal(userId, now, within) : undefined,
        next: rows.length > shown.length && last !== undefined ? [last] : undefined,
      };
    },

    create: async (caller, { name, permissions, expiresAt }) => {
      const now = clock.now();
      if (permissions !== undefined && !holdsAll(caller.permissions, permissions)) {
        throw invalid({ permissions: message('auth.permissions_beyond_token') });
      }
      if (expiresAt !== undefined && expiresAt <= now) {
        throw invalid({ expires_at: message('auth.expires_in_the_past') });
      }
      const token = buildToken('personal', parts.random.bytes(TOKEN_ENTROPY_BYTES));
      const row: Token = {
        _id: hashToken(token),
        user_id: caller.userId,
        kind: 'personal',
        token_number: await parts.sequences.next('personal_tokens'),
        name,
        permissions: permissions === undefined ? null : [...new Set(permissions)],
        created_at: now,
        expires_at: expiresAt ?? new Date(now.getTime() + parts.lifetimeDays * DAY_MS),
      };
      const stored = await transact(async (session) => {
        // The presenting token may have been revoked since it was looked at; a dead one bears no children.
        const presenting = await tokens.findLive(caller.tokenId, clock.now(), session);
        const user = await users.findById(caller.userId, session);
        if (presenting === null || user === null) throw unauthenticated();
        const child = {
          ...row,
          permissions: row.permissions ?? presenting.permissions,
          expires_at: endWithin(presenting, row.expires_at, expiresAt !== undefined),
        };
        if (!(await tokens.insert(session, child, user.credential_epoch))) throw unauthenticated();
        return child;
      });
      return { token, data: toPersonal(stored) };
    },

    delete: async (caller, id) => {
      const within = await narrowedTo(tokens, caller, clock.now());
      if (!(await tokens.deletePersonal(caller.userId, id, within))) throw notFound();
    },
  };
};
