/** Forwards `/api/v1` to the services, in the name of a caller whom it has made sure of; and `/oauth` to identity. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import replyFrom, { type FastifyReplyFromHooks, type FastifyReplyFromOptions } from '@fastify/reply-from';
import { CALLER_HEADER, type CallerSigner, GUEST } from '@fitness/shared/caller.ts';
import { isAppError, notFound, unavailable } from '@fitness/shared/error.ts';
import { API_PREFIX, CLIENT_ADDRESS_HEADER } from '@fitness/shared/http/server.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Agent, Dispatcher } from 'undici';
import type { AddressLimit } from './address-limit.ts';
import { forwardBody, tooLarge } from './body.ts';
import { clientAddressOf } from './client-address.ts';
import type { Authenticate } from './introspect.ts';
import { findTarget, OAUTH_PREFIX, type Service, type Target } from './routes.ts';

const MEBIBYTE = 1024 * 1024;
/** JSON, which the services refuse past this themselves. */
const BODY_LIMIT_BYTES = MEBIBYTE;
/** A file that is too large is for its service to refuse, which names the field; past this nobody listens any more. */
const UPLOAD_LIMIT_BYTES = 128 * MEBIBYTE;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const WITHOUT_BODY = new Set(['GET', 'HEAD']);
const REPEATABLE = new Set(['GET', 'HEAD']);
/** No answer was begun; the service may be back, or another replica there, a moment later. */
const LOST_CONNECTION = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);
const RETRY_DELAY_MS = 50;
/** What nginx calls a request whose client went away; seen by metrics only. */
const CLIENT_GONE = 499;

/** All that a service gets to see of the client's headers. */
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
/** The pages of the authorization server keep their visitor apart from everybody else by these. */
const PAGE_HEADERS = ['cookie', 'origin', 'sec-fetch-site'] as const;
const BODY_HEADERS = ['content-encoding', 'content-language', 'content-length', 'content-type'] as const;

/** Of one connection (RFC 9110, 7.6.1), of the server software, or set by the gateway itself. */
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

declare module 'fastify' {
  interface FastifyRequest {
    forward: Forward;
  }
}

export interface Forward {
  target: Target;
  /** Signed for the service. */
  context: string;
  clientAddress: string;
}

export interface ForwardOptions {
  authenticate: Authenticate;
  signer: CallerSigner;
  trustedProxies: number;
}

export interface ProxyOptions extends ForwardOptions {
  urls: Record<Service, string>;
  agent: Agent;
  addressLimit: AddressLimit | undefined;
}

export const addProxy = async (app: FastifyInstance, options: ProxyOptions): Promise<void> => {
  await app.register(async (scope) => {
    scope.decorateRequest('forward', null as never);
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (request, payload, done) =>
      done(null, forwardBody(payload as IncomingMessage, bodyLimitOf(request.forward.target))),
    );
    await scope.register(replyFrom, {
      undici: abortable(options.agent),
      disableCache: true,
      disableRequestLogging: true,
    });
    for (const prefix of [API_PREFIX, OAUTH_PREFIX]) {
      scope.route({
        method: METHODS,
        url: `${prefix}/*`,
        exposeHeadRoute: false,
        onRequest: (request, reply) => admit(request, reply, options),
        handler: (request, reply) => {
          const { service, path } = request.forward.target;
          const hooks =
            REPEATABLE.has(request.method) && !isOauth(request.forward.target)
              ? repeatableHooks
              : oneShotHooks;
          return untilClosed.run(abortSignalOf(reply), () =>
            reply.from(`${options.urls[service]}${path}`, hooks),
          );
        },
      });
    }
  });
};

/** Everything that can be refused before a service is asked, or the body is read. */
const admit = async (request: FastifyRequest, reply: FastifyReply, options: ProxyOptions): Promise<void> => {
  // Before the token is looked at: this is there to keep a flood away from identity too.
  await options.addressLimit?.(clientAddressOf(request.raw, options.trustedProxies), reply);
  const forward = await prepareForward(request.raw, request.raw.url ?? '', options);
  if (Number(request.headers['content-length'] ?? 0) > bodyLimitOf(forward.target)) throw tooLarge();
  request.forward = forward;
};

/** Whom `url` belongs to, and who asks: with the token of `raw`. Throws 401, 404, and 503 when nobody can say. */
export const prepareForward = async (
  raw: IncomingMessage,
  url: string,
  { authenticate, signer, trustedProxies }: ForwardOptions,
): Promise<Forward> => {
  const target = findTarget(url);
  const caller = target !== undefined && isOauth(target) ? GUEST : await authenticate(raw);
  if (target === undefined) throw notFound();
  const context = await signer.sign({ from: 'gateway', caller });
  return { target, context, clientAddress: clientAddressOf(raw, trustedProxies) };
};

const isOauth = ({ path }: Target): boolean => path.startsWith(`${OAUTH_PREFIX}/`);

const bodyLimitOf = ({ service }: Target): number =>
  service === 'media' ? UPLOAD_LIMIT_BYTES : BODY_LIMIT_BYTES;

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

/** What a service believes, because nobody outside can send it. */
export const internalHeaders = (
  requestId: string,
  { clientAddress, context }: Forward,
): Record<string, string> => ({
  'x-request-id': requestId,
  [CLIENT_ADDRESS_HEADER]: clientAddress,
  [CALLER_HEADER]: context,
});

const rewriteHeaders: NonNullable<FastifyReplyFromHooks['rewriteHeaders']> = (headers) => {
  const ofThisConnection = new Set(
    String(headers.connection ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
  const isHidden = (name: string): boolean =>
    HIDDEN_RESPONSE_HEADERS.has(name) || ofThisConnection.has(name) || name.startsWith('x-internal-');
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isHidden(name)));
};

/** No answer of the service could be had. */
const onError: NonNullable<FastifyReplyFromHooks['onError']> = (reply, { error }) => {
  const cause = (error.cause ?? error) as Error & { code?: string };
  if (isAppError(cause)) return void reply.send(cause);
  if (reply.raw.destroyed) return void reply.code(CLIENT_GONE).send();
  const { service } = reply.request.forward.target;
  reply.send(unavailable(`${service}: ${cause.code ?? cause.message}`, cause));
};

const commonHooks = {
  rewriteRequestHeaders,
  rewriteHeaders,
  onError,
  onResponse: (_request, reply, { stream }) => {
    // The library closes a connection whose body is not read to its end; ours is (body.ts), and the client that is
    // still sending would lose the answer.
    reply.removeHeader('connection');
    reply.send(stream);
  },
  queryString: (_search, _url, request) => request.forward.target.query.slice(1),
} satisfies FastifyReplyFromHooks;

/** The library's own rule would also repeat a GET on a 503, which is an answer. */
const oneShotHooks: FastifyReplyFromHooks = { ...commonHooks, retryDelay: () => null };

const repeatableHooks: FastifyReplyFromHooks = {
  ...commonHooks,
  retryDelay: ({ err, attempt }) => {
    const code = (err as { code?: unknown } | null)?.code;
    return attempt === 0 && LOST_CONNECTION.has(String(code)) ? RETRY_DELAY_MS : null;
  },
};

/** The signal of the request that is being forwarded: the library has no way to hand one on. */
const untilClosed = new AsyncLocalStorage<AbortSignal>();

const abortSignalOf = (reply: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
};

type Undici = NonNullable<FastifyReplyFromOptions['undici']>;

/** A service need not go on for a client that is gone. The library's types are those of an older undici. */
const abortable = (agent: Agent): Undici => {
  const request = (given: Dispatcher.RequestOptions, callback: AgentCallback): void =>
    agent.request({ ...given, signal: untilClosed.getStore() ?? null }, callback);
  return { request } as unknown as Undici;
};

type AgentCallback = (error: Error | null, data: Dispatcher.ResponseData) => void;
