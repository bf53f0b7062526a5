/** The HTTP door of a process: routes from data, health, metrics, errors, the public document of its own routes. */
import swagger from '@fastify/swagger';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ANY_TOKEN, CALLER_HEADER, type Caller, type CallerSigner, can, FIRST_PARTY } from '../caller.ts';
import { AppError, forbidden, message, methodNotAllowed, notFound, unauthenticated } from '../error.ts';
import type { Health } from '../health.ts';
import { negotiateLocale } from '../i18n/negotiate.ts';
import { translator } from '../i18n/translate.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { childTraceparent, runWithTrace } from '../trace.ts';
import {
  answerUnreadable,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  endConnectionsWithServer,
} from './connections.ts';
import type { Route, RouteReply } from './define-route.ts';
import { sendError } from './error-handler.ts';
import { idempotencyKey } from './idempotency.ts';
import { type RateLimiter, rateLimited, rateLimitHeaders } from './rate-limit.ts';
import { issuesToFields, parseInputs } from './validation.ts';

export const API_PREFIX = '/api/v1';
const BODY_LIMIT_BYTES = 1024 * 1024;
/** Longer than a client of ours keeps an idle connection, so that it is never the server who hangs up first. */
const KEEP_ALIVE_MS = 72_000;
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
/** The client's address as the gateway saw it; stripped there from whatever comes from outside. */
export const CLIENT_ADDRESS_HEADER = 'x-client-address';

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route;
  }
  interface FastifyRequest {
    caller: Caller;
  }
}

export interface BaseServerOptions {
  service: string;
  health: Health;
  metrics: Metrics;
  log: Logger;
  uuid: () => string;
  /** For tests of what takes minutes. */
  connections?: Partial<ConnectionLimits>;
}

export interface ServerOptions extends BaseServerOptions {
  routes: Route[];
  signer: CallerSigner;
  limiter: RateLimiter;
  /** Plugins that the routes need, e.g. multipart. */
  prepare?: (app: FastifyInstance) => Promise<void>;
}

/** Health, metrics, request ids, traces, JSON in strict UTF-8, errors: what every process has, the gateway included. */
export const createBaseServer = (options: BaseServerOptions): FastifyInstance => {
  const { log, metrics } = options;
  const limits = { ...CONNECTION_LIMITS, ...options.connections };
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: limits.requestMs,
    connectionTimeout: limits.stalledMs,
    // A request that names no host is refused below, in the form of all other refusals.
    http: {
      requireHostHeader: false,
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: limits.checkMs,
    },
    forceCloseConnections: 'idle',
    requestIdHeader: false,
    genReqId: (request) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : options.uuid();
    },
    // As long as a whole request line may be: what is no id is 404, whatever its length.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    clientErrorHandler: answerUnreadable,
    // A path that cannot be decoded; no hook runs for it.
    frameworkErrors: (error, request, reply) => {
      addCommonHeaders(request, reply as FastifyReply);
      sendError(error, request, reply as FastifyReply);
    },
  }) as unknown as FastifyInstance;
  endConnectionsWithServer(app, limits.closeGraceMs);
  // An expectation other than 100-continue may be ignored; the platform would refuse it with an empty answer.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.decorateRequest('caller', null as never);
  acceptJson(app);
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  app.addHook('onRequest', (request, reply, done) => {
    const traceparent = childTraceparent(request.headers.traceparent as string | undefined);
    request.headers.traceparent = traceparent;
    addCommonHeaders(request, reply);
    runWithTrace({ traceparent, requestId: request.id }, () => done(hostMissing(request)));
  });
  // The body arrives in the context of its socket; what follows must be in that of the request again.
  app.addHook('preValidation', (request, _reply, done) => {
    runWithTrace({ traceparent: String(request.headers.traceparent), requestId: request.id }, done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    const labels = { method: request.method, route, status: String(reply.statusCode) };
    metrics.httpDuration.observe(labels, reply.elapsedTime / 1_000);
    const quiet = route.startsWith('/health') || route === '/metrics';
    log[quiet ? 'debug' : 'info']({ ...labels, ms: Math.round(reply.elapsedTime) }, 'request');
    done();
  });
  app.setErrorHandler((error, request, reply) =>
    sendError(error, request, reply, request.routeOptions.config.route?.errorStyle),
  );
  refuseTheUnknown(app);
  addOperations(app, options);
  return app;
};

/** RFC 9112, 3.2. */
const hostMissing = ({ headers, raw }: FastifyRequest): AppError | undefined =>
  headers.host === undefined && raw.httpVersion !== '1.0'
    ? new AppError({ kind: 'bad_request', code: 'bad_request', message: message('error.bad_request') })
    : undefined;

const ROUTED_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/**
 * A path that nobody answers is 404; one that is answered, but to another method, is 405 and says to which. Before the
 * body is looked at, of which nothing is known here.
 */
const refuseTheUnknown = (app: FastifyInstance): void => {
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return;
    const { url } = request;
    const allowed = ROUTED_METHODS.filter((method) => app.findRoute({ method, url }) !== null);
    if (allowed.length === 0) return sendError(notFound(), request, reply);
    return sendError(methodNotAllowed(allowed), request, reply);
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

const acceptJson = (app: FastifyInstance): void => {
  const parse = app.getDefaultJsonParser('error', 'error');
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    let text: string;
    try {
      text = utf8.decode(body as Buffer);
    } catch {
      return done(
        new AppError({ kind: 'bad_request', code: 'bad_request', message: message('error.malformed_json') }),
      );
    }
    return parse(request, text, done);
  });
};

const addOperations = (app: FastifyInstance, { health, metrics }: BaseServerOptions): void => {
  const hidden = { schema: { hide: true } };
  app.get('/health/live', hidden, async () => ({ status: 'live' }));
  app.get('/health/ready', hidden, async (_request, reply) => {
    const readiness = await health.ready();
    return reply.code(readiness.status === 'ready' ? 200 : 503).send(readiness);
  });
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
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: options.service, version: '1' },
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    },
    transform: jsonSchemaTransform,
    transformObject: (document) => withJsonErrors(jsonSchemaTransformObject(document)),
  });
  await app.register(async (scope) => {
    await options.prepare?.(scope);
    for (const route of options.routes) addRoute(scope, route, options);
    keepNamesFromIds(scope, options.routes);
  });
  app.get('/internal/openapi.json', { schema: { hide: true } }, async () => app.swagger());
  return app;
};

const addRoute = (app: FastifyInstance, route: Route, options: ServerOptions): void => {
  app.route({
    method: route.method,
    url: `${API_PREFIX}${route.path}`,
    config: { route },
    schema: documentation(route) as Record<string, unknown>,
    onRequest: async (request, reply) => {
      request.caller = await identify(request, options.signer);
      if (route.access === 'user' && request.caller.kind !== 'user') throw unauthenticated();
      await takeLimit(route, request, reply, options.limiter);
      const { caller } = request;
      if (caller.kind === 'user' && !tokenKindsOf(route).includes(caller.tokenKind)) {
        throw forbidden(`not with a token of kind ${caller.tokenKind}`);
      }
      // Only a guest's route is open to one, and there a token must carry the permission that a guest does not need.
      const needed = caller.kind === 'guest' ? undefined : route.permissions;
      if (needed !== undefined && !needed.some((permission) => can(caller, permission))) {
        throw forbidden(`needs one of ${needed.join(', ')}`);
      }
      const missing = route.alsoNeeds?.find((permission) => !can(request.caller, permission));
      if (missing !== undefined) {
        throw request.caller.kind === 'guest' ? unauthenticated() : forbidden(`needs ${missing}`);
      }
    },
    handler: (request, reply) => handle(route, request, reply),
  });
};

const tokenKindsOf = ({ tokenKinds, access, permissions, alsoNeeds }: Route): typeof ANY_TOKEN => {
  const isScoped = access === 'guest' || permissions !== undefined || alsoNeeds !== undefined;
  return tokenKinds ?? (isScoped ? ANY_TOKEN : FIRST_PARTY);
};

const identify = async (request: FastifyRequest, signer: CallerSigner): Promise<Caller> => {
  const header = request.headers[CALLER_HEADER];
  const context = await signer.verify(typeof header === 'string' ? header : undefined);
  if (context === undefined) throw unauthenticated();
  return context.caller;
};

export const clientAddressOf = (request: FastifyRequest): string => {
  const header = request.headers[CLIENT_ADDRESS_HEADER];
  return typeof header === 'string' ? header : request.ip;
};

const takeLimit = async (
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  limiter: RateLimiter,
): Promise<void> => {
  if (route.limit === undefined) return;
  const { caller } = request;
  const key = caller.kind === 'user' ? `user:${caller.userId}` : `address:${clientAddressOf(request)}`;
  const state = await limiter.consume(route.limit, key);
  reply.headers(rateLimitHeaders(state));
  if (!state.allowed) throw rateLimited(state);
};

const handle = async (route: Route, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const locale = negotiateLocale(request.headers['accept-language']);
  reply.header('content-language', locale);
  const params = route.params?.safeParse(request.params);
  if (params?.success === false) throw notFound();
  const [query, body] = parseInputs([
    { schema: route.query, value: request.query, root: 'query' },
    { schema: route.rawBody === true ? undefined : route.body, value: request.body ?? {}, root: 'body' },
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
  return result === undefined ? reply : sendReply(route, result, reply);
};

const readIdempotencyKey = (request: FastifyRequest): string | undefined => {
  const given = request.headers['idempotency-key'];
  if (given === undefined) return undefined;
  const parsed = idempotencyKey.safeParse(given, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new AppError({
    kind: 'validation',
    code: 'validation_failed',
    message: message('error.validation'),
    fields: issuesToFields(parsed.error.issues, 'idempotency_key'),
  });
};

const sendReply = (route: Route, result: RouteReply, reply: FastifyReply): FastifyReply => {
  const schema = route.responses[result.status];
  if (schema === undefined)
    throw new Error(`${route.method} ${route.path} does not declare ${result.status}`);
  reply.code(result.status);
  if (result.headers !== undefined) reply.headers(result.headers);
  if (schema === null) return reply.send();
  // Only what the schema declares leaves the process.
  return reply.type('application/json; charset=utf-8').send(schema.parse(result.body));
};

const documentation = (route: Route): Record<string, unknown> => {
  if (route.hidden === true) return { hide: true };
  const answers = Object.entries(route.responses).map(([status, schema]) => [
    status,
    schema ?? z.null().meta({ description: 'No body' }),
  ]);
  return {
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    ...(route.params === undefined ? {} : { params: route.params }),
    ...(route.query === undefined ? {} : { querystring: route.query }),
    ...(route.body === undefined ? {} : { body: route.body }),
    ...(route.rawBodySchema === undefined
      ? {}
      : { body: route.rawBodySchema.fields, consumes: [route.rawBodySchema.mediaType] }),
    ...(route.produces === undefined ? {} : { produces: [route.produces] }),
    ...(route.idempotent === true ? { headers: idempotencyHeaders } : {}),
    security: route.access === 'user' ? [{ bearer: [] }] : [{}, { bearer: [] }],
    response: { ...refusals(route), ...Object.fromEntries(answers) },
  };
};

type Document = ReturnType<typeof jsonSchemaTransformObject>;

/** What a route produces is its answer; a refusal is JSON on every route. */
const withJsonErrors = (document: Document): Document => {
  for (const operations of Object.values(document.paths ?? {})) {
    for (const { responses } of Object.values(operations ?? {}) as { responses?: Answers }[]) {
      for (const [status, { content }] of Object.entries(responses ?? {})) {
        const [produced] = Object.values(content ?? {});
        if (Number(status) < 400 || content === undefined || produced === undefined) continue;
        for (const mediaType of Object.keys(content)) delete content[mediaType];
        content['application/json'] = produced;
      }
    }
  }
  return document;
};
type Answers = Record<string, { content?: Record<string, unknown> }>;

const errorBody = z.object({ message: z.string() }).meta({ id: 'Error' });
const codedErrorBody = z.object({ error: z.string(), code: z.string() }).meta({ id: 'CodedError' });
const validationBody = z
  .object({ message: z.string(), errors: z.record(z.string(), z.array(z.string())) })
  .meta({ id: 'ValidationError' });

const idempotencyHeaders = z.object({
  'idempotency-key': idempotencyKey.optional().meta({
    description:
      'The same key and body answer the same again for 24 hours; another body is 422, a running one 409.',
  }),
});

/** What may be answered instead of the handler's answer: by the server itself, or by the use case as the route says. */
const refusals = (route: Route): Record<number, z.ZodType> => {
  const takesBody = route.body !== undefined || route.rawBody === true;
  const statuses = new Set([401, 500, 503, ...(route.mayRefuse ?? [])]);
  if (takesBody) for (const status of [400, 413, 415]) statuses.add(status);
  if (takesBody || route.query !== undefined) statuses.add(422);
  if (route.permissions !== undefined || tokenKindsOf(route) !== ANY_TOKEN) statuses.add(403);
  if (route.params !== undefined)
    for (const status of route.access === 'user' ? [403, 404] : [404]) statuses.add(status);
  if (route.limit !== undefined) statuses.add(429);
  if (route.idempotent === true) for (const status of [409, 422]) statuses.add(status);
  return Object.fromEntries([...statuses].map((status) => [status, refusalBody(route, status)]));
};

const refusalBody = (route: Route, status: number): z.ZodType => {
  if (status === 422) return validationBody;
  return route.errorStyle === 'error_code' && [400, 404, 500].includes(status) ? codedErrorBody : errorBody;
};

/** `/payments/deposit` is no payment: another method there is 405, and not the 404 of `/payments/:id`. */
const keepNamesFromIds = (app: FastifyInstance, routes: Route[]): void => {
  const named = routes.filter(({ path }) => !path.includes(':'));
  for (const [path, same] of Map.groupBy(named, (route) => route.path)) {
    const allowed = ROUTED_METHODS.filter((method) => same.some((route) => route.method === method));
    const answered: string[] = allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed;
    app.route({
      method: [...ROUTED_METHODS, 'HEAD', 'OPTIONS'].filter((method) => !answered.includes(method)),
      url: `${API_PREFIX}${path}`,
      schema: { hide: true },
      exposeHeadRoute: false,
      onRequest: async () => {
        throw methodNotAllowed(allowed);
      },
      handler: async () => undefined,
    });
  }
};
