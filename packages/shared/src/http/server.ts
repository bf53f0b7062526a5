/** The HTTP server of a process: routes, health, metrics, errors, and the OpenAPI document of its routes. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket, type Server as TlsServer } from 'node:tls';
import swagger from '@fastify/swagger';
import Fastify, {
  type FastifyBodyParser,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { type Caller, can } from '../kernel/caller.ts';
import { SECOND_MS } from '../kernel/clock.ts';
import {
  AppError,
  badRequest,
  forbidden,
  invalid,
  isAppError,
  message,
  methodNotAllowed,
  notFound,
  secondFactorRequired,
  unauthenticated,
} from '../kernel/error.ts';
import type { Health } from '../kernel/health.ts';
import { negotiateLocale } from '../kernel/i18n/negotiate.ts';
import { translator } from '../kernel/i18n/translate.ts';
import { createAccessLog, type Logger, redactText } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import { missingPermission } from '../kernel/missing-permission.ts';
import type { Permission } from '../kernel/permissions.ts';
import { type RateLimit, type RateLimiter, rateLimited, rateLimitHeaders } from '../kernel/rate-limit.ts';
import { createRequestScope, currentScope, type RequestScope, runInScope } from '../kernel/request-scope.ts';
import {
  childTraceparent,
  runWithTrace,
  type Span,
  spanIdOf,
  startSpan,
  traceIdOf,
} from '../kernel/trace.ts';
import { CALLER_HEADER, type CallerSigner } from '../process-identity/caller-context.ts';
import { isCertificateOf, type ProcessTls } from '../process-identity/process-tls.ts';
import { addEtag, cacheControlOf, etagOf, isRead, VARY } from './caching.ts';
import { networkOf } from './client-network.ts';
import { codingOf, etagIn, sendIn } from './compression.ts';
import {
  answerUnreadable,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  continueBeforeBody,
  endConnectionsWithServer,
  ignoreAfterEnd,
  isBodyMissing,
} from './connections.ts';
import { bodyLimitOf, type Route, type RouteReply, tokenKindsOf } from './define-route.ts';
import { sendError, toAppError } from './error-handler.ts';
import { isNestedTooDeeply } from './json-nesting.ts';
import { completeDocument, openApiSchema } from './openapi.ts';
import { contentCodingProblem, hostProblem, transferProblem } from './request-syntax.ts';
import { idempotencyKeySchema, issuesToFields, parseInputs, withoutEmpty } from './validation.ts';

export const API_PREFIX = '/api/v1';
/** Prefix of routes that the gateway does not forward. */
export const INTERNAL_PREFIX = '/internal';
/** Longer than the gateway keeps an idle connection, so that the server never closes one that is about to be used. */
const KEEP_ALIVE_MS = 72_000;
/** Data that waits in memory for a slow client. The buffers of the system hold more. */
const UNSENT_BYTES = 8 * 1024;
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
/** The client's IP address. The gateway sets it, and removes it from incoming requests. */
export const CLIENT_ADDRESS_HEADER = 'x-client-address';
/**
 * How long the caller waits for the response after it has sent the whole request, in milliseconds. The gateway sets
 * it, and removes it from incoming requests. It is a duration, because the clocks of two machines differ.
 */
export const REQUEST_TIMEOUT_HEADER = 'x-request-timeout';
/**
 * Prefix under which each route judges the headers of a request before the gateway reads the body: 204 if the
 * body decides.
 */
export const CHECK_PREFIX = '/internal/checks';
/**
 * Means that the route's limit was counted when the headers were checked. The gateway sets it and removes it from
 * incoming requests.
 */
export const LIMIT_COUNTED_HEADER = 'x-internal-limit-counted';
/** The route that has responded, for the log of the gateway. The gateway removes it from the response. */
export const ROUTE_HEADER = 'x-internal-route';
/** A service logs requests that take longer. */
const SLOW_MS = SECOND_MS;
const REQUEST_TIMEOUT = /^[1-9]\d{0,6}$/;

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route;
    /** Whether a service reads and checks the body. */
    forwardsBody?: true;
  }
  interface FastifyRequest {
    caller: Caller;
    /** Null when the request could not be read. */
    scope: RequestScope | null;
    /** Null for probes and Prometheus. */
    span: Span | null;
    /** For the gateway's log: the service that has responded, and its route. */
    answeredBy: { upstream: string; route?: string } | null;
  }
}

export interface BaseServerOptions {
  service: string;
  health: Health;
  metrics: Metrics;
  log: Logger;
  uuid: () => string;
  /** Logs every request. By default only errors and requests longer than a second are logged. */
  logsRequests?: boolean;
  /** Serves HTTPS; a client may have a certificate. */
  tls?: ProcessTls | undefined;
  /** For tests of limits that take minutes. */
  connections?: Partial<ConnectionLimits>;
  /** Adds hooks that run even for unknown paths. */
  addFirstHooks?: (app: FastifyInstance) => void;
  /** Answers a request to an unknown path. If it returns false, the response is the usual error. */
  sendUnknown?: (request: FastifyRequest, reply: FastifyReply) => boolean;
  /** Reads JSON bodies instead of Fastify, with its own limits. */
  readBody?: (source: IncomingMessage) => Promise<Buffer>;
}

export interface ServerOptions extends BaseServerOptions {
  routes: Route[];
  signer: CallerSigner;
  limiter: Pick<RateLimiter, 'consume'>;
  /** Registers plugins that the routes need, e.g. multipart. */
  prepare?: (app: FastifyInstance) => Promise<void>;
}

/** Creates the base server of every process, including the gateway: health, request ids, traces, JSON in strict UTF-8, errors. */
export const createBaseServer = (options: BaseServerOptions): FastifyInstance => {
  const { log, metrics } = options;
  const limits = { ...CONNECTION_LIMITS, ...options.connections };
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // The request id is in every line (log.ts); a logger for each request would cost as much as the rest of Fastify.
    childLoggerFactory: (logger) => logger,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: limits.requestMs,
    connectionTimeout: limits.stalledMs,
    ...nodeOptions(limits, options.tls),
    forceCloseConnections: 'idle',
    // A request over an open connection is served as usual while the server closes.
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: (request) => {
      const requestId = request.headers['x-request-id'];
      return typeof requestId === 'string' && REQUEST_ID.test(requestId) ? requestId : options.uuid();
    },
    // The limit is the length of a request line, so an invalid id of any length returns 404.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    clientErrorHandler: answerUnreadable,
    // Handles a path that cannot be decoded, for which no hook runs.
    frameworkErrors: (error, request, reply) => {
      addCommonHeaders(request, reply as FastifyReply);
      sendError(error, request, reply as FastifyReply);
    },
  }) as unknown as FastifyInstance;
  endConnectionsWithServer(app, limits.closeGraceMs, options.health);
  options.tls?.onRenewal((files) => (app.server as unknown as TlsServer).setSecureContext(files));
  ignoreAfterEnd(app);
  continueBeforeBody(app);
  // An `Expect` header other than 100-continue may be ignored; Node would return an empty 417.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.decorateRequest('caller', null as never);
  app.decorateRequest('scope', null);
  app.decorateRequest('span', null);
  app.decorateRequest('answeredBy', null);
  acceptJson(app, options.readBody);
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  app.addHook('onRequest', (request, reply, done) => {
    beginSpan(request);
    addCommonHeaders(request, reply);
    request.scope = createRequestScope();
    runInContext(request, () => done(hostProblem(request.raw) ?? transferProblem(request.raw)));
  });
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const isForwarded = request.routeOptions.config.forwardsBody === true;
    done(isForwarded || isBodyMissing(request) ? undefined : contentCodingProblem(request.raw));
  });
  // The body arrives in the async context of its socket; restore that of the request.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.scope !== null && currentScope() === request.scope) done();
    else runInContext(request, done);
  });
  const logAnswer = options.logsRequests === true ? logEvery(log) : logSlow(log);
  const observed = new WeakSet<FastifyRequest>();
  const observe = (request: FastifyRequest, reply: FastifyReply, status: number): void => {
    if (observed.has(request)) return;
    observed.add(request);
    const route = request.routeOptions.url ?? 'unknown';
    const labels = { method: request.method, route, status: String(status) };
    // The gateway forwards most requests by a single route. The route of the service that has responded says more.
    const answered = { ...labels, route: request.answeredBy?.route ?? route };
    metrics.httpDuration.observe(answered, reply.elapsedTime / 1_000);
    logAnswer(request, labels, reply.elapsedTime);
    endSpan(request, answered);
  };
  app.addHook('onResponse', (request, reply, done) => {
    observe(request, reply, reply.statusCode);
    done();
  });
  // Fastify has no hook for a client that disconnects before the response begins. Without this, the slowest requests would be missing.
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      if (!reply.raw.headersSent) observe(request, reply, CLIENT_GONE);
    });
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const { route } = request.routeOptions.config;
    return sendError(withAcceptedType(error, route), request, reply, route?.errorStyle);
  });
  options.addFirstHooks?.(app);
  refuseUnknown(app, options.sendUnknown);
  addHealthRoutes(app, options.health);
  return app;
};

/** nginx's status for a request whose client disconnected; nobody receives it. */
const CLIENT_GONE = 499;

type Labels = Record<'method' | 'route' | 'status', string>;
type LogAnswer = (request: FastifyRequest, labels: Labels, elapsedMs: number) => void;

const isQuiet = (route: string): boolean => route.startsWith('/health') || route === '/metrics';

/** Begins the span and writes its id into the headers, for the log and for the service to which the gateway forwards them. */
const beginSpan = (request: FastifyRequest): void => {
  const { headers, method, routeOptions } = request;
  const parent = headers.traceparent as string | undefined;
  if (isQuiet(routeOptions.url ?? '')) {
    headers.traceparent = childTraceparent(parent);
    return;
  }
  const attributes = { 'http.request.method': method };
  request.span = startSpan(method, { kind: 'server', parent, attributes });
  headers.traceparent = request.span.traceparent;
};

const endSpan = ({ span }: FastifyRequest, { method, route, status }: Labels): void =>
  span?.end({
    name: `${method} ${route}`,
    attributes: { 'http.route': route, 'http.response.status_code': Number(status) },
    // A refusal is a response.
    error: Number(status) >= 500 ? status : undefined,
  });

/** Logs one line for each request. The gateway does this, because all requests pass through it. */
const logEvery = (log: Logger): LogAnswer => {
  const write = createAccessLog(log);
  return (request, labels, elapsedMs) => {
    if (isQuiet(labels.route)) return;
    const { id, headers, answeredBy } = request;
    write({
      ...traceOf(headers),
      // The client may have chosen the id.
      request_id: id === headers['x-request-id'] ? redactText(id) : id,
      ...labels,
      ...answeredBy,
      ms: Math.round(elapsedMs),
    });
  };
};

const traceOf = ({ traceparent }: FastifyRequest['headers']) => ({
  trace_id: traceIdOf(String(traceparent)),
  span_id: spanIdOf(String(traceparent)),
});

/** Logs slow requests. The error handler logs failures with their causes. */
const logSlow =
  (log: Logger): LogAnswer =>
  (request, labels, elapsedMs) => {
    if (elapsedMs < SLOW_MS) return log.debug(labels, 'request');
    const { id, headers } = request;
    log.warn({ ...traceOf(headers), request_id: id, ...labels, ms: Math.round(elapsedMs) }, 'slow request');
  };

const nodeOptions = (limits: ConnectionLimits, tls: ProcessTls | undefined) => {
  const common = {
    // A request without a host gets our own error body, below.
    requireHostHeader: false,
    headersTimeout: limits.headersMs,
    connectionsCheckingInterval: limits.checkMs,
    highWaterMark: UNSENT_BYTES,
  };
  // Probes and Prometheus have no certificate, so each request decides whether it needs one.
  return tls === undefined
    ? { http: common }
    : { https: { ...common, ...tls.current(), requestCert: true, rejectUnauthorized: false } };
};

/** The text of a 415 names what the route accepts. */
const withAcceptedType = (error: unknown, route: Route | undefined): unknown => {
  if (route?.rawBody !== true || toAppError(error).code !== 'unsupported_media_type') return error;
  const text = message('error.form_expected');
  return new AppError({ kind: 'unsupported_media_type', code: 'unsupported_media_type', message: text });
};

const runInContext = (request: FastifyRequest, fn: () => void): void =>
  runWithTrace({ traceparent: String(request.headers.traceparent), requestId: request.id }, () =>
    runInScope(request.scope ?? createRequestScope(), fn),
  );

const ROUTED_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/**
 * An unknown path returns 404. A known path with another method returns 405 with `Allow`. This is decided before the
 * body is read.
 */
const refuseUnknown = (app: FastifyInstance, sendUnknown: BaseServerOptions['sendUnknown']): void => {
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    const { url } = request;
    const allowed = ROUTED_METHODS.filter((method) => app.findRoute({ method, url }) !== null);
    if (allowed.length > 0) return void sendError(methodNotAllowed(allowed), request, reply);
    if (sendUnknown?.(request, reply) !== true) sendError(notFound(), request, reply);
  });
};

const addCommonHeaders = (request: FastifyRequest, reply: FastifyReply): void => {
  reply.headers({
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
};

const acceptJson = (app: FastifyInstance, readBody: BaseServerOptions['readBody']): void => {
  const parse = app.getDefaultJsonParser('error', 'error');
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  const decode: FastifyBodyParser<Buffer> = (request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    let text: string;
    try {
      text = utf8.decode(body);
    } catch {
      return done(badRequest('bad_request', message('error.malformed_json')));
    }
    if (isNestedTooDeeply(text)) return done(badRequest('bad_request', message('error.nested_too_deeply')));
    return parse(request, text, done);
  };
  app.removeAllContentTypeParsers();
  if (readBody === undefined) {
    app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, decode);
  } else {
    app.addContentTypeParser('application/json', (request, payload, done) => {
      readBody(payload as IncomingMessage).then((body) => decode(request, body, done), done);
    });
  }
};

const hidden = { schema: { hide: true } };

const addHealthRoutes = (app: FastifyInstance, health: Health): void => {
  app.get('/health/live', hidden, async () => ({ status: 'live' }));
  app.get('/health/ready', hidden, async (_request, reply) => {
    const readiness = await health.readiness();
    return reply.code(readiness.status === 'ready' ? 200 : 503).send(readiness);
  });
};

/** Adds the route for Prometheus. It must never be on a port that clients reach. */
export const addMetricsRoute = (app: FastifyInstance, metrics: Metrics): void => {
  app.get('/metrics', hidden, async (_request, reply) =>
    reply
      .type(metrics.registry.contentType)
      .serializer(String)
      .send(await metrics.text()),
  );
};

/** The HTTP server of a service. It is not listening yet. */
export const createServer = async (options: ServerOptions): Promise<FastifyInstance> => {
  const app = createBaseServer(options);
  if (options.tls !== undefined) requireCertificate(app);
  addMetricsRoute(app, options.metrics);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: options.service, version: '1' },
      // The gateway describes them.
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer' }, oauth: { type: 'oauth2', flows: {} } },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: (document) =>
      completeDocument(jsonSchemaTransformObject(document), options.routes, API_PREFIX),
  });
  app.addHook('preValidation', (request, _reply, done) => {
    startDeadline(request);
    done();
  });
  await app.register(async (scope) => {
    await options.prepare?.(scope);
    for (const route of options.routes) addRoute(scope, route, options);
    refuseOtherMethods(scope, options.routes);
  });
  app.get('/internal/openapi.json', hidden, async () => app.swagger());
  return app;
};

/** Requires the gateway's certificate on every path except those of probes and Prometheus. */
const requireCertificate = (app: FastifyInstance): void => {
  const verifiedSockets = new WeakMap<Socket, boolean>();
  const isOfGateway = (socket: Socket): boolean => {
    const isKnown = verifiedSockets.get(socket);
    if (isKnown !== undefined) return isKnown;
    const isAuthorized = socket instanceof TLSSocket && socket.authorized;
    const isGateway = isAuthorized && isCertificateOf('gateway', socket.getPeerCertificate());
    verifiedSockets.set(socket, isGateway);
    return isGateway;
  };
  app.addHook('onRequest', ({ raw, routeOptions: { url } }, _reply, done) => {
    const isOpen = url === '/metrics' || url?.startsWith('/health/') === true;
    done(isOpen || isOfGateway(raw.socket) ? undefined : unauthenticated());
  });
};

/** The caller's time begins when the whole request has arrived. */
const startDeadline = ({ scope, headers, raw, routeOptions }: FastifyRequest): void => {
  const timeoutMs = headers[REQUEST_TIMEOUT_HEADER];
  if (scope === null || typeof timeoutMs !== 'string' || !REQUEST_TIMEOUT.test(timeoutMs)) return;
  const start = (): void => {
    scope.deadline = performance.now() + Number(timeoutMs);
  };
  if (routeOptions.config.route?.rawBody === true) raw.once('end', start);
  else start();
};

const urlOf = ({ isInternal, path }: Pick<Route, 'isInternal' | 'path'>): string =>
  `${isInternal === true ? INTERNAL_PREFIX : API_PREFIX}${path}`;

const addRoute = (app: FastifyInstance, route: Route, options: ServerOptions): void => {
  const onRequest = admission(route, options);
  app.route({
    method: route.method,
    url: urlOf(route),
    config: { route },
    bodyLimit: bodyLimitOf(route),
    schema: openApiSchema(route),
    onRequest,
    handler: async (request, reply) => {
      try {
        return await handle(route, request, reply);
      } catch (error) {
        throw explainRefusal(error, request.caller);
      }
    },
  });
  if (route.isInternal === true || route.method === 'GET') return;
  app.route({
    method: route.method,
    url: `${CHECK_PREFIX}${urlOf(route)}`,
    config: { route },
    schema: { hide: true },
    onRequest,
    handler: (_request, reply) => reply.code(204).send(),
  });
};

/** The checks before the body is read. */
const admission =
  (route: Route, { signer, limiter }: ServerOptions) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.header(ROUTE_HEADER, urlOf(route));
    if (route.method === 'GET') reply.header('vary', VARY);
    request.caller = callerOf(request, signer);
    if (route.access === 'user' && request.caller.kind !== 'user') throw unauthenticated();
    if (route.limit !== undefined && request.headers[LIMIT_COUNTED_HEADER] === undefined)
      await takeLimit(route.limit, route, request, reply, limiter);
    const { caller } = request;
    if (caller.kind === 'user' && !tokenKindsOf(route).includes(caller.tokenKind)) {
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

const isWithheldFrom = (caller: Caller, permission: Permission): boolean =>
  caller.kind === 'user' && caller.withheld?.has(permission) === true;

/** Explains a refusal by a use case, which does not know that staff lack permissions without a second factor. */
const explainRefusal = (error: unknown, caller: Caller): unknown => {
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
const assertMaySend = (
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

const handle = async (route: Route, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const locale = negotiateLocale(request.headers['accept-language']);
  reply.header('content-language', locale);
  assertMaySend(route, request);
  const params = route.params?.safeParse(request.params);
  if (params?.success === false) throw notFound();
  const [query, body] = parseInputs([
    { schema: route.query, value: withoutEmpty(request.query as object), root: 'query' },
    {
      schema: route.rawBody === true ? undefined : route.body,
      value: request.body === undefined ? {} : request.body,
      root: 'body',
    },
  ]);
  const input = {
    caller: request.caller,
    params: params?.data,
    query,
    body,
    locale,
    t: translator(locale),
    url: request.url,
    idempotencyKey: route.idempotent === true ? readIdempotencyKey(request) : undefined,
    clientAddress: clientAddressOf(request),
    request,
    reply,
  };
  const result = await route.handle(input as never);
  return result === undefined ? reply : sendReply(route, result, request, reply);
};

const readIdempotencyKey = (request: FastifyRequest): string | undefined => {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  const parsed = idempotencyKeySchema.safeParse(key, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw invalid(issuesToFields(parsed.error.issues, 'idempotency_key'));
};

const JSON_TYPE = 'application/json; charset=utf-8';

const sendReply = (
  route: Route,
  result: RouteReply,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> => {
  const schema = route.responses[result.status];
  if (schema === undefined)
    throw new Error(`${route.method} ${route.path} does not declare ${result.status}`);
  reply.code(result.status);
  if (result.headers !== undefined) reply.headers(result.headers);
  if (schema === null) return reply.send();
  // Fields that the schema does not declare are removed.
  // Encoded once: for the hash, the length and the connection.
  const text = Buffer.from(JSON.stringify(schema.parse(result.body)));
  if (result.status !== 200 || !isRead(route)) return reply.type(JSON_TYPE).send(text);
  const coding = codingOf(request.headers['accept-encoding'] as string | undefined, text.length);
  const etag = etagIn(coding, etagOf(text));
  const isKnown = addEtag(cacheControlOf(route, request.caller), etag, request, reply);
  return isKnown ? reply.code(304).send() : sendIn(coding, text, reply.type(JSON_TYPE));
};

/**
 * A path without parameters returns 405 for its other methods: `GET /payments/deposit` must not reach
 * `/payments/:id`, which would return 404.
 */
const refuseOtherMethods = (app: FastifyInstance, routes: Route[]): void => {
  const named = routes.filter(({ path }) => !path.includes(':'));
  for (const [path, same] of Map.groupBy(named, urlOf)) {
    const allowed = ROUTED_METHODS.filter((method) => same.some((route) => route.method === method));
    const handled: string[] = allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed;
    app.route({
      method: [...ROUTED_METHODS, 'HEAD', 'OPTIONS'].filter((method) => !handled.includes(method)),
      url: path,
      schema: { hide: true },
      exposeHeadRoute: false,
      onRequest: async () => {
        throw methodNotAllowed(allowed);
      },
      handler: async () => undefined,
    });
  }
};
