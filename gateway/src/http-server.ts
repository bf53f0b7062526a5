/** The HTTP servers of the gateway: one for clients, one for operators. */
import type { AddressInfo } from 'node:net';
import { addOps } from '@fitness/ops/routes.ts';
import { type BaseServerOptions, createBaseServer } from '@fitness/shared/http/base-server.ts';
import { addEtag, PUBLIC, VARY } from '@fitness/shared/http/caching.ts';
import { codingOf, etagIn } from '@fitness/shared/http/compression.ts';
import { endsUnread } from '@fitness/shared/http/connections.ts';
import { addMetricsRoute } from '@fitness/shared/http/health-routes.ts';
import { methodNotAllowed } from '@fitness/shared/kernel/error.ts';
import { addPageAssets } from '@fitness/shared/pages/assets.ts';
import type { FastifyInstance } from 'fastify';
import type { Dependencies } from './dependencies.ts';
import { askServices } from './health/services-health.ts';
import { addMcp } from './mcp/routes.ts';
import { addAccountDeletion } from './pages/account-deletion/routes.ts';
import { addDocs, OPENAPI_PATH } from './pages/docs/routes.ts';
import { sendMissingPage } from './pages/missing-page.ts';
import { pageDependencies } from './pages/page-dependencies.ts';
import { addSecurityTxt } from './pages/security-txt.ts';
import { addStartPage } from './pages/start-page.ts';
import { JSON_LIMIT_BYTES } from './request/body.ts';
import { allowOrigins } from './request/cors.ts';
import { CHALLENGE } from './request/forward-headers.ts';
import { addOauthMetadata } from './request/oauth-metadata.ts';
import { limitReading, shareOf } from './request/open-requests.ts';
import { addProxy } from './request/proxy.ts';
import { SERVICES } from './request/routes.ts';

/** The server for clients, not yet listening. */
export const createHttpServer = async (
  dependencies: Dependencies,
  connections: { closeGraceMs: number },
): Promise<FastifyInstance> => {
  const { agents, baseUrl, clock, corsOrigins, demoAccounts, livePollMs, openRequests, random, urls } =
    dependencies;
  const app = createBaseServer({
    ...baseOptions(dependencies),
    connections,
    logsRequests: true,
    sendUnknown: sendMissingPage,
    readBody: (source) => openRequests.readBody(source, JSON_LIMIT_BYTES),
    addFirstHooks: (server) => {
      requireTls(server, baseUrl);
      allowOrigins(server, corsOrigins);
    },
  });
  limitOpenRequests(app, dependencies);
  addChallenge(app);
  addOwnRoutes(app, dependencies);
  addDocs(app, { demoAccounts, nonce: () => random.bytes(16).toString('base64') });
  // The assets of the gateway's pages and of the authorization server's.
  addPageAssets(app);
  addOauthMetadata(app, baseUrl);
  addSecurityTxt(app, dependencies);
  addStartPage(app, dependencies);
  const pages = pageDependencies(dependencies);
  await addAccountDeletion(app, pages, dependencies);
  const readHealth = () => askServices(agents.internal, urls);
  await addOps(app, pages, { clock, livePollMs, services: SERVICES, readHealth });
  await addMcp(app, dependencies);
  await addProxy(app, dependencies);
  return app;
};

/** The server for the operations port, not yet listening. */
export const createOperationsServer = (dependencies: Dependencies): FastifyInstance => {
  const app = createBaseServer(baseOptions(dependencies));
  addMetricsRoute(app, dependencies.metrics);
  app.get('/health/services', async () => askServices(dependencies.agents.internal, dependencies.urls));
  return app;
};

const baseOptions = ({ health, metrics, log, openapi, random }: Dependencies): BaseServerOptions => ({
  health,
  knownPaths: openapi.paths,
  metrics,
  log,
  uuid: () => random.uuid(),
});

/** The origin at which this process reaches its own server, even if it listens on every address. */
export const ownUrlOf = (app: FastifyInstance): string => {
  const { address, port } = app.server.address() as AddressInfo;
  const host = ['0.0.0.0', '::'].includes(address) ? '127.0.0.1' : address;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
};

const HSTS_MAX_AGE_S = 31_536_000;

/** Tells browsers to use only TLS (RFC 6797). A proxy terminates TLS, so the public origin decides. */
const requireTls = (app: FastifyInstance, baseUrl: string): void => {
  if (!baseUrl.startsWith('https:')) return;
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('strict-transport-security', `max-age=${HSTS_MAX_AGE_S}`);
    done();
  });
};

/** Probes are always answered: an overloaded gateway must not be restarted. */
const limitOpenRequests = (
  app: FastifyInstance,
  { openRequests, readTimeoutMs }: Pick<Dependencies, 'openRequests' | 'readTimeoutMs'>,
): void => {
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url?.startsWith('/health/') !== true) {
      await openRequests.admit(request.raw, reply.raw);
    }
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (endsUnread(request.raw)) reply.header('connection', 'close');
    if (shareOf(request.raw) !== 'downloads') limitReading(reply.raw, readTimeoutMs);
    done();
  });
};

/** Adds the challenge to the gateway's own 401 responses. Forwarded responses bypass this hook. */
const addChallenge = (app: FastifyInstance): void => {
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (reply.statusCode === 401 && !reply.hasHeader('www-authenticate')) {
      reply.header('www-authenticate', CHALLENGE);
    }
    done();
  });
};

const addOwnRoutes = (app: FastifyInstance, { openapi }: Pick<Dependencies, 'openapi'>): void => {
  app.get(OPENAPI_PATH, async (request, reply) => {
    const { bytes, etag, send } = openapi;
    const coding = codingOf(request.headers['accept-encoding'] as string | undefined, bytes);
    reply.headers({ vary: VARY, 'content-language': 'en' });
    if (addEtag(PUBLIC, etagIn(coding, etag), request, reply)) return reply.code(304).send();
    return send(coding, reply.type('application/json; charset=utf-8'));
  });
  // Without this route the proxy would handle the other methods, because the path is below the API's prefix.
  app.route({
    method: ['POST', 'PUT', 'PATCH', 'DELETE'],
    url: OPENAPI_PATH,
    onRequest: async () => {
      throw methodNotAllowed(['GET']);
    },
    handler: async () => undefined,
  });
};
