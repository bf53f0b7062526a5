/**
 * Who is calling. Identity is asked about the token of every request, never a cache: a token that was revoked a
 * moment ago lets nobody in (docs/adr/0002-no-token-cache.md).
 */
import type { IncomingMessage } from 'node:http';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import { type Caller, GUEST, type UserCaller } from '@fitness/shared/caller.ts';
import { type AppError, isAppError, unauthenticated, unavailable } from '@fitness/shared/error.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { isPermission } from '@fitness/shared/permissions.ts';

/** RFC 6750: a token68. */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const DEADLINE_MS = 3_000;
const TOKEN_KINDS: readonly string[] = ['session', 'personal', 'oauth'] satisfies UserCaller['tokenKind'][];

/**
 * The guest for a request without credentials. Throws 401 for credentials that are not a valid bearer token, also
 * where a guest would be let in, and 503 when nobody can say.
 */
export type Authenticate = (request: IncomingMessage) => Promise<Caller>;

export const createAuthenticate =
  (identity: GrpcClient<IdentityDefinition>): Authenticate =>
  async (request) => {
    const header = request.headers.authorization;
    if (header === undefined) return GUEST;
    // Of several headers Node shows one only; which one is meant cannot be known.
    if (request.headersDistinct.authorization?.length !== 1) throw unauthenticated();
    const token = BEARER.exec(header)?.[1];
    if (token === undefined) throw unauthenticated();
    return introspect(identity, token);
  };

const introspect = async (identity: GrpcClient<IdentityDefinition>, token: string): Promise<UserCaller> => {
  try {
    const answer = await identity.call('Introspect', { token }, { deadlineMs: DEADLINE_MS, retry: true });
    if (!TOKEN_KINDS.includes(answer.token_kind))
      throw unavailable(`unknown kind of token ${answer.token_kind}`);
    return {
      kind: 'user',
      userId: answer.user_id,
      permissions: new Set(answer.permissions.filter(isPermission)),
      tokenId: answer.token_id,
      tokenKind: answer.token_kind as UserCaller['tokenKind'],
    };
  } catch (error) {
    throw isAppError(error) ? toPublic(error) : error;
  }
};

/** Identity's refusal of the token is a 401; anything else is a fault on our side. */
const toPublic = (error: AppError): AppError => {
  if (error.kind === 'unauthenticated') return unauthenticated();
  if (error.kind === 'unavailable') return error;
  return unavailable(`identity refused to introspect: ${error.message}`, error);
};
