/** Forwards `/api/v1` to the services with the authenticated caller, and `/oauth` to identity. */
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { OAUTH_PATHS } from '@fitness/contracts/oauth.ts';
import { endsUnread } from '@fitness/shared/http/connections.ts';
import {
  API_PREFIX,
  CHECK_PREFIX,
  CLIENT_ADDRESS_HEADER,
  LIMIT_COUNTED_HEADER,
  REQUEST_TIMEOUT_HEADER,
  ROUTE_HEADER,
} from '@fitness/shared/http/server.ts';
import { type Caller, GUEST } from '@fitness/shared/kernel/caller.ts';
import { isAppError, notFound } from '@fitness/shared/kernel/error.ts';
import { runWithTrace } from '@fitness/shared/kernel/trace.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Dispatcher } from 'undici';
import type { Dependencies } from '../dependencies.ts';
import { assertAudience } from './bearer.ts';
import { BODY_LIMIT_BYTES, clientGone, forwardUpload, tooLarge, UPLOAD_LIMIT_BYTES } from './body.ts';
import { clientAddressOf } from './client-address.ts';
import { varying } from './cors.ts';
import { startExchange } from './exchange.ts';
import { lostAnswer } from './lost-answer.ts';
import { limitReading } from './open-requests.ts';
import { findTarget, OAUTH_PREFIX, type Target, transferOf } from './routes.ts';
import { createUserLimit, type UserLimit } from './user-limit.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** The paths of OAuth are listed, so that browsers get a page for any other below `/oauth`. */
const FORWARDED = [
  `${API_PREFIX}/*`,
  ...[OAUTH_PATHS.authorize, OAUTH_PATHS.token, OAUTH_PATHS.register, OAUTH_PATHS.revoke],
  ...[`${OAUTH_PATHS.authorize}/:uid`, `${OAUTH_PATHS.interaction}/:uid`],
];
const WITHOUT_BODY = new Set(['GET', 'HEAD']);
const REPEATABLE = new Set(['GET', 'HEAD']);
/** How long a token is treated as valid after its check, within one request. */
export const TOKEN_CHECK_VALID_MS = 500;
/** An eighth of the default limit for all uploads, so that one user cannot lock out the others. */
export const UPLOADS_PER_USER = 32;
/** RFC 9110 requires `WWW-Authenticate` in every 401, including those of services. */
export const CHALLENGE = 'Bearer';
/** nginx's status for a request whose client has disconnected, for metrics and logs only. */
const CLIENT_GONE = 499;

const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;
const UNKNOWN_TYPE = 'application/octet-stream';

/** The only client headers that are forwarded. */
const REQUEST_HEADERS = [
  'accept',
  'accept-encoding',
  'accept-language',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'traceparent',
  'user-agent',
] as const;
/** Required by the pages of the authorization server for their session and CSRF checks. */
const PAGE_HEADERS = ['cookie', 'origin', 'sec-fetch-site'] as const;
const BODY_HEADERS = ['content-encoding', 'content-language'] as const;

const LIMIT_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining'] as const;

/** Hop-by-hop headers (RFC 9110, 7.6.1), headers of the server software, and headers that the gateway sets. */
const HIDDEN_RESPONSE_HEADERS = new Set([
  'connection',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'referrer-policy',
  'server',
  'te',
  'traceparent',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-content-type-options',
  'x-powered-by',
  'x-request-id',
  CALLER_HEADER,
  CLIENT_ADDRESS_HEADER,
]);

/** The gateway alone decides which origins may read a response. */
const HIDDEN_RESPONSE_PREFIXES = ['x-internal-', 'access-control-'];

declare module 'fastify' {
  interface FastifyRequest {
    forward: Forward;
  }
}

export interface Forward {
  target: Target;
  caller: Caller;
  /** The signed caller context. */
  context: string;
  clientAddress: string;
  /** Time limit for the service. */
  timeoutMs: number;
  /** Whether the service has checked the headers and counted the request. */
  isChecked?: boolean;
}

type ForwardDependencies = Pick<
  Dependencies,
  'authenticate' | 'serviceTimeoutMs' | 'signer' | 'trustedProxies'
>;
type CheckDependencies = Pick<Dependencies, 'urls' | 'agents' | 'readTimeoutMs'>;
type AdmitDependencies = ForwardDependencies &
  CheckDependencies &
  Pick<Dependencies, 'addressLimit' | 'baseUrl'>;
type ProxyDependencies = AdmitDependencies & Pick<Dependencies, 'openRequests' | 'uploadIdleMs'>;

export const addProxy = async (app: FastifyInstance, dependencies: ProxyDependencies): Promise<void> => {
  const uploads = createUserLimit(UPLOADS_PER_USER);
  await app.register(async (scope) => {
    scope.decorateRequest('forward', null as never);
    scope.removeAllContentTypeParsers();
    // The handler reads the body.
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    for (const url of FORWARDED) {
      scope.route({
        method: METHODS,
        url,
        exposeHeadRoute: false,
        config: { forwardsBody: true },
        onRequest: async (request, reply) => {
          await admit(request, reply, dependencies);
          if (!reply.sent) limitUploads(request, reply, uploads);
        },
        handler: (request, reply) => forward(request, reply, dependencies),
      });
    }
  });
};

const forward = (request: FastifyRequest, reply: FastifyReply, dependencies: ProxyDependencies): void => {
  if (request.body === undefined) {
    exchange(request, reply, dependencies);
  } else if (transferOf(request.forward.target, request.method) === 'uploads') {
    const startedAt = performance.now();
    const check = () => assertStillValid(request, startedAt, dependencies);
    const body = forwardUpload(request.raw, dependencies.uploadIdleMs, check);
    exchange(request, reply, dependencies, body);
  } else {
    readWhileValid(request, dependencies)
      .then((body) => exchange(request, reply, dependencies, body))
      .catch((error: unknown) => reply.send(error));
  }
};

const routeIn = ({ [ROUTE_HEADER]: route }: IncomingHttpHeaders): { route?: string } =>
  typeof route === 'string' ? { route } : {};

const exchange = (
  request: FastifyRequest,
  reply: FastifyReply,
  { urls, agents, readTimeoutMs }: ProxyDependencies,
  body: Buffer | Readable | null = null,
): void => {
  const { method, forward } = request;
  const { target } = forward;
  const transfer = transferOf(target, method);
  startExchange({
    reply,
    agent: agents[transfer],
    request: {
      origin: urls[target.service],
      path: `${target.path}${target.query}`,
      method: method as Dispatcher.HttpMethod,
      headers: requestHeaders(request, Buffer.isBuffer(body)),
      body,
    },
    isRepeatable: REPEATABLE.has(method) && !isOauth(target),
    beginAnswer: (status, headers) => {
      if (transfer !== 'downloads') limitReading(reply.raw, readTimeoutMs);
      request.answeredBy = { upstream: target.service, ...routeIn(headers) };
      return answerHeaders(reply, status, headers);
    },
    onLost: (error) => {
      const { traceparent } = request.headers;
      runWithTrace({ traceparent: String(traceparent), requestId: request.id }, () =>
        answerLost(reply, target, error),
      );
    },
  });
};

const readWhileValid = async (request: FastifyRequest, dependencies: ProxyDependencies): Promise<Buffer> => {
  const startedAt = performance.now();
  const body = await dependencies.openRequests.readBody(request.raw);
  await assertStillValid(request, startedAt, dependencies);
  return body;
};

/** Throws 401 for a token that was revoked while its body arrived slowly. */
const assertStillValid = async (
  request: FastifyRequest,
  startedAt: number,
  dependencies: ForwardDependencies,
): Promise<void> => {
  if (performance.now() - startedAt <= TOKEN_CHECK_VALID_MS) return;
  const { isChecked } = request.forward;
  const forward = await prepareForward(request.raw, request.raw.url ?? '', dependencies);
  request.forward = isChecked === undefined ? forward : { ...forward, isChecked };
};

/** Checks before a service is called and the body is read. `reply` is sent if the service refuses the headers. */
const admit = async (
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: AdmitDependencies,
): Promise<void> => {
  const { addressLimit, baseUrl, trustedProxies } = dependencies;
  // This runs before authentication, because the limit protects identity too.
  await addressLimit?.(clientAddressOf(request.raw, trustedProxies), reply);
  const forward = await prepareForward(request.raw, request.raw.url ?? '', dependencies);
  assertAudience(forward.caller, baseUrl, API_PREFIX);
  request.forward = forward;
  if (isBodyPending(request)) {
    // Node parses a body in the packet of its headers only after the promises that the headers resolve.
    await setImmediate();
    if (isBodyPending(request)) await checkHeaders(request, reply, dependencies);
  }
  if (reply.sent) return;
  const isUpload = transferOf(forward.target, request.method) === 'uploads';
  const limitBytes = isUpload ? UPLOAD_LIMIT_BYTES : BODY_LIMIT_BYTES;
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge();
  // The service refuses the type and names what it accepts. The framework would ask for JSON.
  const type = request.headers['content-type'];
  if (type !== undefined && !MEDIA_TYPE.test(type)) request.headers['content-type'] = UNKNOWN_TYPE;
};

/** Requests of `/oauth` are excluded, because identity checks only their bodies. */
const isBodyPending = ({ raw, method, forward }: FastifyRequest): boolean =>
  !raw.complete && !WITHOUT_BODY.has(method) && !isOauth(forward.target);

/**
 * Sends the service's response to the headers alone if it refuses them (401, 429, 403). A service that cannot check
 * headers alone (an unknown path, an earlier release) receives the whole request.
 */
const checkHeaders = async (
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: CheckDependencies,
): Promise<void> => {
  const { forward } = request;
  const { status, headers, text } = await requestCheck(request, dependencies);
  if (headers[ROUTE_HEADER] === undefined) return;
  if (status === 204) {
    forward.isChecked = true;
    for (const name of LIMIT_HEADERS) {
      if (headers[name] !== undefined) reply.header(name, headers[name]);
    }
    return;
  }
  limitReading(reply.raw, dependencies.readTimeoutMs);
  request.answeredBy = { upstream: forward.target.service, ...routeIn(headers) };
  const answer = answerHeaders(reply, status, headers);
  reply.hijack();
  reply.raw.writeHead(status, answer).end(text);
};

const requestCheck = async (request: FastifyRequest, { urls, agents }: CheckDependencies) => {
  const { service, path, query } = request.forward.target;
  try {
    const { statusCode, headers, body } = await agents.ordinary.request({
      origin: urls[service],
      path: `${CHECK_PREFIX}${path}${query}`,
      method: request.method as Dispatcher.HttpMethod,
      headers: headersWithoutBody(request),
    });
    return { status: statusCode, headers, text: await body.text() };
  } catch (error) {
    // A check has no effect, so its outcome is never unknown.
    throw lostAnswer('GET', service, error as Error);
  }
};

/** Limits the uploads of a user. Media refuses guests before their bodies are read. */
const limitUploads = (request: FastifyRequest, reply: FastifyReply, uploads: UserLimit): void => {
  const { target, caller } = request.forward;
  if (caller.kind === 'guest' || transferOf(target, request.method) !== 'uploads') return;
  // No event would free the place.
  if (reply.raw.destroyed) throw clientGone();
  reply.raw.once('close', uploads.enter(caller.userId));
};

/** Routes `url` and authenticates the token of `raw`. Throws 401, 404, and 503 if identity does not respond. */
export const prepareForward = async (
  raw: IncomingMessage,
  url: string,
  { authenticate, serviceTimeoutMs, signer, trustedProxies }: ForwardDependencies,
): Promise<Forward> => {
  const target = findTarget(url);
  const caller = target !== undefined && isOauth(target) ? GUEST : await authenticate(raw);
  if (target === undefined) throw notFound();
  const context = signer.sign(target.service, caller);
  const clientAddress = clientAddressOf(raw, trustedProxies);
  return { target, caller, context, clientAddress, timeoutMs: serviceTimeoutMs };
};

const isOauth = ({ path }: Target): boolean => path.startsWith(`${OAUTH_PREFIX}/`);

/** Headers in undici's form: alternating names and values. */
const requestHeaders = (request: FastifyRequest, hasWholeBody: boolean): string[] => {
  const forwarded = headersWithoutBody(request);
  if (!WITHOUT_BODY.has(request.method)) forwarded.push(...bodyHeaders(request.headers, hasWholeBody));
  return forwarded;
};

const headersWithoutBody = (request: FastifyRequest): string[] => {
  const { headers, forward } = request;
  const forwarded = pickHeaders(headers, REQUEST_HEADERS);
  if (isOauth(forward.target)) forwarded.push(...pickHeaders(headers, PAGE_HEADERS));
  if (headers.host !== undefined) forwarded.push('host', headers.host);
  for (const [name, value] of Object.entries(internalHeaders(request.id, forward))) {
    forwarded.push(name, value);
  }
  return forwarded;
};

const pickHeaders = (headers: IncomingHttpHeaders, names: readonly string[]): string[] => {
  const picked: string[] = [];
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string') picked.push(name, value);
  }
  return picked;
};

/** The length of a body that the gateway has read is set from its bytes. */
const bodyHeaders = (headers: IncomingHttpHeaders, hasWholeBody: boolean): string[] => {
  if (!hasWholeBody) return pickHeaders(headers, [...BODY_HEADERS, 'content-length', 'content-type']);
  return [...pickHeaders(headers, BODY_HEADERS), 'content-type', headers['content-type'] ?? UNKNOWN_TYPE];
};

/** Headers that the services trust. The gateway never forwards them from outside. */
export const internalHeaders = (
  requestId: string,
  { clientAddress, context, timeoutMs, isChecked }: Forward,
): Record<string, string> => ({
  'x-request-id': requestId,
  [CLIENT_ADDRESS_HEADER]: clientAddress,
  [CALLER_HEADER]: context,
  [REQUEST_TIMEOUT_HEADER]: String(timeoutMs),
  ...(isChecked === true ? { [LIMIT_COUNTED_HEADER]: '1' } : {}),
});

/** Headers of the gateway, and the service's headers for the client. */
const answerHeaders = (
  reply: FastifyReply,
  status: number,
  headers: IncomingHttpHeaders,
): OutgoingHttpHeaders => {
  const answer = reply.getHeaders() as OutgoingHttpHeaders;
  const hopByHop = namesIn(headers.connection);
  for (const [name, value] of Object.entries(headers)) {
    if (isHidden(name) || hopByHop?.includes(name) === true) continue;
    answer[name] = name === 'vary' ? varying(String(value), answer.vary) : value;
  }
  if (status === 401) answer['www-authenticate'] ??= CHALLENGE;
  if (endsUnread(reply.request.raw)) answer.connection = 'close';
  return answer;
};

const isHidden = (name: string): boolean =>
  HIDDEN_RESPONSE_HEADERS.has(name) || HIDDEN_RESPONSE_PREFIXES.some((prefix) => name.startsWith(prefix));

const namesIn = (connection: string | undefined): string[] | undefined =>
  connection === undefined || connection === 'keep-alive'
    ? undefined
    : connection
        .toLowerCase()
        .split(',')
        .map((name) => name.trim());

/** Answers a request for which the service gave no response. */
const answerLost = (reply: FastifyReply, { service }: Target, error: Error & { code?: string }): void => {
  if (reply.raw.destroyed) reply.code(CLIENT_GONE).send();
  else reply.send(isAppError(error) ? error : lostAnswer(reply.request.method, service, error));
};
