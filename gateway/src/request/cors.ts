/** Cross-origin requests of browsers, without credentials: a client sends its token itself. */

import { OAUTH_PATHS } from '@fitness/contracts/oauth.ts';
import { OPS_PATH } from '@fitness/ops/operator.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DELETION_PATH } from './page-paths.ts';

/** Allowed origins; `*` for any. */
export type CorsOrigins = readonly string[] | '*';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const REQUEST_HEADERS =
  'Accept-Language, Authorization, Content-Type, Idempotency-Key, If-Match, If-Modified-Since, If-None-Match, If-Range, ' +
  'If-Unmodified-Since, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, Range, traceparent, X-Request-Id';
const RESPONSE_HEADERS =
  'Accept-Ranges, Allow, Content-Disposition, Content-Range, ETag, Mcp-Session-Id, Retry-After, WWW-Authenticate, ' +
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-Request-Id';
const PREFLIGHT_MAX_AGE_S = 7_200;
const VARY = 'Origin';

/** Pages where users sign in. Browsers open them, and no other page may read them. */
const PAGES = [OAUTH_PATHS.authorize, OAUTH_PATHS.interaction, DELETION_PATH, OPS_PATH];
/** Metadata is the same for everyone, and publicly cached. */
const PUBLIC_PREFIX = '/.well-known/';

const allowedAt = (url: string, origins: CorsOrigins): CorsOrigins => {
  const path = pathOf(url);
  if (path.startsWith(PUBLIC_PREFIX)) return '*';
  return PAGES.some((page) => path === page || path.startsWith(`${page}/`)) ? [] : origins;
};

/** The decoded path, which the routing table compares. A path that cannot be decoded has no route. */
const pathOf = (url: string): string => {
  const [path = ''] = url.split('?', 1);
  try {
    return path.includes('%') ? decodeURIComponent(path) : path;
  } catch {
    return path;
  }
};

/** Whether a page of `origin` may read responses. */
export const isAllowedOrigin = (origins: CorsOrigins, origin: string): boolean =>
  origins === '*' || origins.includes(origin);

/** Runs before routing, so that a page may read even a 404. */
export const allowOrigins = (app: FastifyInstance, configured: CorsOrigins): void => {
  app.addHook('onRequest', (request, reply, done) => {
    const origins = allowedAt(request.url, configured);
    if (origins === '*') reply.header('access-control-allow-origin', '*');
    else if (origins.length > 0) reply.header('vary', VARY);
    const { origin } = request.headers;
    if (origin === undefined) return done();
    if (!isAllowedOrigin(origins, origin)) {
      // A service would return 401 or 405, and the browser would not show why.
      return isPreflight(request) ? void reply.code(204).send() : done();
    }
    if (origins !== '*') reply.header('access-control-allow-origin', origin);
    if (isPreflight(request)) return void answerPreflight(reply);
    reply.header('access-control-expose-headers', RESPONSE_HEADERS);
    done();
  });
  if (configured !== '*' && configured.length > 0) completeVary(app, configured);
};

/** Adds `Origin` where a route has replaced `Vary`. The proxy does this for the responses of services. */
const completeVary = (app: FastifyInstance, configured: CorsOrigins): void => {
  app.addHook('onSend', (request, reply, _payload, done) => {
    const vary = reply.getHeader('vary');
    if (vary !== undefined && allowedAt(request.url, configured) === configured) {
      reply.header('vary', varying(String(vary), VARY));
    }
    done();
  });
};

/** `vary`, extended by the gateway's `Vary`. */
export const varying = (vary: string, own: unknown): string =>
  own === undefined || /\borigin\b/i.test(vary) ? vary : `${vary}, ${String(own)}`;

const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;

const answerPreflight = (reply: FastifyReply): FastifyReply =>
  reply
    .code(204)
    .headers({
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': PREFLIGHT_MAX_AGE_S,
    })
    .send();
