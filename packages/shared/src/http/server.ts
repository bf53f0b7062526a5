/** The HTTP server of a service: its routes, its certificate, its deadlines, and the OpenAPI document of its routes. */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { methodNotAllowed, unauthenticated } from '../kernel/error.ts';
import { isCertificateOf } from '../process-identity/process-tls.ts';
import { type Admission, admission, explainRefusal } from './admission.ts';
import { type BaseServerOptions, createBaseServer, ROUTED_METHODS } from './base-server.ts';
import { bodyLimitOf, type Route, urlOf } from './define-route.ts';
import { API_PREFIX, CHECK_PREFIX, REQUEST_TIMEOUT_HEADER } from './gateway-protocol.ts';
import { handle } from './handle.ts';
import { addMetricsRoute, hidden } from './health-routes.ts';
import { completeDocument, openApiSchema } from './openapi.ts';

const REQUEST_TIMEOUT = /^[1-9]\d{0,6}$/;

export interface ServerOptions extends BaseServerOptions, Admission {
  service: string;
  routes: Route[];
  /** Registers plugins that the routes need, e.g. multipart. */
  prepare?: (app: FastifyInstance) => Promise<void>;
}

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
