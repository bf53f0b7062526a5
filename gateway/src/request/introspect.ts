/** Authentication: a token is resolved by identity, or by what the gateway has kept of its answer (docs/adr/0002). */
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
/** Few, because most tokens have the permissions of a role. */
const MAX_PERMISSION_SETS = 1_000;

/**
 * The caller of a request; the guest for a request without credentials. Throws 401 for any other credentials than a
 * valid bearer token, also where a guest is allowed, and 503 when identity does not answer.
 */
export type Authenticate = (request: IncomingMessage) => Promise<Caller>;

export const createAuthenticate =
  (callerOf: (token: string) => Promise<UserCaller>): Authenticate =>
  async (request) => {
    const header = request.headers.authorization;
    if (header === undefined) return GUEST;
    // `headers` has only one of several values: the request is ambiguous.
    if (!isSingle(request.rawHeaders, 'authorization')) throw unauthenticated();
    const token = BEARER.exec(header)?.[1];
    if (token === undefined) throw unauthenticated();
    return callerOf(token);
  };

/** Whether a header occurs once. `rawHeaders`: names and values in turn. */
const isSingle = (rawHeaders: readonly string[], name: string): boolean => {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? '';
    if (given.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count === 1;
};

interface Introspection {
  caller: UserCaller;
  /** How long the token is valid unless it is revoked. */
  validForMs: number;
  /** Where identity advances the epochs of credentials; empty when it does not tell. */
  epochStoreId: string;
}

/** Asks identity. 401; 503 without an answer. */
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

/** Callers with the same permissions have one set in common, so that many of them can be kept. */
const createToSet = () => {
  const sets = new LRUCache<string, ReadonlySet<Permission>>({ max: MAX_PERMISSION_SETS });
  return (names: readonly string[]): ReadonlySet<Permission> => {
    const key = names.join();
    const set = sets.get(key) ?? new Set(names.filter(isPermission));
    sets.set(key, set);
    return set;
  };
};

/** A refused token is 401; every other failure is 503. */
const toPublic = (error: AppError): AppError => {
  if (error.kind === 'unauthenticated') return unauthenticated();
  if (error.kind === 'unavailable') return error;
  return unavailable(`identity refused to introspect: ${error.message}`, error);
};
