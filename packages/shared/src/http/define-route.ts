/**
 * A route as data. On every route, the server checks in this order: caller (401), limit (429), the route's
 * permission (403), all before the body is read; then the permissions of fields (403) and the input (422). The use case
 * decides the rest (404, 403 of the resource, state).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { AuditAction } from '../audit/actions.ts';
import {
  ALL_TOKEN_KINDS,
  type Caller,
  type CallerTokenKind,
  SESSION_AND_PERSONAL,
  type SessionPage,
  type UserCaller,
} from '../kernel/caller.ts';
import type { Message } from '../kernel/error.ts';
import type { Locale, Translate } from '../kernel/i18n/translate.ts';
import type { Permission } from '../kernel/permissions.ts';
import type { RateLimit } from '../kernel/rate-limit.ts';
import { API_PREFIX, INTERNAL_PREFIX } from './gateway-protocol.ts';

/** For handlers of raw bodies and streams. */
export type RawRequest = FastifyRequest;
export type RawReply = FastifyReply;

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** `user`: a valid token is required. `guest`: a token is optional. */
export type Access = 'user' | 'guest';

/** `message`: `{message}`. `error_code`: `{error, code}` for 400, 404 and 500. */
export type ErrorStyle = 'message' | 'error_code';

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** Field name → what is wrong with it. */
export type FieldProblems = Readonly<Record<string, Message | undefined>>;

interface RouteInput<A extends Access, Params, Query, Body> {
  caller: A extends 'user' ? UserCaller : Caller;
  params: Parsed<Params>;
  query: Parsed<Query>;
  body: Parsed<Body>;
  locale: Locale;
  t: Translate;
  /** Path and query of the request, for the links of a list: `/api/v1/posts?page=2`. */
  url: string;
  /** `Idempotency-Key`, if the route is `idempotent` and the client sent one. */
  idempotencyKey: string | undefined;
  /** The client's IPv4 address or IPv6 network, from the gateway. */
  clientAddress: string;
  request: FastifyRequest;
  reply: FastifyReply;
}

export interface RouteReply {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Status → schema of the body; null: no body. */
type Responses = Record<number, z.ZodType | null>;

/** A reply of the handler: a declared status, with a body that fits its schema. */
type ReplyOf<R extends Responses> = {
  [Status in keyof R & number]: R[Status] extends z.ZodType
    ? { status: Status; body: z.input<R[Status]>; headers?: Record<string, string> }
    : { status: Status; body?: undefined; headers?: Record<string, string> };
}[keyof R & number];

export interface RouteSpec<A extends Access, Params, Query, Body, R extends Responses> {
  method: Method;
  /** Below `/api/v1`, e.g. `/gyms/:id`. */
  path: string;
  /** Moves the route below `/internal`. A page of the gateway calls it; clients cannot, and the API document omits it. */
  isInternal?: true;
  /** A verb phrase of at most six words: "Retrieve your account". */
  summary: string;
  description?: string;
  tag: string;
  access: A;
  /** A signed-in caller must have one of these; checked before the body is read. */
  permissions?: readonly Permission[];
  /** The caller must also have all of these; checked with `permissions`. */
  alsoNeeds?: readonly Permission[];
  /**
   * Fields of the body, or of the query of a GET, that need a separate permission: 403 without it, whatever the value.
   * If only some values need it, the use case decides.
   */
  fieldPermissions?: Readonly<Record<string, Permission>>;
  /**
   * Kinds of token with access; checked with `permissions`. Default: all for a route that needs a permission or admits
   * guests, otherwise session and personal tokens. No permission of a restricted token and no OAuth scope covers a route
   * without a permission. `docs/access.md` lists the result for every route.
   */
  tokenKinds?: readonly CallerTokenKind[];
  /** Pages of the gateway that call the route. The session of a page has access only to the routes of that page. */
  pages?: readonly SessionPage[];
  /** The only body fields that these pages may send, if not all. Any other field returns 403, whatever its value. */
  pageFields?: readonly string[];
  /**
   * Actions that the audit log records when an operator uses the route. A test requires them for every route that changes something
   * and accepts a permission of operators.
   */
  audits?: readonly AuditAction[];
  /** A rate limit per user, or per address for guests. It is counted before the body is read. */
  limit?: RateLimit | undefined;
  /** Counts `limit` by address even for users. */
  limitPerAddress?: boolean;
  params?: Params;
  query?: Query;
  body?: Body;
  /**
   * Returns the invalid fields of the body that its schema cannot judge, because this needs the clock, the configuration or the stored
   * data. One 422 names them with those that the schema refuses. `fields`: those that the schema accepts, each by itself.
   */
  checkBody?: (
    fields: Partial<Parsed<Body>>,
    input: Pick<RouteInput<A, Params, Query, Body>, 'caller' | 'params'>,
  ) => FieldProblems | Promise<FieldProblems>;
  /** Schemas of the responses by status. Fields that a schema does not declare are removed. */
  responses: R;
  errorStyle?: ErrorStyle;
  /** Codes of the use case that the body of an error contains, by status. The server adds its own: {@link errorCodesOf}. */
  errorCodes?: Readonly<Record<number, readonly string[]>>;
  /** Accepts `Idempotency-Key`. */
  idempotent?: boolean;
  /** The body is not JSON; the handler reads the stream. */
  rawBody?: boolean;
  /** The longest JSON body; see {@link bodyLimitOf}. */
  bodyLimitBytes?: number;
  /**
   * Whether caches may show the response to guests for some more seconds (docs/adr/0071, with the reviewed list of these
   * routes). Never set where data must be hidden at once.
   */
  guestCache?: boolean;
  /** For OpenAPI: the media type and the fields of a raw body. */
  rawBodySchema?: { mediaType: string; fields: z.ZodType };
  /** For OpenAPI: the media types of the response, if it is not JSON. */
  produces?: readonly string[];
  /** For OpenAPI: error statuses of the use case, besides those that the server derives from the route. */
  errorStatuses?: readonly number[];
  /** Returns the reply, or undefined if the handler has sent it on the raw reply. */
  handle(input: RouteInput<A, Params, Query, Body>): Promise<ReplyOf<R> | undefined>;
}

/** A route without its type parameters, for the list in `routes.ts`. */
export type Route = Omit<
  RouteSpec<Access, z.ZodType, z.ZodType, z.ZodType, Responses>,
  'handle' | 'checkBody'
> & {
  handle(input: never): Promise<RouteReply | undefined>;
  checkBody?(fields: never, input: never): FieldProblems | Promise<FieldProblems>;
};

export const defineRoute = <
  const A extends Access,
  R extends Responses,
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  spec: RouteSpec<A, Params, Query, Body, R>,
): Route => spec as unknown as Route;

/** The path of a route with its prefix. */
export const urlOf = ({ isInternal, path }: Pick<Route, 'isInternal' | 'path'>): string =>
  `${isInternal === true ? INTERNAL_PREFIX : API_PREFIX}${path}`;

/** The kinds of token with access to a route; see `RouteSpec.tokenKinds`. */
export const tokenKindsOf = ({
  tokenKinds,
  access,
  permissions,
  alsoNeeds,
}: Route): readonly CallerTokenKind[] => {
  const isScoped = access === 'guest' || permissions !== undefined || alsoNeeds !== undefined;
  return tokenKinds ?? (isScoped ? ALL_TOKEN_KINDS : SESSION_AND_PERSONAL);
};

const KIBIBYTE = 1024;
const BODY_LIMIT_BYTES = 64 * KIBIBYTE;
/** Limit for request bodies that anybody may send. */
const AUTH_BODY_LIMIT_BYTES = 16 * KIBIBYTE;

/**
 * The longest JSON body that a route accepts. It must fit the longest texts that the route permits at six bytes a
 * character, as in `\u0627`; a test compares it with the schema.
 */
export const bodyLimitOf = ({ bodyLimitBytes, path }: Pick<Route, 'bodyLimitBytes' | 'path'>): number =>
  bodyLimitBytes ?? (path.startsWith('/auth/') ? AUTH_BODY_LIMIT_BYTES : BODY_LIMIT_BYTES);

export const ok = <Body>(body: Body): { status: 200; body: Body } => ({ status: 200, body });
export const created = <Body>(body: Body): { status: 201; body: Body } => ({ status: 201, body });
export const accepted = <Body>(body: Body): { status: 202; body: Body } => ({ status: 202, body });
export const noContent = (): { status: 204 } => ({ status: 204 });
