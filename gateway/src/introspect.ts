/**
 * Authentication. Every token is introspected at identity and never cached, so that a revocation is effective at once
 * (docs/adr/0002-no-token-cache.md).
 */
import type { IncomingMessage } from 'node:http';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { ALL_TOKEN_KINDS, type Caller, GUEST, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type AppError, isAppError, unauthenticated, unavailable } from '@fitness/shared/kernel/error.ts';
import { isPermission } from '@fitness/shared/kernel/permissions.ts';

/** RFC 6750: a token68. */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
const DEADLINE_MS = 3_000;

/**
 * The caller of a request; the guest for a request without credentials. Throws 401 for any other credentials than a
 * valid bearer token, also where a guest is allowed, and 503 when identity does not answer.
 */
export type Authenticate = (request: IncomingMessage) => Promise<Caller>;

export const createAuthenticate =
  (identity: GrpcClient<IdentityDefinition>): Authenticate =>
  async (request) => {
    const header = request.headers.authorization;
    if (header === undefined) return GUEST;
    // `headers` has only one of several values: the request is ambiguous.
    if (request.headersDistinct.authorization?.length !== 1) throw unauthenticated();
    const token = BEARER.exec(header)?.[1];
    if (token === undefined) throw unauthenticated();
    return introspect(identity, token);
  };

const introspect = async (identity: GrpcClient<IdentityDefinition>, token: string): Promise<UserCaller> => {
  try {
    const answer = await identity.call('Introspect', { token }, { deadlineMs: DEADLINE_MS, retry: true });
    const tokenKind = ALL_TOKEN_KINDS.find((kind) => kind === answer.token_kind);
    if (tokenKind === undefined) throw unavailable(`unknown kind of token ${answer.token_kind}`);
    return {
      kind: 'user',
      userId: answer.user_id,
      permissions: new Set(answer.permissions.filter(isPermission)),
      ...(answer.withheld.length === 0 ? {} : { withheld: new Set(answer.withheld.filter(isPermission)) }),
      tokenId: answer.token_id,
      tokenKind,
      ...(answer.audience === '' ? {} : { audience: answer.audience }),
    };
  } catch (error) {
    throw isAppError(error) ? toPublic(error) : error;
  }
};

/** A refused token is 401; every other failure is 503. */
const toPublic = (error: AppError): AppError => {
  if (error.kind === 'unauthenticated') return unauthenticated();
  if (error.kind === 'unavailable') return error;
  return unavailable(`identity refused to introspect: ${error.message}`, error);
};
