/** Shared by the messaging tests: a database, a namespace and a broker connection per file, and their removal. */
import { randomBytes } from 'node:crypto';
import { defineEvent, type EventDefinition } from '@fitness/proto/events/define-event.ts';
import mongoose from 'mongoose';
import pino from 'pino';
import { z } from 'zod';
import { type Clock, systemRandom } from '../../src/kernel/clock.ts';
import { type Broker, connectBroker } from '../../src/messaging/broker.ts';
import { type EventConsumer, onEvent } from '../../src/messaging/consumer.ts';
import type { EventOutcome } from '../../src/messaging/consumer-context.ts';
import { PublishUnconfirmedError } from '../../src/messaging/publish.ts';
import { type Consumers, startConsumers } from '../../src/messaging/start-consumers.ts';
import { type Connection, connectMongo } from '../../src/mongo/connect.ts';
import { ensureIndexes } from '../../src/mongo/indexes.ts';
import { deleteTopology } from '../../src/testing/events.ts';
import { eventually } from '../../src/testing/harness.ts';

export const log = pino({ level: 'silent' });

const required = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};

export const mongodbUri = (): string => required('MONGODB_URI');
export const amqpUrl = (): string => required('AMQP_URL');
export const redisUrl = (): string => required('REDIS_URL');

const unique = (): string => randomBytes(6).toString('hex');

export const pause = (durationMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, durationMs));

/** Waits until `check` is true. */
export const until = async (check: () => boolean | Promise<boolean>): Promise<void> => {
  await eventually(check, { intervalMs: 5 });
};

export const openDatabase = async (): Promise<Connection> => {
  const connection = await connectMongo({
    uri: mongodbUri(),
    database: `test_shared_${unique()}`,
    log,
  });
  await ensureIndexes(connection);
  return connection;
};

export const dropDatabase = async (connection: Connection): Promise<void> => {
  // Not on temporary servers: a stand-in for MongoDB hangs when a database is dropped during a transaction.
  if (process.env.TEST_KEEP_DATABASES === undefined) await connection.dropDatabase();
  await connection.close();
};

export const openBroker = (
  namespace = `test-${unique()}`,
  events: readonly EventDefinition[] = [],
): Promise<Broker> => connectBroker({ url: amqpUrl(), namespace, log, name: namespace, events });

export const removeBroker = async (
  broker: Broker,
  services: string[],
  retryDelaysMs?: readonly number[],
  queues: string[] = [],
  consumers: string[] = [orderPlaced.type, orderShipped.type],
): Promise<void> => {
  await until(() => broker.isConnected());
  await deleteTopology(broker, {
    services,
    consumers,
    queues,
    ...(retryDelaysMs === undefined ? {} : { retryDelaysMs }),
  });
  await broker.close();
};

/** Breaks the TCP connection, as a network reset does. */
export const cutConnection = async (broker: Broker): Promise<void> => {
  await broker.withChannel(async (channel) => {
    const { stream } = channel.connection as unknown as { stream: { destroy(error: Error): void } };
    stream.destroy(new Error('cut by the test'));
  });
  await until(() => !broker.isConnected());
};

export const orderPlaced = defineEvent({
  type: 'shop.order.placed',
  data: z.object({ order_id: z.int(), note: z.string().optional() }),
});

export const orderShipped = defineEvent({
  type: 'shop.order.shipped',
  data: z.object({ order_id: z.int() }),
});

/** An event without a consumer. */
export const orderCancelled = defineEvent({
  type: 'shop.order.cancelled',
  data: z.object({ order_id: z.int() }),
});

/** Publishes an event as a producer does, without an outbox. */
export const publishEvent = async (
  broker: Broker,
  options: {
    id?: string;
    type?: string;
    subject?: string;
    version?: number;
    data?: unknown;
    traceparent?: string;
    /** The default is the exchange of all events, and the type. */
    exchange?: string;
    routingKey?: string;
    headers?: Record<string, unknown>;
  } = {},
): Promise<string> => {
  const id = options.id ?? systemRandom.uuid();
  const type = options.type ?? orderPlaced.type;
  const event = {
    specversion: '1.0',
    id,
    source: '/services/shop',
    type,
    subject: options.subject ?? '1',
    time: '2026-01-15T10:00:00.000Z',
    datacontenttype: 'application/json',
    aggregateversion: options.version ?? 1,
    traceparent: options.traceparent,
    data: options.data ?? { order_id: 1 },
  };
  const { exchange = broker.eventsExchange, routingKey = type, headers = {} } = options;
  await broker.publish(exchange, routingKey, Buffer.from(JSON.stringify(event)), { headers });
  return id;
};

/** For a consumer that cuts the connection: it may do so before the confirm comes, when it has the event. */
export const publishBeforeCut = async (broker: Broker): Promise<string> => {
  const id = systemRandom.uuid();
  await publishEvent(broker, { id }).catch((error: unknown) => {
    if (!(error instanceof PublishUnconfirmedError)) throw error;
  });
  return id;
};

interface Effect {
  consumer: string;
  eventId: string;
}

/** A collection without a unique index: a repeated effect is stored twice. */
export const effectsOf = (connection: Connection) =>
  connection.models.Effect ??
  connection.model<Effect>(
    'Effect',
    new mongoose.Schema<Effect>(
      { consumer: String, eventId: String },
      { collection: 'effects', versionKey: false },
    ),
  );

/** The consumers of one test file: each test has its own service, and so its own queues. */
export const openConsumers = async (options: { retryDelaysMs: readonly number[]; prefetch?: number }) => {
  const connection = await openDatabase();
  const broker = await openBroker();
  const services = new Set<string>();
  const names = new Set<string>();
  const outcomes: EventOutcome[] = [];
  let running: Consumers | undefined;
  type Handle = Parameters<typeof onEvent<typeof orderPlaced>>[1];
  /** A consumer of `orderPlaced` with this name. */
  const orderConsumer = (name: string, handle: Handle): EventConsumer => ({
    ...onEvent(orderPlaced, handle),
    name,
  });
  /** A handler whose repeated effect is visible. */
  const record =
    (name: string): Handle =>
    async (event, { session }) => {
      await effectsOf(connection).create([{ consumer: name, eventId: event.id }], { session });
    };
  /** Stops the running consumers. */
  const stop = async (): Promise<void> => {
    await running?.close();
    running = undefined;
  };
  return {
    connection,
    broker,
    /** In order, since the last `reset`. */
    outcomes,
    orderConsumer,
    record,
    recorder: (name: string) => orderConsumer(name, record(name)),
    effects: (name: string) => effectsOf(connection).countDocuments({ consumer: name }),
    consume: async (service: string, consumers: EventConsumer[], clock?: Clock): Promise<void> => {
      services.add(service);
      for (const { name } of consumers) names.add(name);
      const onOutcome = (_type: string, outcome: EventOutcome) => void outcomes.push(outcome);
      running = await startConsumers({
        ...options,
        connection,
        broker,
        service,
        consumers,
        log,
        clock,
        onOutcome,
      });
    },
    stop,
    reset: async (): Promise<void> => {
      await stop();
      outcomes.length = 0;
    },
    close: async (queues: string[] = []): Promise<void> => {
      await stop();
      await removeBroker(broker, [...services], options.retryDelaysMs, queues, [...names]);
      await dropDatabase(connection);
    },
  };
};
