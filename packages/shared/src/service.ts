/**
 * What every service is made of, opened once and closed in reverse: servers, events, limits, doors. A service's own
 * composition root adds its stores, use cases and routes (`services/<name>/src/service.ts`).
 */

import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import type { Connection } from 'mongoose';
import { type CallerSigner, createCallerSigner } from './caller.ts';
import { type Clock, type Random, systemClock, systemRandom } from './clock.ts';
import { type Broker, connectBroker } from './events/broker.ts';
import { type EventConsumer, startConsumers } from './events/consumer.ts';
import { createOutbox, type Outbox } from './events/outbox.ts';
import { startRelay } from './events/relay.ts';
import { createGrpcClient, type GrpcClient } from './grpc/client.ts';
import { type GrpcService, startGrpcServer } from './grpc/server.ts';
import { createHealth, type Health } from './health.ts';
import type { Route } from './http/define-route.ts';
import { createIdempotency, createIdempotencyIndexes, type Idempotency } from './http/idempotency.ts';
import { createKeyAgreement } from './http/key-agreement.ts';
import { createRateLimiter, type RateLimiter } from './http/rate-limit.ts';
import { createServer } from './http/server.ts';
import { createRateLimitIndexes } from './http/window-counter.ts';
import { type Cleanup, createCleanup } from './lifecycle.ts';
import { createLog, type Logger } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { connectMongo, pingMongo, syncIndexes } from './mongo/connect.ts';
import { createSequences, type Sequences } from './mongo/sequence.ts';
import { type Upgrade, upgradeData } from './mongo/upgrades.ts';
import { connectRedis, pingRedis } from './redis.ts';

/** The part of a service's configuration that the foundation reads (`serviceShape` of config.ts). */
export interface FoundationConfig {
  NODE_ENV: 'development' | 'test' | 'production';
  LOG_LEVEL: string;
  HOST: string;
  HTTP_PORT: number;
  GRPC_PORT: number;
  INTERNAL_AUTH_SECRET: string;
  MONGODB_URI: string;
  MONGODB_DATABASE: string;
  REDIS_URL: string;
  AMQP_URL: string;
  EVENTS_NAMESPACE: string;
}

/** What a test puts in place of the system's. */
export interface Overrides {
  clock?: Clock;
  random?: Random;
  log?: Logger;
  /** How long requests under way may hold up the closing of each door. */
  closeGraceMs?: number | undefined;
}

export interface Job {
  name: string;
  intervalMs: number;
  /**
   * One round; it must be safe with several replicas and after a crash. A failure is logged, the next round comes.
   * `stopping` is aborted when the process ends: a long round then ends at its next resting place.
   */
  run(stopping: AbortSignal): Promise<unknown>;
}

export interface Doors {
  routes: Route[];
  grpc: GrpcService[];
  consumers: EventConsumer[];
  jobs?: Job[];
  /** Plugins of one service, e.g. multipart; before the routes are added. */
  prepareHttp?: (app: FastifyInstance) => Promise<void>;
  /** After the indexes stand and before anything else reads what is stored. */
  upgrades?: readonly Upgrade[];
  /** After the upgrades and before the doors open: seeds. */
  beforeOpen?: () => Promise<void>;
}

export interface RunningService {
  /** `http://host:port` */
  url: string;
  /** `host:port` */
  grpcAddress: string;
  log: Logger;
  close(): Promise<void>;
}

export interface Foundation {
  service: string;
  log: Logger;
  clock: Clock;
  random: Random;
  cleanup: Cleanup;
  health: Health;
  metrics: Metrics;
  signer: CallerSigner;
  connection: Connection;
  redis: Redis;
  broker: Broker;
  outbox: Outbox;
  sequences: Sequences;
  limiter: RateLimiter;
  idempotency: Idempotency;
  /** A client of another service, closed with this one. */
  grpcClient<Definition>(target: string, definition: Definition, address: string): GrpcClient<Definition>;
  /** Opens the doors, once everything behind them stands. */
  serve(doors: Doors): Promise<RunningService>;
}

/** Connects to the servers of one service. What was opened is closed again when a later part fails. */
export const openFoundation = async (
  service: string,
  config: FoundationConfig,
  overrides: Overrides = {},
): Promise<Foundation> => {
  const log = overrides.log ?? createLog({ service, level: config.LOG_LEVEL });
  const cleanup = createCleanup(log);
  try {
    return await open(service, config, overrides, log, cleanup);
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};

const open = async (
  service: string,
  config: FoundationConfig,
  overrides: Overrides,
  log: Logger,
  cleanup: Cleanup,
): Promise<Foundation> => {
  const clock = overrides.clock ?? systemClock;
  const random = overrides.random ?? systemRandom;
  const health = createHealth();
  const metrics = createMetrics(service, { defaults: config.NODE_ENV !== 'test' });
  const signer = createCallerSigner(config.INTERNAL_AUTH_SECRET, systemClock);
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
    }).then((opened) => {
      cleanup.defer('mongodb', () => opened.close());
      return opened;
    }),
    connectBroker({ url: config.AMQP_URL, namespace: config.EVENTS_NAMESPACE, log, name: service }).then(
      (opened) => {
        cleanup.defer('rabbitmq', () => opened.close());
        return opened;
      },
    ),
  ] as const;
  // All three settle before a failure of one is thrown: what opens late must be closed as well.
  await Promise.allSettled(opening);
  const [redis, connection, broker] = await Promise.all(opening);
  health.add('mongodb', () => pingMongo(connection));
  health.add('redis', () => pingRedis(redis), { required: false });
  health.add('rabbitmq', async () => assertConnected(broker), { required: false });
  const limiter = createRateLimiter({
    redis,
    connection,
    keyPrefix: `${config.EVENTS_NAMESPACE}:${service}`,
  });
  const foundation = {
    service,
    log,
    clock,
    random,
    cleanup,
    health,
    metrics,
    signer,
    connection,
    redis,
    broker,
    outbox: createOutbox({ connection, service, clock, random }),
    sequences: createSequences(connection),
    limiter,
    idempotency: createIdempotency({
      connection,
      agreement: createKeyAgreement(redis, config.EVENTS_NAMESPACE, clock),
      clock,
      uuid: random.uuid,
    }),
    grpcClient: <Definition>(
      target: string,
      definition: Definition,
      address: string,
    ): GrpcClient<Definition> => {
      const client = createGrpcClient({ definition, address, target, from: service, signer, metrics });
      cleanup.defer(`grpc client ${target}`, () => client.close());
      return client;
    },
  };
  return { ...foundation, serve: (doors) => serve(foundation, config, doors, overrides) };
};

const assertConnected = (broker: Broker): void => {
  if (!broker.isConnected()) throw new Error('not connected');
};

const serve = async (
  foundation: Omit<Foundation, 'serve'>,
  config: FoundationConfig,
  doors: Doors,
  { closeGraceMs }: Overrides,
): Promise<RunningService> => {
  const { service, log, clock, cleanup, connection, broker, health, metrics, signer, limiter, random } =
    foundation;
  try {
    // Every index stands before the first write: uniqueness is the database's job.
    await syncIndexes(connection);
    await createRateLimitIndexes(connection);
    await createIdempotencyIndexes(connection);
    await upgradeData({ connection, clock, log }, doors.upgrades ?? []);
    await doors.beforeOpen?.();
    const relay = startRelay({ connection, broker, log, clock });
    cleanup.defer('outbox relay', () => relay.close());
    const grpc = await startGrpcServer({
      address: `${config.HOST}:${config.GRPC_PORT}`,
      services: doors.grpc,
      signer,
      metrics,
      log,
      closeGraceMs,
    });
    cleanup.defer('grpc server', () => grpc.close());
    const app = await createServer({
      service,
      routes: doors.routes,
      signer,
      limiter,
      health,
      metrics,
      log,
      uuid: random.uuid,
      ...(closeGraceMs === undefined ? {} : { connections: { closeGraceMs } }),
      ...(doors.prepareHttp === undefined ? {} : { prepare: doors.prepareHttp }),
    });
    cleanup.defer('http server', () => app.close());
    const consumers = await startConsumers({
      connection,
      broker,
      service,
      consumers: doors.consumers,
      log,
      clock,
      onOutcome: (event, outcome) => metrics.eventsHandled.inc({ event, outcome }),
    });
    cleanup.defer('event consumers', () => consumers.close());
    for (const job of doors.jobs ?? []) cleanup.defer(`job ${job.name}`, startJob(job, log));
    const url = await app.listen({ host: config.HOST, port: config.HTTP_PORT });
    cleanup.defer('readiness', () => health.stopping());
    health.started();
    log.info({ url, grpc: grpc.address }, 'ready');
    return { url, grpcAddress: grpc.address, log, close: () => cleanup.close() };
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};

/** Rounds one after the other, never two at once in one process; stopping waits for the round under way. */
const startJob = (job: Job, log: Logger): (() => Promise<void>) => {
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<unknown> = Promise.resolve();
  const stopping = new AbortController();
  // Async, so that a job that throws before its first await fails its round and not the process.
  const attempt = async (): Promise<unknown> => job.run(stopping.signal);
  const schedule = (): void => {
    timer = setTimeout(() => {
      round = attempt()
        .catch((error) => log.error({ err: error, job: job.name }, 'job failed'))
        .finally(() => {
          if (!stopping.signal.aborted) schedule();
        });
    }, job.intervalMs);
  };
  schedule();
  return async () => {
    stopping.abort();
    clearTimeout(timer);
    await round;
  };
};
