/** The HTTP server that every process has, the gateway too: request ids, traces, JSON, errors, health and metrics. */
import type { IncomingMessage } from 'node:http';
import type { Server as TlsServer } from 'node:tls';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import type { Caller } from '../kernel/caller.ts';
import { AppError, message, methodNotAllowed, notFound } from '../kernel/error.ts';
import type { Health } from '../kernel/health.ts';
import { createRequestScope, currentScope, type RequestScope, runInScope } from '../kernel/request-scope.ts';
import { runWithTrace, type Span } from '../kernel/trace.ts';
import type { ProcessTls } from '../process-identity/process-tls.ts';
import {
  answerUnreadable,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  continueBeforeBody,
  endConnectionsWithServer,
  ignoreAfterEnd,
  isBodyMissing,
} from './connections.ts';
import type { Route } from './define-route.ts';
import { sendError, toAppError } from './error-handler.ts';
import { addHealthRoutes } from './health-routes.ts';
import { acceptJson } from './json-body.ts';
import { createObserver, type ObserveOptions } from './observe.ts';
import { contentCodingProblem, hostProblem, transferProblem } from './request-syntax.ts';

/** Longer than the gateway keeps an idle connection, so that the server never closes one that is about to be used. */
const KEEP_ALIVE_MS = 72_000;
/** Data that waits in memory for a slow client. The buffers of the system hold more. */
const UNSENT_BYTES = 8 * 1024;
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

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

export interface BaseServerOptions extends ObserveOptions {
  health: Health;
  uuid: () => string;
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

/** Creates the base server of every process, including the gateway: health, request ids, traces, JSON in strict UTF-8, errors. */
export const createBaseServer = (options: BaseServerOptions): FastifyInstance => {
  const limits = { ...CONNECTION_LIMITS, ...options.connections };
  const app = Fastify(fastifyOptions(options, limits)) as unknown as FastifyInstance;
  endConnectionsWithServer(app, limits.closeGraceMs, options.health);
  options.tls?.onRenewal((files) => (app.server as unknown as TlsServer).setSecureContext(files));
  ignoreAfterEnd(app);
  continueBeforeBody(app);
  // An `Expect` header other than 100-continue may be ignored; Node would return an empty 417.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  acceptJson(app, options.readBody);
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  addRequestContext(app, createObserver(options));
  app.setErrorHandler((error, request, reply) => {
    const { route } = request.routeOptions.config;
    return sendError(withAcceptedType(error, route), request, reply, route?.errorStyle);
  });
  options.addFirstHooks?.(app);
  refuseUnknown(app, options.sendUnknown);
  addHealthRoutes(app, options.health);
  return app;
};

/** Gives each request its span, headers and scope, and refuses one that cannot be understood. */
const addRequestContext = (app: FastifyInstance, observe: ReturnType<typeof createObserver>): void => {
  app.decorateRequest('caller', null as never);
  app.decorateRequest('scope', null);
  app.decorateRequest('span', null);
  app.decorateRequest('answeredBy', null);
  app.addHook('onRequest', (request, reply, done) => {
    observe(request, reply);
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
};

const fastifyOptions = (
  { log, tls, uuid }: BaseServerOptions,
  limits: ConnectionLimits,
): FastifyServerOptions => ({
  loggerInstance: log,
  logController: new LogController({ disableRequestLogging: true }),
  // The request id is in every line (log.ts); a logger for each request would cost as much as the rest of Fastify.
  childLoggerFactory: (logger) => logger,
  keepAliveTimeout: KEEP_ALIVE_MS,
  requestTimeout: limits.requestMs,
  connectionTimeout: limits.stalledMs,
  ...nodeOptions(limits, tls),
  forceCloseConnections: 'idle',
  // A request over an open connection is served as usual while the server closes.
  return503OnClosing: false,
  requestIdHeader: false,
  genReqId: (request) => {
    const requestId = request.headers['x-request-id'];
    return typeof requestId === 'string' && REQUEST_ID.test(requestId) ? requestId : uuid();
  },
  // The limit is the length of a request line, so an invalid id of any length returns 404.
  routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
  clientErrorHandler: answerUnreadable,
  // Handles a path that cannot be decoded, for which no hook runs.
  frameworkErrors: (error, request, reply) => {
    addCommonHeaders(request, reply as FastifyReply);
    sendError(error, request, reply as FastifyReply);
  },
});

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

export const ROUTED_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

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
