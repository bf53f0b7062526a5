/**
 * The connection of a process to RabbitMQ. It reconnects by itself, reopens its channels, and confirms every publish.
 * amqplib restores only the connection. Declarations and consumers are restored here.
 */
import type { EventDefinition } from '@fitness/proto/events/define-event.ts';
import type { ConfirmChannel, Options } from 'amqplib';
import type { Logger } from '../kernel/log.ts';
import { type BrokerConnection, openBrokerConnection } from './broker-connection.ts';
import { closeChannel, type ManagedChannel, openManagedChannel } from './channel.ts';
import { BrokerUnavailableError, publishConfirmed } from './publish.ts';
import { consumersOf, declareConsumerQueues, eventsExchangeName, type Topology } from './topology.ts';

export interface BrokerOptions {
  /** `amqp://user:password@host:port/vhost` */
  url: string;
  /** Prefix of every name on the broker, which several systems and tests can then share. */
  namespace: string;
  log: Logger;
  /** Shown to operators in the broker's list of connections. */
  name?: string | undefined;
  /** How long the first connection may take, in milliseconds. Default 30 s. */
  startTimeoutMs?: number | undefined;
  /** Resolves even if the first attempt fails. Declarations and consumers begin when the broker is available. */
  mayBeAbsent?: boolean | undefined;
  /** The events of the product. Default: none. */
  events?: readonly EventDefinition[] | undefined;
  /**
   * The service that publishes; without it, all `events` are published. The queues of the consumers of its events are
   * declared after every connect, before anything is published: an event published before a consumer was ever started
   * waits in its queue.
   */
  producer?: string | undefined;
  /** Default `declared`. */
  topology?: Topology | undefined;
}

export interface Broker {
  readonly namespace: string;
  readonly topology: Topology;
  /** The durable topic exchange of all events; the routing key is the event type. */
  readonly eventsExchange: string;
  /**
   * Publishes a persistent message and waits for the broker's confirm. `routed` is false when no queue is bound for it:
   * the broker has dropped it. Rejects with `BrokerUnavailableError` (not sent), `PublishRejectedError` (refused), or
   * `PublishUnconfirmedError` (it may or may not have arrived).
   */
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options?: Options.Publish,
  ): Promise<{ routed: boolean }>;
  /**
   * Declares deleted queues of the consumers of `type` again, unless they are provisioned. False when `type` has no
   * consumer.
   */
  restoreConsumerQueues(type: string): Promise<boolean>;
  /**
   * Opens a confirm channel and runs `setup` on it, which declares queues and consumers. Repeats this after every reconnect and
   * whenever the broker closes the channel. Resolves after the first setup, or at once without a connection; rejects when the
   * broker refuses a declaration of the first setup.
   */
  openChannel(name: string, setup: (channel: ConfirmChannel) => Promise<void>): Promise<ManagedChannel>;
  /** Runs `use` on a new channel and closes it. Rejects with `BrokerUnavailableError` when not connected. */
  withChannel<T>(use: (channel: ConfirmChannel) => Promise<T>): Promise<T>;
  /** Whether messages can be published now. */
  isConnected(): boolean;
  close(): Promise<void>;
}

/**
 * Connects, trying for up to 30 s, and rejects with the last error. With `mayBeAbsent` it resolves without a connection. Later
 * it reconnects without a limit.
 */
export const connectBroker = async (options: BrokerOptions): Promise<Broker> => {
  const { namespace, log, events = [], producer, topology = 'declared' } = options;
  const published = { events, producer, topology };
  const eventsExchange = eventsExchangeName(namespace);
  const connection = await openBrokerConnection({
    url: options.url,
    name: options.name ?? namespace,
    log,
    startTimeoutMs: options.startTimeoutMs,
    mayBeAbsent: options.mayBeAbsent,
  });
  const openChannel: Broker['openChannel'] = (name, setup) =>
    openManagedChannel({ connection, name, setup, log });
  const publisher = await openChannel('publisher', (channel) =>
    declareConsumerQueues(channel, namespace, published),
  ).catch(async (error: unknown) => {
    await connection.close();
    throw error;
  });

  return {
    namespace,
    topology,
    eventsExchange,
    openChannel,
    publish: (exchange, routingKey, content, publishOptions) =>
      publishConfirmed(publisher.current(), exchange, routingKey, content, publishOptions),
    restoreConsumerQueues: async (type) => {
      if (consumersOf(events.filter((event) => event.type === type)).length === 0) return false;
      await withChannel(connection, (channel) => declareConsumerQueues(channel, namespace, published));
      return true;
    },
    withChannel: (use) => withChannel(connection, use),
    isConnected: () => publisher.current() !== undefined,
    close: async () => {
      await publisher.close();
      await connection.close();
    },
  };
};

const withChannel = async <T>(
  connection: BrokerConnection,
  use: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> => {
  const live = connection.current();
  if (live === undefined) throw new BrokerUnavailableError();
  const channel = await live.createConfirmChannel();
  // The operation itself rejects as well; without a listener the error would end the process.
  channel.on('error', () => undefined);
  try {
    return await use(channel);
  } finally {
    await closeChannel(channel);
  }
};
