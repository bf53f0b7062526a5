/** Who may call a route: checks before the body is read, and those of its fields. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type Caller, can } from '../kernel/caller.ts';
import { forbidden, isAppError, secondFactorRequired, unauthenticated } from '../kernel/error.ts';
import { missingPermission } from '../kernel/missing-permission.ts';
import type { Permission } from '../kernel/permissions.ts';
import { type RateLimit, type RateLimiter, rateLimited, rateLimitHeaders } from '../kernel/rate-limit.ts';
import { CALLER_HEADER, type CallerSigner } from '../process-identity/caller-context.ts';
import { VARY } from './caching.ts';
import { networkOf } from './client-network.ts';
import { isBodyMissing } from './connections.ts';
import { type Route, tokenKindsOf, urlOf } from './define-route.ts';
import { CLIENT_ADDRESS_HEADER, LIMIT_COUNTED_HEADER, ROUTE_HEADER } from './gateway-protocol.ts';
import { withoutEmpty } from './validation.ts';

export interface Admission {
  signer: CallerSigner;
  limiter: Pick<RateLimiter, 'consume'>;
}

/** The checks before the body is read. */
export const admission = (route: Route, { signer, limiter }: Admission) => {
  const [url, tokenKinds] = [urlOf(route), tokenKindsOf(route)];
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.header(ROUTE_HEADER, url);
    if (route.method === 'GET') reply.header('vary', VARY);
    request.caller = callerOf(request, signer);
    if (route.access === 'user' && request.caller.kind !== 'user') throw unauthenticated();
    if (route.limit !== undefined && request.headers[LIMIT_COUNTED_HEADER] === undefined)
      await takeLimit(route.limit, route, request, reply, limiter);
    const { caller } = request;
    if (caller.kind === 'user' && !tokenKinds.includes(caller.tokenKind)) {
      throw forbidden(`not with a token of kind ${caller.tokenKind}`);
    }
    if (caller.kind === 'user' && caller.page !== undefined && route.pages?.includes(caller.page) !== true) {
      throw forbidden(`not with a session of the page ${caller.page}`);
    }
    // Even on a route that admits guests, a caller with a token needs the permission.
    const needed = caller.kind === 'guest' ? undefined : route.permissions;
    if (needed !== undefined && !needed.some((permission) => can(caller, permission))) {
      const isWithheld = needed.some((permission) => isWithheldFrom(caller, permission));
      throw isWithheld ? secondFactorRequired() : missingPermission(caller, route);
    }
    const missing = route.alsoNeeds?.filter((permission) => !can(caller, permission)) ?? [];
    if (missing.length > 0) {
      if (caller.kind === 'guest') throw unauthenticated();
      const isWithheld = missing.every((permission) => isWithheldFrom(caller, permission));
      throw isWithheld ? secondFactorRequired() : missingPermission(caller, route);
    }
    // Without a body there is no wrong media type: a missing body is handled like an empty one.
    if (isBodyMissing(request)) delete request.headers['content-type'];
  };
};

const isWithheldFrom = (caller: Caller, permission: Permission): boolean =>
  caller.kind === 'user' && caller.withheld?.has(permission) === true;

/** Explains a refusal by a use case, which does not know that staff lack permissions without a second factor. */
export const explainRefusal = (error: unknown, caller: Caller): unknown => {
  const isStaff = caller.kind === 'user' && (caller.withheld?.size ?? 0) > 0;
  return isStaff && isAppError(error) && error.code === 'forbidden' ? secondFactorRequired() : error;
};

/** Throws 401 for a request that the gateway has not signed for this process. */
export const callerOf = ({ headers }: FastifyRequest, signer: CallerSigner): Caller => {
  const header = headers[CALLER_HEADER];
  const context = signer.verify(typeof header === 'string' ? header : undefined);
  if (context?.from !== 'gateway') throw unauthenticated();
  return context.caller;
};

/** The client as limits identify it: its IP address or IPv6 network. */
export const clientAddressOf = (request: FastifyRequest): string => {
  const header = request.headers[CLIENT_ADDRESS_HEADER];
  return networkOf(typeof header === 'string' ? header : request.ip);
};

const takeLimit = async (
  limit: RateLimit,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  limiter: Pick<RateLimiter, 'consume'>,
): Promise<void> => {
  const { caller } = request;
  const isPerUser = caller.kind === 'user' && route.limitPerAddress !== true;
  const key = isPerUser ? `user:${caller.userId}` : `address:${clientAddressOf(request)}`;
  const state = await limiter.consume(limit, key);
  if (!state.allowed) throw rateLimited(state);
  // If a budget is shared with strangers, its remainder would reveal their requests.
  if (route.access === 'user') reply.headers(rateLimitHeaders(state));
};

/** Throws 403 for a field without its permission, or one that the session's page does not send. Values are checked later. */
export const assertMaySend = (
  { method, permissions, fieldPermissions = {}, pageFields, body }: Route,
  request: FastifyRequest,
): void => {
  const sent: unknown = method === 'GET' ? withoutEmpty(request.query as object) : request.body;
  if (typeof sent !== 'object' || sent === null) return;
  const { caller } = request;
  if (caller.kind === 'user' && caller.page !== undefined && pageFields !== undefined) {
    const declared = Object.keys((body as z.ZodObject).shape);
    const other = declared.find((field) => Object.hasOwn(sent, field) && !pageFields.includes(field));
    if (other !== undefined) throw forbidden(`${other} is not sent by the page ${caller.page}`);
  }
  const needed = Object.entries(fieldPermissions).flatMap(([field, permission]) =>
    Object.hasOwn(sent, field) ? [permission] : [],
  );
  if (needed.some((permission) => !can(caller, permission)))
    throw missingPermission(caller, { permissions, alsoNeeds: needed });
};
