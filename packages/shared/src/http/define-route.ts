/**
 * A route as data. The server takes the checks in the contract's order: who calls (401), the limit (429), the route's
 * permission (403), all before the body is read; then the input (422); then the use case decides the rest (404, 403 of
 * the resource, state). So the order is structure, not care.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Caller, UserCaller } from '../caller.ts';
import type { Locale, Translate } from '../i18n/translate.ts';
import type { Permission } from '../permissions.ts';
import type { RateLimit } from './rate-limit-types.ts';

/** What a handler of a raw body, or of a stream, works with. */
export type RawRequest = FastifyRequest;
export type RawReply = FastifyReply;

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** `user`: a valid token is needed. `guest`: anyone; a caller with a token is known. */
export type Access = 'user' | 'guest';

/** `message`: `{message}`. `error_code`: `{error, code}` for 400, 404 and 500 (contract 1). */
export type ErrorStyle = 'message' | 'error_code';

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

interface RouteInput<A extends Access, Params, Query, Body> {
  caller: A extends 'user' ? UserCaller : Caller;
  params: Parsed<Params>;
  query: Parsed<Query>;
  body: Parsed<Body>;
  locale: Locale;
  t: Translate;
  /** The path and query as the client asked, for the links of a list: `/api/v1/posts?page=2`. */
  url: string;
  /** `Idempotency-Key`, where the route is `idempotent` and the client sent one. */
  idempotencyKey: string | undefined;
  /** The client's address as the gateway saw it. */
  clientAddress: string;
  request: FastifyRequest;
  reply: FastifyReply;
}

export interface RouteReply {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface RouteSpec<A extends Access, Params, Query, Body> {
  method: Method;
  /** Below `/api/v1`, e.g. `/gyms/:id`. */
  path: string;
  summary: string;
  description?: string;
  tag: string;
  access: A;
  /** The caller must hold one of these, unless he is a guest where guests are let in; decided before the body is read. */
  permissions?: readonly Permission[];
  /** The caller must hold all of these besides; decided with `permissions`. */
  alsoNeeds?: readonly Permission[];
  /**
   * Kinds of token that have access; decided with `permissions`. When left out: all where a permission is needed or
   * guests are let in, else first-party ones alone. A third party may do what a scope names, and what asks for no
   * permission no scope speaks of.
   */
  tokenKinds?: readonly UserCaller['tokenKind'][];
  /** A budget for each user (or address, for a guest), taken before the body is read. */
  limit?: RateLimit;
  params?: Params;
  query?: Query;
  body?: Body;
  /** Status → schema of the body (null: no body). Only what a schema declares leaves the process. */
  responses: Record<number, z.ZodType | null>;
  errorStyle?: ErrorStyle;
  /** Accepts `Idempotency-Key`. */
  idempotent?: boolean;
  /** Not JSON: the handler reads the stream itself. */
  rawBody?: boolean;
  /** Of a raw body, for the document only: its media type and the schema of its fields. */
  rawBodySchema?: { mediaType: string; fields: z.ZodType };
  /** The media type of the answers, where it is not JSON; for the document only. */
  produces?: string;
  /** Statuses that the use case may answer besides those that the server derives from this route; for the document. */
  mayRefuse?: readonly number[];
  /** Left out of the public document. */
  hidden?: boolean;
  /** Undefined when the handler has sent the answer itself on `reply`. */
  handle(input: RouteInput<A, Params, Query, Body>): Promise<RouteReply | undefined>;
}

/** A route whose type parameters no longer matter: what `routes.ts` lists. */
export type Route = Omit<RouteSpec<Access, z.ZodType, z.ZodType, z.ZodType>, 'handle'> & {
  handle(input: never): Promise<RouteReply | undefined>;
};

export const defineRoute = <
  const A extends Access,
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  spec: RouteSpec<A, Params, Query, Body>,
): Route => spec as unknown as Route;

export const ok = (body: unknown): RouteReply => ({ status: 200, body });
export const created = (body: unknown): RouteReply => ({ status: 201, body });
export const accepted = (body: unknown): RouteReply => ({ status: 202, body });
export const noContent = (): RouteReply => ({ status: 204 });
