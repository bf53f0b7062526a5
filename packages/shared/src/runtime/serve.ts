/** Opens what a service serves: HTTP, gRPC, consumers and jobs, after its indexes and upgrades. */
import type { FastifyInstance } from 'fastify';
import type { AuditLog } from '../audit/log.ts';
import { type AuditName, addAuditMetrics } from '../audit/results.ts';
import { grpcAddress } from '../grpc/address.ts';
import { type GrpcService, startGrpcServer } from '../grpc/server.ts';
import type { Route } from '../http/define-route.ts';
import { createServer } from '../http/server.ts';
import type { AdvancingClock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { EventConsumer } from '../messaging/consumer.ts';
import { EVENT_OUTCOMES, type EventOutcome } from '../messaging/consumer-context.ts';
import { startRelay } from '../messaging/relay.ts';
import { startConsumers } from '../messaging/start-consumers.ts';
import { createIdempotencyIndexes } from '../mongo/idempotency-claims.ts';
import { ensureIndexes } from '../mongo/indexes.ts';
import { createRateLimitIndexes } from '../mongo/rate-limit-windows.ts';
import { type Upgrade, upgradeData } from '../mongo/upgrades.ts';
import { auditLogService } from './audit-service.ts';
import { type Job, sealJob, startJob } from './jobs.ts';
import { drain, type ShutdownTimes } from './lifecycle.ts';
import { addOperationsMetrics, operationsRoutes } from './operations.ts';
import type { Platform } from './platform.ts';
import type { Overrides, RuntimeConfig } from './runtime-options.ts';

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

const prepareDatabase = async (
  { connection, clock, log }: Platform,
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
  runtime: Platform,
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

export const serve = async (
  runtime: Platform,
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
    const consumers = await startConsumers({
      connection,
      broker,
      service,
      consumers: transports.consumers.map((consumer) => withKeyErasure(consumer, audit)),
      log,
      retryDelaysMs,
      onOutcome: countOutcomes(metrics, transports.consumers),
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

/** The name of messages whose type no consumer has, such as those that were sent to a queue directly. */
const UNKNOWN_EVENT = 'unknown';

/** All series start at 0. An alert on the rate of dead events would miss the first one of a series that begins with it. */
const countOutcomes = (
  { eventsHandled }: Metrics,
  consumers: readonly EventConsumer[],
): ((type: string, outcome: EventOutcome) => void) => {
  const names = new Set([...consumers.map(({ event }) => event.type), UNKNOWN_EVENT]);
  for (const event of names) for (const outcome of EVENT_OUTCOMES) eventsHandled.inc({ event, outcome }, 0);
  return (type, outcome) => eventsHandled.inc({ event: names.has(type) ? type : UNKNOWN_EVENT, outcome });
};

/** Runs all steps of a start before serving. It opens no port, so it may run beside the service. */
const upgrade = async (
  runtime: Platform,
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
