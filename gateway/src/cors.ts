/**
 * Cross-origin requests of browsers, without credentials: an API client sends its token itself. `/mcp` has
 * its own rule for origins.
 */
import { MCP_PATH } from '@fitness/contracts/oauth.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

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
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-Request-Id',
].join(', ');
const PREFLIGHT_MAX_AGE_S = 7_200;

/** Registered before the routes are matched: a page may read a 404 too. */
export const allowOrigins = (app: FastifyInstance, origins: CorsOrigins): void => {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.url.split('?', 1)[0] === MCP_PATH) return done();
    if (origins !== '*' && origins.length > 0) reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined) return done();
    if (!(origins === '*' || origins.includes(origin))) {
      // A service would answer 401 or 405, and the browser would not show why.
      return isPreflight(request) ? void reply.code(204).send() : done();
    }
    reply.header('access-control-allow-origin', origins === '*' ? '*' : origin);
    if (isPreflight(request)) return void answerPreflight(reply);
    reply.header('access-control-expose-headers', RESPONSE_HEADERS);
    done();
  });
};

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
