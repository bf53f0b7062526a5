/** The dependencies of the gateway's routes: clients of the services, and platform services. */
import { DEMO_ACCOUNTS } from '@fitness/demo/people.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import { createGrpcClient, type GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type AdvancingClock, type Random, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createHealth, type Health } from '@fitness/shared/kernel/health.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { createMetrics, type Metrics } from '@fitness/shared/kernel/metrics.ts';
import type { CallerSigner } from '@fitness/shared/process-identity/caller-context.ts';
import { openCallerSigner } from '@fitness/shared/process-identity/open-caller-signer.ts';
import { openProcessTls, type ProcessTls } from '@fitness/shared/process-identity/process-tls.ts';
import type { Cleanup } from '@fitness/shared/runtime/lifecycle.ts';
import { assertPrimary, connectRedis } from '@fitness/shared/runtime/redis.ts';
import type { Overrides } from '@fitness/shared/runtime/runtime-options.ts';
import { openClock } from '@fitness/shared/runtime/sandbox-clock.ts';
import { Agent, type Dispatcher } from 'undici';
import { readOpenapi } from './api/openapi.ts';
import { type GatewayConfig, serviceReplicas } from './config.ts';
import { type AddressLimit, createAddressLimit } from './request/address-limit.ts';
import { BODY_LIMIT_BYTES, createReadBody } from './request/body.ts';
import { createConnect, createDownloadConnect } from './request/connect.ts';
import { createCredentialCache } from './request/credential-cache.ts';
import { createCredentialEpochs } from './request/credential-epochs.ts';
import { createAuthenticate, createIntrospect } from './request/introspect.ts';
import { createOpenRequests, shareOfTotal } from './request/open-requests.ts';
import { createReplicas } from './request/replicas.ts';

const READ_TIMEOUT_MS = 60_000;
/** Interval at which a page of `/ops` checks for changes. */
const LIVE_POLL_MS = 5_000;
const CONNECT_TIMEOUT_MS = 3_000;
/**
 * Lifetime of an idle connection to a service; less than `DRAIN_MS` in Kubernetes. When a service stops, the gateway has closed its
 * idle connections before the service does, and no request is sent on a closing connection.
 */
const KEEP_ALIVE_MS = 4_000;
/** Limit for the connections of `/mcp` tools: one request may call many tools. */
const TOOL_CONNECTIONS_PER_SERVICE = 64;
/** Limit for all request bodies being received, uploads excluded. */
const ARRIVING_BYTES = 64 * 1024 * 1024;
/** The part of the upstream timeout that a service may use. The rest is for a commit in progress and the network. */
const SERVICE_SHARE = 0.8;
export const NAME = 'gateway';

/** Replacements for tests. */
export interface GatewayOverrides extends Overrides {
  readTimeoutMs?: number;
  livePollMs?: number;
  replicaRefreshMs?: number | undefined;
}

export type Dependencies = Awaited<ReturnType<typeof createDependencies>>;

export const createDependencies = async (
  config: GatewayConfig,
  {
    clock: testClock,
    random = systemRandom,
    readTimeoutMs = READ_TIMEOUT_MS,
    livePollMs = LIVE_POLL_MS,
    replicaRefreshMs,
  }: GatewayOverrides,
  log: Logger,
  cleanup: Cleanup,
) => {
  const processClock = await openClock(config, log, cleanup);
  const clock = testClock ?? processClock;
  const health = createHealth();
  const metrics = createMetrics(NAME, { defaults: config.NODE_ENV !== 'test' });
  const signer = openCallerSigner(NAME, config, log);
  const tls = openTls(config, metrics, log, cleanup);
  const parts = { signer, tls, metrics, log };
  const { urls, agents, identity } = connectServices(config, parts, replicaRefreshMs, cleanup);
  const readBody = createReadBody({
    bytes: BODY_LIMIT_BYTES,
    timeoutMs: config.BODY_TIMEOUT_MS,
    bodies: shareOfTotal(config.OPEN_REQUESTS_LIMIT),
    totalBytes: ARRIVING_BYTES,
  });
  const baseUrl = config.PUBLIC_BASE_URL;
  const own = { identity, health, metrics, log, random, processClock, cleanup };
  const callerOf = await createCallerOf(config, own);
  return {
    /** Public origin, without a slash at the end. */
    baseUrl,
    /** The app as `/account-deletion` shows it. `graceDays` are between the confirmation of a deletion and the erasure. */
    app: { name: config.APP_NAME, developer: config.APP_DEVELOPER, graceDays: config.DELETION_GRACE_DAYS },
    /** The page of the emulated providers. Undefined without the demo data. */
    sandboxUrl: config.SEED_DEMO ? config.SANDBOX_URL : undefined,
    urls,
    agents,
    openRequests: createOpenRequests(config, readBody),
    /** Time limit for a pause in an upload. */
    uploadIdleMs: config.UPLOAD_IDLE_TIMEOUT_MS,
    /** Time limit for a client to read a response, downloads excluded. */
    readTimeoutMs,
    livePollMs,
    identity,
    /** The user of a token. Throws 401 for an invalid token, and 503 if identity does not respond. */
    callerOf,
    authenticate: createAuthenticate(callerOf),
    signer,
    tls,
    /** Time limit that a service receives for a request. It is less than the upstream timeout, so the service can still respond. */
    serviceTimeoutMs: Math.ceil(config.UPSTREAM_TIMEOUT_MS * SERVICE_SHARE),
    /** Number of trusted proxies in front of the gateway. */
    trustedProxies: config.TRUST_PROXY,
    corsOrigins: config.CORS_ORIGINS ?? (config.SEED_DEMO ? ('*' as const) : []),
    /** A `mailto:` or `https:` URL. Undefined if it is not configured. */
    securityContact: config.SECURITY_CONTACT,
    addressLimit: await connectAddressLimit(config, processClock, log, cleanup),
    openapi: readOpenapi(baseUrl),
    /** Empty without the demo data. */
    demoAccounts: config.SEED_DEMO ? DEMO_ACCOUNTS : [],
    health,
    metrics,
    log,
    clock,
    random,
  };
};

/** Connections are opened at their first use. */
const connectServices = (
  config: GatewayConfig,
  parts: { signer: CallerSigner; tls: ProcessTls | undefined; metrics: Metrics; log: Logger },
  refreshMs: number | undefined,
  cleanup: Cleanup,
) => {
  const { signer, tls, metrics, log } = parts;
  const connect = createConnect({ tls, timeoutMs: CONNECT_TIMEOUT_MS });
  const probe = new Agent({ connect, headersTimeout: config.UPSTREAM_TIMEOUT_MS });
  cleanup.defer('health calls', () => probe.destroy());
  const replicas = createReplicas({ urls: serviceReplicas(config), probe, log, refreshMs });
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
    /** The origin of each service. The agents resolve it to the addresses of the replicas. */
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

/**
 * Connections to the services, separate for each kind of traffic, so that no request waits for a slow client's connection.
 * The number of connections is limited by the limits on open requests.
 */
const createAgents = (
  config: GatewayConfig,
  balance: (agent: Agent) => Dispatcher,
  tls: ProcessTls | undefined,
  cleanup: Cleanup,
) => {
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
    /** The gateway's own requests: health, and descriptions of routes. */
    internal: create('internal'),
  };
};

/** The longest delay of a request by a Redis that does not respond. */
const EPOCH_TIMEOUT_MS = 200;
/** A silent connection is replaced after this time. In a network that drops packets it would stay open otherwise. */
const EPOCH_SOCKET_TIMEOUT_MS = 2_000;

const createCallerOf = async (
  config: GatewayConfig,
  parts: {
    identity: GrpcClient<IdentityDefinition>;
    health: Health;
    metrics: Metrics;
    log: Logger;
    random: Random;
    processClock: AdvancingClock;
    cleanup: Cleanup;
  },
): Promise<(token: string) => Promise<UserCaller>> => {
  const redis = await connectRedis({
    url: config.REDIS_URL,
    log: parts.log,
    name: `${NAME}-credentials`,
    commandTimeoutMs: EPOCH_TIMEOUT_MS,
    socketTimeoutMs: EPOCH_SOCKET_TIMEOUT_MS,
  });
  parts.cleanup.defer('redis for credentials', () => redis.disconnect());
  parts.health.add('redis', () => assertPrimary(redis), { required: false });
  parts.health.addMetrics(parts.metrics);
  return createCredentialCache({
    introspect: createIntrospect(parts.identity),
    epochs: createCredentialEpochs({ redis, namespace: config.EVENTS_NAMESPACE, random: parts.random }),
    counter: parts.metrics.counter({
      name: 'credential_cache_total',
      help: 'Tokens by outcome: hit (identity was not called), miss, unavailable (no epoch in Redis), mismatch (identity uses another Redis or namespace)',
      labels: { outcome: ['hit', 'miss', 'unavailable', 'mismatch'] },
    }),
    log: parts.log,
    // A record expires with its token, which the clock of the process determines.
    monotonicMs: () => performance.now() + parts.processClock.advancedWithin(Number.POSITIVE_INFINITY),
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
