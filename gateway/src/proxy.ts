/** Forwards `/api/v1` to the services with the authenticated caller, and `/oauth` to identity. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import replyFrom, { type FastifyReplyFromHooks, type FastifyReplyFromOptions } from '@fastify/reply-from';
import { API_PREFIX, CLIENT_ADDRESS_HEADER, REQUEST_TIMEOUT_HEADER } from '@fitness/shared/http/server.ts';
import { CALLER_HEADER, type Caller, GUEST } from '@fitness/shared/kernel/caller.ts';
import { isAppError, notFound } from '@fitness/shared/kernel/error.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Agent, Dispatcher } from 'undici';
import { assertAudience } from './bearer.ts';
import { BODY_LIMIT_BYTES, clientGone, forwardUpload, tooLarge, UPLOAD_LIMIT_BYTES } from './body.ts';
import { clientAddressOf } from './client-address.ts';
import type { Dependencies } from './dependencies.ts';
import { lostAnswer } from './lost-answer.ts';
import { findTarget, OAUTH_PREFIX, type Target, transferOf } from './routes.ts';
import { createUserLimit, type UserLimit } from './user-limit.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const WITHOUT_BODY = new Set(['GET', 'HEAD']);
const REPEATABLE = new Set(['GET', 'HEAD']);
/** Connection lost before an answer began: a retry may reach the restarted service or another replica. */
const LOST_CONNECTION = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);
const RETRY_DELAY_MS = 50;
/** How long a token counts as valid after its check, within one request. */
export const TOKEN_CHECK_VALID_MS = 500;
/** An eighth of the default limit on all uploads: one user must not take the places of the others. */
const UPLOADS_PER_USER = 32;
/** nginx's status for a request whose client disconnected; visible in metrics only. */
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
const BODY_HEADERS = ['content-encoding', 'content-language', 'content-length', 'content-type'] as const;

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

/** The gateway alone decides which origins may read an answer. */
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
  /** How long the service may take. */
  timeoutMs: number;
}

type ForwardDependencies = Pick<
  Dependencies,
  'authenticate' | 'serviceTimeoutMs' | 'signer' | 'trustedProxies'
>;
type AdmitDependencies = ForwardDependencies & Pick<Dependencies, 'addressLimit' | 'baseUrl'>;
type ProxyDependencies = AdmitDependencies &
  Pick<Dependencies, 'urls' | 'agents' | 'openRequests' | 'uploadIdleMs'>;

export const addProxy = async (app: FastifyInstance, dependencies: ProxyDependencies): Promise<void> => {
  const uploads = createUserLimit(UPLOADS_PER_USER);
  await app.register(async (scope) => {
    scope.decorateRequest('forward', null as never);
    scope.removeAllContentTypeParsers();
    // Read by the handler.
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    await scope.register(replyFrom, {
      undici: forwarder,
      disableCache: true,
      disableRequestLogging: true,
    });
    for (const prefix of [API_PREFIX, OAUTH_PREFIX]) {
      scope.route({
        method: METHODS,
        url: `${prefix}/*`,
        exposeHeadRoute: false,
        onRequest: async (request, reply) => {
          await admit(request, reply, dependencies);
          limitUploads(request, reply, uploads);
        },
        handler: (request, reply) => forward(request, reply, dependencies),
      });
    }
  });
};

const forward = async (
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: ProxyDependencies,
): Promise<FastifyReply> => {
  const { urls, agents, uploadIdleMs } = dependencies;
  const { target } = request.forward;
  const transfer = transferOf(target, request.method);
  const signal = abortSignalOf(reply);
  const body: { body?: Buffer; contentType?: string } = {};
  if (request.body !== undefined && transfer === 'uploads') {
    const startedAt = performance.now();
    request.body = forwardUpload(request.raw, uploadIdleMs, () =>
      assertStillValid(request, startedAt, dependencies),
    );
  } else if (request.body !== undefined) {
    body.body = await readWhileValid(request, dependencies);
    body.contentType = request.headers['content-type'] ?? UNKNOWN_TYPE;
  }
  const isRepeatable = REPEATABLE.has(request.method) && !isOauth(target);
  const hooks = isRepeatable ? repeatableHooks : oneShotHooks;
  return forwarding.run({ signal, agent: agents[transfer] }, () =>
    reply.from(`${urls[target.service]}${target.path}`, { ...hooks, ...body }),
  );
};

const readWhileValid = async (request: FastifyRequest, dependencies: ProxyDependencies): Promise<Buffer> => {
  const startedAt = performance.now();
  const body = await dependencies.openRequests.readBody(request.raw);
  await assertStillValid(request, startedAt, dependencies);
  return body;
};

/** A token that was revoked while the body arrived slowly is 401. */
const assertStillValid = async (
  request: FastifyRequest,
  startedAt: number,
  dependencies: ForwardDependencies,
): Promise<void> => {
  if (performance.now() - startedAt <= TOKEN_CHECK_VALID_MS) return;
  request.forward = await prepareForward(request.raw, request.raw.url ?? '', dependencies);
};

/** The checks before a service is called and before the body is read. */
const admit = async (
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: AdmitDependencies,
): Promise<void> => {
  const { addressLimit, baseUrl, trustedProxies } = dependencies;
  // Before authentication: the limit protects identity too.
  await addressLimit?.(clientAddressOf(request.raw, trustedProxies), reply);
  const forward = await prepareForward(request.raw, request.raw.url ?? '', dependencies);
  assertAudience(forward.caller, baseUrl, API_PREFIX);
  const isUpload = transferOf(forward.target, request.method) === 'uploads';
  const limitBytes = isUpload ? UPLOAD_LIMIT_BYTES : BODY_LIMIT_BYTES;
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge();
  // Refused by the service, which names what it accepts, and not by the framework, which would ask for JSON.
  const type = request.headers['content-type'];
  if (type !== undefined && !MEDIA_TYPE.test(type)) request.headers['content-type'] = UNKNOWN_TYPE;
  request.forward = forward;
};

/** Guests are refused by media, before their body. */
const limitUploads = (request: FastifyRequest, reply: FastifyReply, uploads: UserLimit): void => {
  const { target, caller } = request.forward;
  if (caller.kind === 'guest' || transferOf(target, request.method) !== 'uploads') return;
  // There will be no event that frees the place.
  if (reply.raw.destroyed) throw clientGone();
  reply.raw.once('close', uploads.enter(caller.userId));
};

/** Routes `url` and authenticates the token of `raw`. Throws 401, 404, and 503 when identity does not answer. */
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

const rewriteRequestHeaders: NonNullable<FastifyReplyFromHooks['rewriteRequestHeaders']> = (
  request,
  headers,
) => {
  const { target } = request.forward;
  const names = [
    ...REQUEST_HEADERS,
    ...(WITHOUT_BODY.has(request.method) ? [] : BODY_HEADERS),
    ...(isOauth(target) ? PAGE_HEADERS : []),
  ];
  const forwarded = names.filter((name) => headers[name] !== undefined).map((name) => [name, headers[name]]);
  return {
    ...Object.fromEntries(forwarded),
    host: headers.host,
    ...internalHeaders(request.id, request.forward),
  };
};

/** Trusted by the services: the gateway never forwards these headers from outside. */
export const internalHeaders = (
  requestId: string,
  { clientAddress, context, timeoutMs }: Forward,
): Record<string, string> => ({
  'x-request-id': requestId,
  [CLIENT_ADDRESS_HEADER]: clientAddress,
  [CALLER_HEADER]: context,
  [REQUEST_TIMEOUT_HEADER]: String(timeoutMs),
});

const rewriteHeaders: NonNullable<FastifyReplyFromHooks['rewriteHeaders']> = (headers) => {
  const ofThisConnection = new Set(
    String(headers.connection ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
  const isHidden = (name: string): boolean =>
    HIDDEN_RESPONSE_HEADERS.has(name) ||
    HIDDEN_RESPONSE_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
    ofThisConnection.has(name);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isHidden(name)));
};

/** The service did not answer. */
const onError: NonNullable<FastifyReplyFromHooks['onError']> = (reply, { error }) => {
  const cause = (error.cause ?? error) as Error & { code?: string };
  if (isAppError(cause)) return void reply.send(cause);
  if (reply.raw.destroyed) return void reply.code(CLIENT_GONE).send();
  const { service } = reply.request.forward.target;
  reply.send(lostAnswer(reply.request.method, service, cause));
};

const commonHooks = {
  rewriteRequestHeaders,
  rewriteHeaders,
  onError,
  onResponse: (_request, reply, { stream }) => {
    // The library sets this header when the service did not read the whole body. The gateway reads it to its end
    // (body.ts); a closed connection would make a client that is still sending lose the answer.
    reply.removeHeader('connection');
    reply.send(stream);
  },
  queryString: (_search, _url, request) => request.forward.target.query.slice(1),
} satisfies FastifyReplyFromHooks;

/** The library's default would also retry a GET after a 503 of the service. */
const oneShotHooks: FastifyReplyFromHooks = { ...commonHooks, retryDelay: () => null };

const repeatableHooks: FastifyReplyFromHooks = {
  ...commonHooks,
  retryDelay: ({ err, attempt }) => {
    const code = (err as { code?: unknown } | null)?.code;
    return attempt === 0 && LOST_CONNECTION.has(String(code)) ? RETRY_DELAY_MS : null;
  },
};

/** Of the request that is being forwarded: the library has no options for them. */
const forwarding = new AsyncLocalStorage<{ signal: AbortSignal; agent: Agent }>();

const abortSignalOf = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
};

type Undici = NonNullable<FastifyReplyFromOptions['undici']>;
type AgentCallback = (error: Error | null, data: Dispatcher.ResponseData) => void;

/**
 * Uses the connections of the kind of transfer, and aborts the request to the service when the client disconnects. The
 * library's types are of an older undici.
 */
const forwarder = {
  request: (given: Dispatcher.RequestOptions, callback: AgentCallback): void => {
    const store = forwarding.getStore();
    if (store === undefined) throw new Error('no request is being forwarded');
    store.agent.request({ ...given, signal: store.signal }, callback);
  },
} as unknown as Undici;
