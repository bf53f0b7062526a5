/** What the routes of the gateway are built from: clients of the services and platform services. */
import { DEMO_ACCOUNTS } from '@fitness/demo/people.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import { createGrpcClient, type GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type AdvancingClock, type Clock, type Random, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createHealth, type Health } from '@fitness/shared/kernel/health.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { createMetrics, type Metrics } from '@fitness/shared/kernel/metrics.ts';
import type { CallerSigner } from '@fitness/shared/process-identity/caller-context.ts';
import { openCallerSigner } from '@fitness/shared/process-identity/open-caller-signer.ts';
import { openProcessTls, type ProcessTls } from '@fitness/shared/process-identity/process-tls.ts';
import type { Cleanup } from '@fitness/shared/runtime/lifecycle.ts';
import { assertPrimary, connectRedis } from '@fitness/shared/runtime/redis.ts';
import { openClock } from '@fitness/shared/runtime/sandbox-clock.ts';
import type { Overrides } from '@fitness/shared/runtime/service-runtime.ts';
import { Agent, type Dispatcher } from 'undici';
import { createReadOpenapi, type ReadOpenapi } from './api/openapi.ts';
import { type GatewayConfig, serviceReplicas } from './config.ts';
import type { DemoAccount } from './pages/docs/reference.ts';
import { type AddressLimit, createAddressLimit } from './request/address-limit.ts';
import { BODY_LIMIT_BYTES, createReadBody } from './request/body.ts';
import { createConnect, createDownloadConnect } from './request/connect.ts';
import type { CorsOrigins } from './request/cors.ts';
import { createCredentialCache } from './request/credential-cache.ts';
import { createCredentialEpochs } from './request/credential-epochs.ts';
import { type Authenticate, createAuthenticate, createIntrospect } from './request/introspect.ts';
import { createOpenRequests, type OpenRequests, shareOfTotal } from './request/open-requests.ts';
import { createReplicas } from './request/replicas.ts';
import type { Service } from './request/routes.ts';

const READ_TIMEOUT_MS = 60_000;
/** How often a page of `/ops` looks for what has changed. */
const LIVE_POLL_MS = 5_000;
const CONNECT_TIMEOUT_MS = 3_000;
/**
 * Lifetime of an idle connection to a service; less than `DRAIN_MS` in Kubernetes: while a service stops, the gateway has closed every
 * connection by the time that the service does, so that no request meets its end.
 */
const KEEP_ALIVE_MS = 4_000;
/** Of the tools of `/mcp`: one request may call many. */
const TOOL_CONNECTIONS_PER_SERVICE = 64;
/** Of all bodies that are arriving, except files. */
const ARRIVING_BYTES = 64 * 1024 * 1024;
/** Of the time that the gateway waits for a service; the rest is for the end of a commit and the way back. */
const SERVICE_SHARE = 0.8;
export const NAME = 'gateway';

/** Replacements for tests. */
export interface GatewayOverrides extends Overrides {
  readTimeoutMs?: number;
  livePollMs?: number;
}

/**
 * Connections to the services. Each kind has its own, without a limit of their number, because the limits on open
 * requests are the limits on connections: a request never waits for the connection of a slow client.
 */
interface Agents {
  ordinary: Dispatcher;
  uploads: Dispatcher;
  downloads: Dispatcher;
  tools: Dispatcher;
  /** What the gateway itself asks: health, descriptions of routes. */
  internal: Dispatcher;
}

/** What `/account-deletion` tells of the app. */
export interface App {
  name: string;
  developer: string;
  /** From the confirmation of a deletion to the erasure. */
  graceDays: number;
}

export interface Dependencies {
  /** Public origin, without a slash at the end. */
  baseUrl: string;
  app: App;
  /** The page of the emulated providers. Undefined without the demo data. */
  sandboxUrl: string | undefined;
  /** The origin of each service at the agents, which know the addresses of its replicas. */
  urls: Record<Service, string>;
  agents: Agents;
  openRequests: OpenRequests;
  /** Time without a byte after which an upload is refused. */
  uploadIdleMs: number;
  /** Time for a client to read an answer that is no file. */
  readTimeoutMs: number;
  /** How often a page of `/ops` looks for what has changed. */
  livePollMs: number;
  identity: GrpcClient<IdentityDefinition>;
  /** Throws 401 for a token that is not valid, and 503 when identity does not answer. */
  callerOf: (token: string) => Promise<UserCaller>;
  authenticate: Authenticate;
  signer: CallerSigner;
  /** Undefined where mutual TLS is not configured. */
  tls: ProcessTls | undefined;
  /** How long a service may take for an answer: less than the gateway waits, so that it answers before that. */
  serviceTimeoutMs: number;
  /** Number of trusted proxies in front of the gateway. */
  trustedProxies: number;
  corsOrigins: CorsOrigins;
  /** A `mailto:` or `https:` URL. Undefined when it is not configured. */
  securityContact: string | undefined;
  /** Undefined when it is not configured. */
  addressLimit: AddressLimit | undefined;
  readOpenapi: ReadOpenapi;
  /** None without the demo data. */
  demoAccounts: readonly DemoAccount[];
  health: Health;
  metrics: Metrics;
  log: Logger;
  clock: Clock;
  random: Random;
}

export const createDependencies = async (
  config: GatewayConfig,
  {
    clock: testClock,
    random = systemRandom,
    readTimeoutMs = READ_TIMEOUT_MS,
    livePollMs = LIVE_POLL_MS,
  }: GatewayOverrides,
  log: Logger,
  cleanup: Cleanup,
): Promise<Dependencies> => {
  const processClock = await openClock(config, log, cleanup);
  const clock = testClock ?? processClock;
  const health = createHealth();
  const metrics = createMetrics(NAME, { defaults: config.NODE_ENV !== 'test' });
  const signer = openCallerSigner(NAME, config, log);
  const tls = openTls(config, metrics, log, cleanup);
  const { urls, agents, identity } = connectServices(config, { signer, tls, metrics, cleanup });
  const readBody = createReadBody({
    bytes: BODY_LIMIT_BYTES,
    timeoutMs: config.BODY_TIMEOUT_MS,
    bodies: shareOfTotal(config.OPEN_REQUESTS_LIMIT),
    totalBytes: ARRIVING_BYTES,
  });
  const callerOf = await createCallerOf(config, {
    identity,
    health,
    metrics,
    log,
    random,
    processClock,
    cleanup,
  });
  return {
    baseUrl: config.PUBLIC_BASE_URL,
    app: appOf(config),
    sandboxUrl: config.SEED_DEMO ? config.SANDBOX_URL : undefined,
    urls,
    agents,
    openRequests: createOpenRequests(config, readBody),
    uploadIdleMs: config.UPLOAD_IDLE_TIMEOUT_MS,
    readTimeoutMs,
    livePollMs,
    identity,
    callerOf,
    authenticate: createAuthenticate(callerOf),
    signer,
    tls,
    serviceTimeoutMs: Math.ceil(config.UPSTREAM_TIMEOUT_MS * SERVICE_SHARE),
    trustedProxies: config.TRUST_PROXY,
    corsOrigins: config.CORS_ORIGINS ?? (config.SEED_DEMO ? '*' : []),
    securityContact: config.SECURITY_CONTACT,
    addressLimit: await connectAddressLimit(config, processClock, log, cleanup),
    readOpenapi: createReadOpenapi({
      urls,
      agent: agents.internal,
      baseUrl: config.PUBLIC_BASE_URL,
      clock,
      log,
    }),
    demoAccounts: config.SEED_DEMO ? DEMO_ACCOUNTS : [],
    health,
    metrics,
    log,
    clock,
    random,
  };
};

/** Connections are opened when they are used. */
const connectServices = (
  config: GatewayConfig,
  { signer, tls, metrics, cleanup }: Pick<Dependencies, 'signer' | 'tls' | 'metrics'> & { cleanup: Cleanup },
): Pick<Dependencies, 'urls' | 'agents' | 'identity'> => {
  const replicas = createReplicas(serviceReplicas(config));
  cleanup.defer('addresses of the services', () => replicas.close());
  const identity = createGrpcClient({
    definition: grpcDefinitions.identity(),
    address: config.IDENTITY_GRPC_ADDRESS,
    target: 'identity',
    signer,
    tls,
    metrics,
  });
  cleanup.defer('grpc client identity', () => identity.close());
  return {
    urls: replicas.origins,
    agents: createAgents(config, replicas.balance, tls, cleanup),
    identity,
  };
};

const openTls = (
  config: GatewayConfig,
  metrics: Metrics,
  log: Logger,
  cleanup: Cleanup,
): ProcessTls | undefined => {
  const tls = openProcessTls({
    process: NAME,
    directory: config.TLS_DIRECTORY,
    metrics,
    onProblem: (problem) => log.error({ err: problem }, 'the files of the certificate cannot be used'),
  });
  cleanup.defer('certificate', () => tls?.close());
  return tls;
};

const appOf = (config: GatewayConfig): Dependencies['app'] => ({
  name: config.APP_NAME,
  developer: config.APP_DEVELOPER,
  graceDays: config.DELETION_GRACE_DAYS,
});

const createAgents = (
  config: GatewayConfig,
  balance: (agent: Agent) => Dispatcher,
  tls: ProcessTls | undefined,
  cleanup: Cleanup,
): Agents => {
  const connection = { tls, timeoutMs: CONNECT_TIMEOUT_MS };
  const connect = createConnect(connection);
  const create = (name: string, options: Agent.Options = {}): Dispatcher => {
    const agent = new Agent({
      connect,
      headersTimeout: config.UPSTREAM_TIMEOUT_MS,
      bodyTimeout: config.UPSTREAM_TIMEOUT_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      ...options,
    });
    cleanup.defer(`connections to the services (${name})`, () => agent.destroy());
    return balance(agent);
  };
  return {
    ordinary: create('ordinary'),
    uploads: create('uploads'),
    downloads: create('downloads', { connect: createDownloadConnect(connection) }),
    tools: create('tools', { connections: TOOL_CONNECTIONS_PER_SERVICE }),
    internal: create('internal'),
  };
};

/** A Redis that does not answer delays a request by this at most. */
const EPOCH_TIMEOUT_MS = 200;
/** After that the connection is replaced: behind a network that drops packets it would stay open. */
const EPOCH_SOCKET_TIMEOUT_MS = 2_000;

const createCallerOf = async (
  config: GatewayConfig,
  {
    identity,
    health,
    metrics,
    log,
    random,
    processClock,
    cleanup,
  }: Pick<Dependencies, 'identity' | 'health' | 'metrics' | 'log' | 'random'> & {
    processClock: AdvancingClock;
    cleanup: Cleanup;
  },
): Promise<(token: string) => Promise<UserCaller>> => {
  const redis = await connectRedis({
    url: config.REDIS_URL,
    log,
    name: `${NAME}-credentials`,
    commandTimeoutMs: EPOCH_TIMEOUT_MS,
    socketTimeoutMs: EPOCH_SOCKET_TIMEOUT_MS,
  });
  cleanup.defer('redis for credentials', () => redis.disconnect());
  health.add('redis', () => assertPrimary(redis), { required: false });
  return createCredentialCache({
    introspect: createIntrospect(identity),
    epochs: createCredentialEpochs({ redis, namespace: config.EVENTS_NAMESPACE, random }),
    counter: metrics.counter({
      name: 'credential_cache_total',
      help: 'Tokens by outcome: hit (identity was not asked), miss, unavailable (no epoch in Redis), mismatch (identity uses another Redis or namespace)',
      labels: { outcome: ['hit', 'miss', 'unavailable', 'mismatch'] },
    }),
    log,
    // A record ends with its token, by the clock of the process.
    monotonicMs: () => performance.now() + processClock.advancedWithin(Number.POSITIVE_INFINITY),
  });
};

const connectAddressLimit = async (
  config: GatewayConfig,
  clock: AdvancingClock,
  log: Logger,
  cleanup: Cleanup,
): Promise<AddressLimit | undefined> => {
  if (config.ADDRESS_LIMIT_PER_MINUTE === undefined) return undefined;
  const redis = await connectRedis({ url: config.REDIS_URL, log, name: NAME });
  cleanup.defer('redis', () => redis.disconnect());
  return createAddressLimit({
    redis,
    keyPrefix: `${config.EVENTS_NAMESPACE}:${NAME}`,
    perMinute: config.ADDRESS_LIMIT_PER_MINUTE,
    clock,
  });
};
