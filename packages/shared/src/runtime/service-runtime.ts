/**
 * The common part of every service: connections, events, limits, transports. It is opened once and closed in reverse
 * order. `services/<name>/src/service.ts` adds stores, use cases and routes.
 */
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import type { FastifyInstance } from 'fastify';
import { type AuditLog, createAuditLog } from '../audit/log.ts';
import { type AuditName, addAuditMetrics } from '../audit/results.ts';
import { grpcAddress } from '../grpc/address.ts';
import { createGrpcClient, type GrpcClient } from '../grpc/client.ts';
import { type GrpcService, startGrpcServer } from '../grpc/server.ts';
import type { Route } from '../http/define-route.ts';
import { createServer } from '../http/server.ts';
import {
  type AdvancingClock,
  type Clock,
  type Random,
  SECOND_MS,
  systemClock,
  systemRandom,
} from '../kernel/clock.ts';
import type { TelemetryConfig } from '../kernel/config.ts';
import { createHealth, type Health } from '../kernel/health.ts';
import { createLog, type Logger } from '../kernel/log.ts';
import { createMetrics, type Metrics } from '../kernel/metrics.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import type { RateLimiter } from '../kernel/rate-limit.ts';
import { type Broker, connectBroker } from '../messaging/broker.ts';
import type { EventConsumer } from '../messaging/consumer.ts';
import { createOutbox, type Outbox } from '../messaging/outbox.ts';
import { startRelay } from '../messaging/relay.ts';
import { EVENT_OUTCOMES, startConsumers } from '../messaging/start-consumers.ts';
import type { Topology } from '../messaging/topology.ts';
import { type Connection, connectMongo, pingMongo } from '../mongo/connect.ts';
import { createIdempotency, createIdempotencyIndexes, type Idempotency } from '../mongo/idempotency.ts';
import { ensureIndexes } from '../mongo/indexes.ts';
import { createRateLimitIndexes } from '../mongo/rate-limit-windows.ts';
import { createSequences, type Sequences } from '../mongo/sequence.ts';
import { type Upgrade, upgradeData } from '../mongo/upgrades.ts';
import type { CallerSigner } from '../process-identity/caller-context.ts';
import { openCallerSigner } from '../process-identity/open-caller-signer.ts';
import { openProcessTls, type ProcessTls } from '../process-identity/process-tls.ts';
import { auditLogService } from './audit-service.ts';
import { createCrossServiceCheck } from './cross-service-idempotency.ts';
import { type Cleanup, createCleanup, drain, type ShutdownTimes, shutdownTimes } from './lifecycle.ts';
import type { Telemetry } from './open-telemetry.ts';
import { addOperationsMetrics, operationsRoutes } from './operations.ts';
import { createRateLimiter } from './rate-limiter.ts';
import { assertPrimary, connectRedis, type Redis } from './redis.ts';
import { openClock } from './sandbox-clock.ts';
import { startTelemetry } from './telemetry.ts';

/** The part of a service's configuration that the runtime reads (`serviceShape` of config.ts). */
export interface RuntimeConfig extends TelemetryConfig {
  NODE_ENV: 'development' | 'test' | 'production';
  LOG_LEVEL: string;
  HOST: string;
  HTTP_PORT: number;
  GRPC_PORT: number;
  PRIVATE_KEY_DIRECTORY: string;
  PUBLIC_KEYS_DIRECTORY: string;
  TLS_DIRECTORY?: string | undefined;
  MONGODB_URI: string;
  MONGODB_DATABASE: string;
  REDIS_URL: string;
  AMQP_URL: string;
  AMQP_TOPOLOGY: Topology;
  EVENTS_NAMESPACE: string;
  DRAIN_MS: number;
  SHUTDOWN_GRACE_MS: number;
  DEADLINE_FACTOR: number;
  SEED_DEMO: boolean;
  SANDBOX_URL?: string | undefined;
}

/** Replacements for tests. */
export interface Overrides {
  clock?: Clock;
  /** Default: `clock`, if it is present. */
  realTime?: Clock;
  random?: Random;
  log?: Logger;
  /** How long the closing of a transport waits for current requests, in milliseconds. */
  closeGraceMs?: number | undefined;
  /** How long a command waits for a database that cannot be reached, in milliseconds. */
  databaseWaitMs?: number | undefined;
  /** How often the files of the certificate are read, in milliseconds. */
  tlsCheckMs?: number | undefined;
  /** How often the log reports an index or an upgrade that takes long, in milliseconds. */
  indexNoticeMs?: number | undefined;
  /** Delays of the tries of an event after the first, in milliseconds. */
  retryDelaysMs?: readonly number[] | undefined;
  /** For the command `upgrade`: prepare the database, serve nothing. */
  upgradeOnly?: boolean | undefined;
}

export interface Job {
  name: string;
  intervalMs: number;
  /**
   * One round. It must be safe with several replicas and after a crash. A failure is logged; the next round follows.
   * `stopping` is aborted when the process ends; a long round should then end early.
   */
  run(stopping: AbortSignal): Promise<unknown>;
}

export interface Transports {
  routes: Route[];
  grpc: GrpcService[];
  consumers: EventConsumer[];
  jobs?: Job[];
  /** Audits with results in the metrics, besides the audit log. */
  audits?: readonly AuditName[];
  /** Registers Fastify plugins, e.g. multipart, before the routes. */
  prepareHttp?: (app: FastifyInstance) => Promise<void>;
  /** Run after the indexes are built and before anything reads stored data. */
  upgrades?: readonly Upgrade[];
  /** Runs after the upgrades and before the transports open, e.g. seeds. */
  beforeTransports?: () => Promise<void>;
}

export interface RunningService {
  /** `http://host:port` */
  url: string;
  /** `host:port` */
  grpcAddress: string;
  log: Logger;
  /** How long `close` may take, in milliseconds. */
  exitMs: number;
  /** Answers new requests for DRAIN_MS, then finishes current ones. */
  close(): Promise<void>;
}

export interface ServiceRuntime {
  service: ProcessName;
  log: Logger;
  clock: Clock;
  /** A clock that nothing advances, for leases and for dates from outside the product, such as authenticator apps and files. */
  realTime: Clock;
  random: Random;
  cleanup: Cleanup;
  health: Health;
  metrics: Metrics;
  signer: CallerSigner;
  /** Undefined where mutual TLS is not configured. */
  tls: ProcessTls | undefined;
  connection: Connection;
  redis: Redis;
  broker: Broker;
  outbox: Outbox;
  /**
   * The audit log of this service. The runtime seals it, serves `AuditLog.List`, and destroys keys with their
   * accounts.
   */
  audit: AuditLog;
  sequences: Sequences;
  limiter: RateLimiter;
  idempotency: Idempotency;
  /**
   * A gRPC client of another service; it is closed with the runtime. `name`: for metrics and logs, where a target has
   * several clients.
   */
  grpcClient<Definition>(
    target: ProcessName,
    definition: Definition,
    address: string,
    name?: string,
  ): GrpcClient<Definition>;
  /** Builds the indexes and runs the upgrades, then opens the transports. */
  serve(transports: Transports): Promise<RunningService>;
}

/** Connects to the servers of a service. When a connection fails, those that were opened are closed. */
export const createServiceRuntime = async (
  service: ProcessName,
  config: RuntimeConfig,
  overrides: Overrides = {},
): Promise<ServiceRuntime> => {
  const telemetry = await startTelemetry(service, config);
  const destination = telemetry?.logDestination;
  const log = overrides.log ?? createLog({ service, level: config.LOG_LEVEL, destination });
  const cleanup = createCleanup(log);
  cleanup.defer('telemetry', () => telemetry?.close());
  try {
    return await open(service, config, overrides, { log, cleanup, telemetry });
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};

const open = async (
  service: ProcessName,
  config: RuntimeConfig,
  overrides: Overrides,
  { log, cleanup, telemetry }: { log: Logger; cleanup: Cleanup; telemetry: Telemetry | undefined },
): Promise<ServiceRuntime> => {
  const processClock = await openClock(config, log, cleanup);
  const clock = overrides.clock ?? processClock;
  const realTime = overrides.realTime ?? overrides.clock ?? systemClock;
  const random = overrides.random ?? systemRandom;
  const health = createHealth();
  const times = shutdownTimes(config);
  const metrics = createMetrics(service, { defaults: config.NODE_ENV !== 'test' });
  const signer = openCallerSigner(service, config, log);
  const tls = openProcessTls({
    process: service,
    directory: config.TLS_DIRECTORY,
    metrics,
    onProblem: (problem) => log.error({ err: problem }, 'the files of the certificate cannot be used'),
    checkMs: overrides.tlsCheckMs,
  });
  cleanup.defer('certificate', () => tls?.close());
  const { redis, connection, broker } = await connectServers(service, config, overrides, log, cleanup);
  // The export closes while its values can still be read.
  if (telemetry !== undefined) cleanup.defer('export of metrics', telemetry.exportMetrics(metrics, log));
  health.add('mongodb', () => pingMongo(connection));
  health.add('redis', () => assertPrimary(redis), { required: false });
  health.add('rabbitmq', async () => assertConnected(broker), { required: false });
  const limiter = createRateLimiter({
    redis,
    connection,
    keyPrefix: `${config.EVENTS_NAMESPACE}:${service}`,
    clock: processClock,
  });
  const runtime = {
    service,
    log,
    clock,
    realTime,
    random,
    cleanup,
    health,
    metrics,
    signer,
    tls,
    connection,
    redis,
    broker,
    outbox: createOutbox({ connection, service, clock, random }),
    audit: createAuditLog({ connection, service, clock, random, log }),
    sequences: createSequences(connection),
    limiter,
    idempotency: createIdempotency({
      connection,
      crossServiceCheck: createCrossServiceCheck(redis, config.EVENTS_NAMESPACE, clock),
      clock,
      realTime,
      uuid: random.uuid,
    }),
    grpcClient: connectWith({ signer, tls, metrics, cleanup }),
  };
  const options = { ...overrides, times, onAdvance: processClock.onAdvance };
  return { ...runtime, serve: (transports) => serve(runtime, config, transports, options) };
};

const connectServers = async (
  service: ProcessName,
  config: RuntimeConfig,
  { databaseWaitMs }: Overrides,
  log: Logger,
  cleanup: Cleanup,
): Promise<Pick<ServiceRuntime, 'redis' | 'connection' | 'broker'>> => {
  const opening = [
    connectRedis({ url: config.REDIS_URL, log, name: service }).then((opened) => {
      cleanup.defer('redis', () => opened.disconnect());
      return opened;
    }),
    connectMongo({
      uri: config.MONGODB_URI,
      database: config.MONGODB_DATABASE,
      log,
      appName: service,
      serverSelectionTimeoutMs: databaseWaitMs,
    }).then((opened) => {
      cleanup.defer('mongodb', () => opened.close());
      return opened;
    }),
    connectBroker({
      url: config.AMQP_URL,
      namespace: config.EVENTS_NAMESPACE,
      log,
      name: service,
      events: EVENTS,
      producer: service,
      topology: config.AMQP_TOPOLOGY,
      // Reads need none, and events wait in the outbox.
      mayBeAbsent: true,
    }).then((opened) => {
      cleanup.defer('rabbitmq', () => opened.close());
      return opened;
    }),
  ] as const;
  // Wait for all three before one failure is thrown: a connection that opens later must be closed as well.
  await Promise.allSettled(opening);
  const [redis, connection, broker] = await Promise.all(opening);
  return { redis, connection, broker };
};

type ClientParts = Pick<ServiceRuntime, 'signer' | 'tls' | 'metrics' | 'cleanup'>;

const connectWith =
  ({ signer, tls, metrics, cleanup }: ClientParts): ServiceRuntime['grpcClient'] =>
  (target, definition, address, name = target) => {
    const client = createGrpcClient({ definition, address, target, name, signer, tls, metrics });
    cleanup.defer(`grpc client ${name}`, () => client.close());
    return client;
  };

const assertConnected = (broker: Broker): void => {
  if (!broker.isConnected()) throw new Error('not connected');
};

const prepareDatabase = async (
  { connection, clock, log }: Omit<ServiceRuntime, 'serve'>,
  { upgrades = [], beforeTransports }: Transports,
  everyMs: number | undefined,
): Promise<void> => {
  // Unique indexes must exist before the first write.
  const notice = { log, everyMs };
  await ensureIndexes(connection, notice);
  await createRateLimitIndexes(connection, notice);
  await createIdempotencyIndexes(connection, notice);
  await upgradeData({ connection, clock, ...notice }, upgrades);
  await beforeTransports?.();
};

/** The HTTP server of the service, with all its routes. It does not listen yet. */
const createHttpServer = (
  runtime: Omit<ServiceRuntime, 'serve'>,
  { routes, prepareHttp }: Transports,
  closeGraceMs: number,
): Promise<FastifyInstance> => {
  const { service, log, clock, connection, broker, health, metrics, signer, tls, audit, limiter } = runtime;
  return createServer({
    service,
    routes: [...routes, ...operationsRoutes({ service, connection, broker, audit, clock })],
    signer,
    tls,
    limiter,
    health,
    metrics,
    log,
    uuid: runtime.random.uuid,
    connections: { closeGraceMs },
    ...(prepareHttp === undefined ? {} : { prepare: prepareHttp }),
  });
};

const serve = async (
  runtime: Omit<ServiceRuntime, 'serve'>,
  config: RuntimeConfig,
  transports: Transports,
  options: Overrides & Pick<AdvancingClock, 'onAdvance'> & { times: ShutdownTimes },
): Promise<RunningService> => {
  if (options.upgradeOnly === true) return upgrade(runtime, transports, options);
  addOperationsMetrics(runtime);
  addAuditMetrics(runtime.metrics, runtime.connection, ['log', ...(transports.audits ?? [])]);
  const { times, closeGraceMs = times.finishMs, indexNoticeMs, retryDelaysMs, onAdvance } = options;
  const { service, log, cleanup, connection, broker, health, metrics, signer, tls, audit } = runtime;
  let closeServers = async (): Promise<unknown> => undefined;
  try {
    const app = await createHttpServer(runtime, transports, closeGraceMs);
    closeServers = async () => app.close();
    await prepareDatabase(runtime, transports, indexNoticeMs);
    const grpc = await startGrpcServer({
      address: grpcAddress(config.HOST, config.GRPC_PORT),
      services: [...transports.grpc, auditLogService(audit)],
      signer,
      tls,
      metrics,
      log,
      closeGraceMs,
    });
    closeServers = () => Promise.all([app.close(), grpc.close()]);
    const relay = startRelay({ connection, broker, log });
    cleanup.defer('outbox relay', () => relay.close());
    countOutcomesFromZero(metrics, transports.consumers);
    const consumers = await startConsumers({
      connection,
      broker,
      service,
      consumers: transports.consumers.map((consumer) => withKeyErasure(consumer, audit)),
      log,
      retryDelaysMs,
      onOutcome: (event, outcome) => metrics.eventsHandled.inc({ event, outcome }),
    });
    cleanup.defer('event consumers', () => consumers.close());
    for (const job of [...(transports.jobs ?? []), sealJob(audit)]) {
      const started = startJob(job, log);
      onAdvance(started.runNow);
      cleanup.defer(`job ${job.name}`, started.stop);
    }
    // Servers close before events, jobs and connections, which their responses use.
    cleanup.defer('servers', closeServers);
    // The port opens last, because a replica that accepts connections gets requests.
    const url = await app.listen({ host: config.HOST, port: config.HTTP_PORT });
    // This follows the opening of the port: otherwise a port in use would end the start only after DRAIN_MS.
    cleanup.defer('readiness', () => drain(health, grpc, times.drainMs));
    health.markStarted();
    log.info({ url, grpc: grpc.address }, 'ready');
    return {
      url,
      grpcAddress: grpc.address,
      log,
      exitMs: times.exitMs,
      close: () => cleanup.close(),
    };
  } catch (error) {
    await closeServers();
    await cleanup.close();
    throw error;
  }
};

/** An alert on the rate of dead events would miss the first one of a series that begins with it. */
const countOutcomesFromZero = (metrics: Metrics, consumers: readonly EventConsumer[]): void => {
  for (const { event } of consumers)
    for (const outcome of EVENT_OUTCOMES) metrics.eventsHandled.inc({ event: event.type, outcome }, 0);
};

/** Runs all steps of a start before serving. It opens no port, so it may run beside the service. */
const upgrade = async (
  runtime: Omit<ServiceRuntime, 'serve'>,
  transports: Transports,
  { indexNoticeMs, times }: Overrides & { times: ShutdownTimes },
): Promise<RunningService> => {
  const { log, cleanup } = runtime;
  try {
    await prepareDatabase(runtime, transports, indexNoticeMs);
    log.info('the stored data and the indexes are those of this release');
    return { url: '', grpcAddress: '', log, exitMs: times.exitMs, close: () => cleanup.close() };
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};

const AUDIT_SEAL_MS = SECOND_MS;

const sealJob = (audit: AuditLog): Job => ({
  name: 'seal audit log',
  intervalMs: AUDIT_SEAL_MS,
  run: () => audit.sealIfNeeded(),
});

/**
 * Makes the event that erases an account destroy its key in the same transaction: that of the first step, if there are
 * several.
 */
const withKeyErasure = (consumer: EventConsumer, audit: AuditLog): EventConsumer => {
  const { erases } = consumer.event;
  if (erases === undefined) return consumer;
  return {
    ...consumer,
    handle: async (event, context) => {
      await audit.eraseAccount(context.session, erases(event.data as never));
      return (await consumer.handle(event, context)) ?? 'done';
    },
  };
};

interface StartedJob {
  /** Begins a round, or another one after the round that is running. */
  runNow(): void;
  /** Waits for the current round. */
  stop(): Promise<void>;
}

/** Runs one round at a time. */
const startJob = (job: Job, log: Logger): StartedJob => {
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<unknown> | undefined;
  let isDue = false;
  const stopping = new AbortController();
  // Async: a job that throws synchronously must not end the process.
  const attempt = async (): Promise<unknown> => job.run(stopping.signal);
  const runNow = (): void => {
    isDue = true;
    if (round !== undefined || stopping.signal.aborted) return;
    clearTimeout(timer);
    isDue = false;
    round = attempt()
      .catch((error) => log.error({ err: error, job: job.name }, 'job failed'))
      .finally(() => {
        round = undefined;
        if (!stopping.signal.aborted) schedule();
      });
  };
  const schedule = (): void => {
    timer = setTimeout(runNow, isDue ? 0 : job.intervalMs);
  };
  schedule();
  return {
    runNow,
    stop: async () => {
      stopping.abort();
      clearTimeout(timer);
      await round;
    },
  };
};
