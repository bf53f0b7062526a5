/** The connections of a service and what is built on them. They are opened once and closed in reverse order. */
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { type AuditLog, createAuditLog } from '../audit/log.ts';
import { createGrpcClient, type GrpcClient } from '../grpc/client.ts';
import { type AdvancingClock, type Clock, type Random, systemClock, systemRandom } from '../kernel/clock.ts';
import { createHealth, type Health } from '../kernel/health.ts';
import type { Logger } from '../kernel/log.ts';
import { createMetrics, type Metrics } from '../kernel/metrics.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import type { RateLimiter } from '../kernel/rate-limit.ts';
import { type Broker, connectBroker } from '../messaging/broker.ts';
import { createOutbox, type Outbox } from '../messaging/outbox.ts';
import { type Connection, connectMongo, pingMongo } from '../mongo/connect.ts';
import { createIdempotency, type Idempotency } from '../mongo/idempotency.ts';
import { createSequences, type Sequences } from '../mongo/sequence.ts';
import type { CallerSigner } from '../process-identity/caller-context.ts';
import { openCallerSigner } from '../process-identity/open-caller-signer.ts';
import { openProcessTls, type ProcessTls } from '../process-identity/process-tls.ts';
import { createCrossServiceCheck } from './cross-service-idempotency.ts';
import type { Cleanup } from './lifecycle.ts';
import { createRateLimiter } from './rate-limiter.ts';
import { assertPrimary, connectRedis, type Redis } from './redis.ts';
import type { Overrides, RuntimeConfig } from './runtime-options.ts';
import { openClock } from './sandbox-clock.ts';

/** What the parts of a service share: connections, events, limits, clocks, metrics. */
export interface Platform {
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
}

/** Connects to the servers. Each part is closed by `cleanup`. */
export const openPlatform = async (
  service: ProcessName,
  config: RuntimeConfig,
  overrides: Overrides,
  { log, cleanup }: { log: Logger; cleanup: Cleanup },
): Promise<Platform & Pick<AdvancingClock, 'onAdvance'>> => {
  const processClock = await openClock(config, log, cleanup);
  const clock = overrides.clock ?? processClock;
  const realTime = overrides.realTime ?? overrides.clock ?? systemClock;
  const random = overrides.random ?? systemRandom;
  const health = createHealth();
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
  health.add('mongodb', () => pingMongo(connection));
  health.add('redis', () => assertPrimary(redis), { required: false });
  health.add('rabbitmq', () => assertResponds(broker), { required: false });
  health.addMetrics(metrics);
  const limiter = createRateLimiter({
    redis,
    connection,
    keyPrefix: `${config.EVENTS_NAMESPACE}:${service}`,
    clock: processClock,
  });
  return {
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
    onAdvance: processClock.onAdvance,
  };
};

const connectServers = async (
  service: ProcessName,
  config: RuntimeConfig,
  { databaseWaitMs }: Overrides,
  log: Logger,
  cleanup: Cleanup,
): Promise<Pick<Platform, 'redis' | 'connection' | 'broker'>> => {
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

type ClientParts = Pick<Platform, 'signer' | 'tls' | 'metrics' | 'cleanup'>;

const connectWith =
  ({ signer, tls, metrics, cleanup }: ClientParts): Platform['grpcClient'] =>
  (target, definition, address, name = target) => {
    const client = createGrpcClient({ definition, address, target, name, signer, tls, metrics });
    cleanup.defer(`grpc client ${name}`, () => client.close());
    return client;
  };

/** The connection to a frozen broker stays open for some time, so only a response shows that it works. */
const assertResponds = (broker: Broker): Promise<void> => {
  if (!broker.isConnected()) throw new Error('not connected');
  return broker.withChannel(async () => undefined);
};
