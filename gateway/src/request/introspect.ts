/** Authentication: identity resolves a token, or the gateway's cache of its responses does (docs/adr/0002). */
import type { IncomingMessage } from 'node:http';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import {
  ALL_TOKEN_KINDS,
  type Caller,
  GUEST,
  SESSION_PAGES,
  type UserCaller,
} from '@fitness/shared/kernel/caller.ts';
import { type AppError, isAppError, unauthenticated, unavailable } from '@fitness/shared/kernel/error.ts';
import { isPermission, type Permission } from '@fitness/shared/kernel/permissions.ts';
import { LRUCache } from 'lru-cache';

/** RFC 6750: a token68. */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const DEADLINE_MS = 3_000;
/** A small limit, because most tokens have the permissions of a role. */
const MAX_PERMISSION_SETS = 1_000;

/**
 * The caller of a request; the guest for a request without credentials. Throws 401 for credentials other than a valid
 * bearer token, even where guests are allowed. Throws 503 if identity does not respond.
 */
export type Authenticate = (request: IncomingMessage) => Promise<Caller>;

export const createAuthenticate =
  (callerOf: (token: string) => Promise<UserCaller>): Authenticate =>
  async (request) => {
    const [header, another] = request.headersDistinct.authorization ?? [];
    if (header === undefined) return GUEST;
    const token = BEARER.exec(header)?.[1];
    // A request with several values is ambiguous.
    if (token === undefined || another !== undefined) throw unauthenticated();
    return callerOf(token);
  };

interface Introspection {
  caller: UserCaller;
  /** Remaining validity of the token, unless it is revoked. */
  validForMs: number;
  /** Id of the store in which identity advances the epochs; empty if identity does not know it. */
  epochStoreId: string;
}

/** Calls identity. Throws 401 for an invalid token, and 503 if identity does not respond. */
export type Introspect = (token: string) => Promise<Introspection>;

export const createIntrospect = (identity: GrpcClient<IdentityDefinition>): Introspect => {
  const toSet = createToSet();
  return async (token) => {
    try {
      const answer = await identity.call('Introspect', { token }, { deadlineMs: DEADLINE_MS, retry: true });
      const tokenKind = ALL_TOKEN_KINDS.find((kind) => kind === answer.token_kind);
      if (tokenKind === undefined) throw unavailable(`unknown kind of token ${answer.token_kind}`);
      const page = SESSION_PAGES.find((name) => name === answer.page);
      if (page === undefined && answer.page) throw unavailable(`unknown page ${answer.page}`);
      const caller: UserCaller = {
        kind: 'user',
        userId: answer.user_id,
        permissions: toSet(answer.permissions),
        ...(answer.withheld.length === 0 ? {} : { withheld: toSet(answer.withheld) }),
        ...(answer.grantable.length === 0 ? {} : { grantable: toSet(answer.grantable) }),
        tokenId: answer.token_id,
        tokenKind,
        ...(page === undefined ? {} : { page }),
        ...(answer.second_factor ? { hasSecondFactor: true } : {}),
        ...(answer.audience === '' ? {} : { audience: answer.audience }),
      };
      return { caller, validForMs: answer.valid_for_ms, epochStoreId: answer.epoch_store_id };
    } catch (error) {
      throw isAppError(error) ? toPublic(error) : error;
    }
  };
};

/** Callers with the same permissions share one set, which saves memory. */
const createToSet = () => {
  const sets = new LRUCache<string, ReadonlySet<Permission>>({ max: MAX_PERMISSION_SETS });
  return (names: readonly string[]): ReadonlySet<Permission> => {
    const key = names.join();
    const set = sets.get(key) ?? new Set(names.filter(isPermission));
    sets.set(key, set);
    return set;
  };
};

/** A refused token leads to 401, every other failure to 503. */
const toPublic = (error: AppError): AppError => {
  if (error.kind === 'unauthenticated') return unauthenticated();
  if (error.kind === 'unavailable') return error;
  return unavailable(`identity refused to introspect: ${error.message}`, error);
};
