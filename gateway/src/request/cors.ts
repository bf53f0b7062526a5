/** Cross-origin requests of browsers, without credentials: a client sends its token itself. */

import { OAUTH_PATHS } from '@fitness/contracts/oauth.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DELETION_PATH, OPS_PATH } from './page-paths.ts';

/** Origins that are allowed; `*` for any. */
export type CorsOrigins = readonly string[] | '*';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const REQUEST_HEADERS = [
  'Accept-Language',
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-Modified-Since',
  'If-None-Match',
  'If-Range',
  'If-Unmodified-Since',
  'Last-Event-ID',
  'Mcp-Protocol-Version',
  'Mcp-Session-Id',
  'Range',
  'traceparent',
  'X-Request-Id',
].join(', ');
const RESPONSE_HEADERS = [
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Mcp-Session-Id',
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-Request-Id',
].join(', ');
const PREFLIGHT_MAX_AGE_S = 7_200;
const VARY = 'Origin';

/** Where the user signs in: opened by their browser, never read by a page of somebody else. */
const PAGES = [OAUTH_PATHS.authorize, OAUTH_PATHS.interaction, DELETION_PATH, OPS_PATH];
/** Metadata says the same to everybody, and is cached for everybody. */
const PUBLIC_PREFIX = '/.well-known/';

const allowedAt = (url: string, origins: CorsOrigins): CorsOrigins => {
  const path = pathOf(url);
  if (path.startsWith(PUBLIC_PREFIX)) return '*';
  return PAGES.some((page) => path === page || path.startsWith(`${page}/`)) ? [] : origins;
};

/** Decoded, as the routing table compares it; a path that cannot be decoded has no route. */
const pathOf = (url: string): string => {
  const [path = ''] = url.split('?', 1);
  try {
    return path.includes('%') ? decodeURIComponent(path) : path;
  } catch {
    return path;
  }
};

/** Whether a page of `origin` may read answers. */
export const isAllowedOrigin = (origins: CorsOrigins, origin: string): boolean =>
  origins === '*' || origins.includes(origin);

/** Registered before the routes are matched: a page may read a 404 too. */
export const allowOrigins = (app: FastifyInstance, configured: CorsOrigins): void => {
  app.addHook('onRequest', (request, reply, done) => {
    const origins = allowedAt(request.url, configured);
    if (origins === '*') reply.header('access-control-allow-origin', '*');
    else if (origins.length > 0) reply.header('vary', VARY);
    const { origin } = request.headers;
    if (origin === undefined) return done();
    if (!isAllowedOrigin(origins, origin)) {
      // A service would answer 401 or 405, and the browser would not show why.
      return isPreflight(request) ? void reply.code(204).send() : done();
    }
    if (origins !== '*') reply.header('access-control-allow-origin', origin);
    if (isPreflight(request)) return void answerPreflight(reply);
    reply.header('access-control-expose-headers', RESPONSE_HEADERS);
    done();
  });
  if (configured !== '*' && configured.length > 0) completeVary(app, configured);
};

/** A route's own `Vary` has replaced that of this module. Answers of services are completed by `varying`. */
const completeVary = (app: FastifyInstance, configured: CorsOrigins): void => {
  app.addHook('onSend', (request, reply, _payload, done) => {
    const vary = reply.getHeader('vary');
    if (vary !== undefined && allowedAt(request.url, configured) === configured) {
      reply.header('vary', varying(String(vary), VARY));
    }
    done();
  });
};

/** `vary` with what the gateway's own `Vary` names. */
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
