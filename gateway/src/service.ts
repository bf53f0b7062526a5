/** The composition root: opens what the gateway is made of, and hands each part what it needs. */
import type { AddressInfo } from 'node:net';
import { createCallerSigner } from '@fitness/shared/caller.ts';
import { systemClock, systemRandom } from '@fitness/shared/clock.ts';
import { methodNotAllowed } from '@fitness/shared/error.ts';
import { createGrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { startGrpcServer } from '@fitness/shared/grpc/server.ts';
import { createHealth, type Health } from '@fitness/shared/health.ts';
import { createBaseServer } from '@fitness/shared/http/server.ts';
import { type Cleanup, createCleanup } from '@fitness/shared/lifecycle.ts';
import { createLog, type Logger } from '@fitness/shared/log.ts';
import { createMetrics } from '@fitness/shared/metrics.ts';
import { connectRedis } from '@fitness/shared/redis.ts';
import type { Overrides, RunningService } from '@fitness/shared/service.ts';
import type { FastifyInstance } from 'fastify';
import { Agent } from 'undici';
import { type AddressLimit, createAddressLimit } from './address-limit.ts';
import { type GatewayConfig, serviceUrls } from './config.ts';
import { startDemoSeed } from './demo/seed.ts';
import { addDocs, OPENAPI_PATH } from './docs.ts';
import { createAuthenticate } from './introspect.ts';
import { addMcp } from './mcp/door.ts';
import { addOauthMetadata } from './oauth-metadata.ts';
import { createReadOpenapi, type ReadOpenapi } from './openapi.ts';
import { addProxy } from './proxy.ts';
import { SERVICES, type Service } from './routes.ts';
import { askService, askServices } from './services-health.ts';

const CONNECT_TIMEOUT_MS = 3_000;
const CONNECTIONS_PER_SERVICE = 256;
const NAME = 'gateway';

export const startGateway = async (
  config: GatewayConfig,
  overrides: Overrides = {},
): Promise<RunningService> => {
  const log = overrides.log ?? createLog({ service: NAME, level: config.LOG_LEVEL });
  const cleanup = createCleanup(log);
  try {
    return await open(config, overrides, log, cleanup);
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};

const open = async (
  config: GatewayConfig,
  { clock = systemClock, random = systemRandom }: Overrides,
  log: Logger,
  cleanup: Cleanup,
): Promise<RunningService> => {
  const metrics = createMetrics(NAME, { defaults: config.NODE_ENV !== 'test' });
  const signer = createCallerSigner(config.INTERNAL_AUTH_SECRET, systemClock);
  const urls = serviceUrls(config);
  const health = createHealth();

  const identity = createGrpcClient({
    definition: grpcDefinitions.identity(),
    address: config.IDENTITY_GRPC_ADDRESS,
    target: 'identity',
    from: NAME,
    signer,
    metrics,
  });
  cleanup.defer('grpc client identity', () => identity.close());
  const agent = new Agent({
    connections: CONNECTIONS_PER_SERVICE,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: config.UPSTREAM_TIMEOUT_MS,
    bodyTimeout: config.UPSTREAM_TIMEOUT_MS,
  });
  cleanup.defer('connections to the services', () => agent.destroy());

  const app = createBaseServer({ service: NAME, health, metrics, log, uuid: () => random.uuid() });
  nameTheScheme(app);
  addOwnRoutes(app, urls, createReadOpenapi({ urls, publicBaseUrl: config.PUBLIC_BASE_URL, clock, log }));
  await addDocs(app);
  const forwarding = {
    urls,
    agent,
    signer,
    authenticate: createAuthenticate(identity),
    trustedProxies: config.TRUST_PROXY,
    addressLimit: await openAddressLimit(config, log, cleanup),
  };
  addOauthMetadata(app, config.PUBLIC_BASE_URL);
  await addMcp(app, { ...forwarding, identity, baseUrl: config.PUBLIC_BASE_URL });
  await addProxy(app, forwarding);

  const grpc = await startGrpcServer({
    address: `${config.HOST}:${config.GRPC_PORT}`,
    services: [],
    signer,
    metrics,
    log,
  });
  cleanup.defer('grpc server', () => grpc.close());
  const url = await app.listen({ host: config.HOST, port: config.HTTP_PORT });
  cleanup.defer('http server', () => app.close());

  for (const service of SERVICES) health.add(service, () => assertReady(urls[service]));
  if (config.SEED_DEMO) addDemoData(config, urls, ownUrlOf(app), { health, log, cleanup });
  cleanup.defer('readiness', () => health.stopping());
  health.started();
  log.info({ url, grpc: grpc.address }, 'listening');
  return { url: ownUrlOf(app), grpcAddress: grpc.address, log, close: () => cleanup.close() };
};

const assertReady = async (url: string): Promise<void> => {
  const { status } = await askService(url);
  if (status !== 'ready') throw new Error(`is ${status}`);
};

/** RFC 9110: a 401 says how one is to present oneself, the services' own included. */
const nameTheScheme = (app: FastifyInstance): void => {
  app.addHook('onSend', async (_request, reply) => {
    if (reply.statusCode === 401 && !reply.hasHeader('www-authenticate')) {
      reply.header('www-authenticate', 'Bearer');
    }
  });
};

/** What the gateway answers itself, besides /docs, /mcp and the metadata of OAuth. */
const addOwnRoutes = (
  app: FastifyInstance,
  urls: Record<Service, string>,
  readOpenapi: ReadOpenapi,
): void => {
  app.get('/health/services', async () => askServices(urls));
  app.get(OPENAPI_PATH, async () => readOpenapi());
  // Below the prefix of what is forwarded, where any method would be.
  app.route({
    method: ['POST', 'PUT', 'PATCH', 'DELETE'],
    url: OPENAPI_PATH,
    onRequest: async () => {
      throw methodNotAllowed(['GET']);
    },
    handler: async () => undefined,
  });
};

const openAddressLimit = async (
  config: GatewayConfig,
  log: Logger,
  cleanup: Cleanup,
): Promise<AddressLimit | undefined> => {
  if (config.ADDRESS_LIMIT_PER_MINUTE === undefined) return undefined;
  const redis = await connectRedis({ url: config.REDIS_URL, log, name: NAME });
  cleanup.defer('redis', () => redis.disconnect());
  return createAddressLimit(redis, `${config.EVENTS_NAMESPACE}:${NAME}`, config.ADDRESS_LIMIT_PER_MINUTE);
};

/** Where this process reaches itself, also when it listens on every address. */
const ownUrlOf = (app: FastifyInstance): string => {
  const { address, port } = app.server.address() as AddressInfo;
  const host = ['0.0.0.0', '::'].includes(address) ? '127.0.0.1' : address;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
};

const addDemoData = (
  config: GatewayConfig,
  urls: Record<Service, string>,
  ownUrl: string,
  { health, log, cleanup }: { health: Health; log: Logger; cleanup: Cleanup },
): void => {
  const seed = startDemoSeed({
    apiUrl: ownUrl,
    sandboxUrl: config.SANDBOX_URL,
    administrator: {
      username: config.FIRST_ADMINISTRATOR_USERNAME,
      password: config.FIRST_ADMINISTRATOR_PASSWORD,
    },
    servicesReady: async () =>
      Object.values(await askServices(urls)).every(({ status }) => status === 'ready'),
    log,
  });
  health.add('demo_data', async () => {
    if (!seed.isDone()) throw new Error('not there yet');
  });
  cleanup.defer('demo data', () => seed.stop());
};
