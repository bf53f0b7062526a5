/**
 * The connection of a process to RabbitMQ: it comes back by itself, together with its channels, and tells of every
 * publish whether the broker took it.
 */
import type { ConfirmChannel, Options } from 'amqplib';
import type { Logger } from 'pino';
import { closeChannel, type ManagedChannel, openManagedChannel } from './channel.ts';
import { type Link, openLink } from './link.ts';
import { BrokerUnavailableError, publishConfirmed } from './publish.ts';
import { declareEventsExchange, eventsExchangeName } from './topology.ts';

export { PublishUnconfirmedError } from './publish.ts';

export interface BrokerOptions {
  /** `amqp://user:password@host:port/vhost` */
  url: string;
  /** First part of every name on the broker, so that several systems and tests share one. */
  namespace: string;
  log: Logger;
  /** Shown to operators in the broker's list of connections. */
  name?: string | undefined;
  /** How long the broker may take to come up, in milliseconds. Default 30 s; once connected there is no limit. */
  startTimeoutMs?: number | undefined;
}

export interface Broker {
  readonly namespace: string;
  /** The durable topic exchange of all events; the routing key is the event type. */
  readonly eventsExchange: string;
  /**
   * Publishes a persistent message and waits for the broker's confirm. `routed` is false when no queue is bound for it:
   * the broker has then dropped it. Rejects with {@link BrokerUnavailableError} (not sent), {@link PublishRejectedError}
   * (refused), or {@link PublishUnconfirmedError} (it may or may not have arrived).
   */
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options?: Options.Publish,
  ): Promise<{ routed: boolean }>;
  /**
   * A confirm channel that `setup` declares its queues and consumers on, anew after every reconnect and every time the
   * broker closes it. Resolves after the first successful setup; rejects when the broker refuses a declaration.
   */
  openChannel(name: string, setup: (channel: ConfirmChannel) => Promise<void>): Promise<ManagedChannel>;
  /** Runs `use` on a channel of its own and closes it. Rejects with {@link BrokerUnavailableError} when not connected. */
  withChannel<T>(use: (channel: ConfirmChannel) => Promise<T>): Promise<T>;
  isConnected(): boolean;
  /** Rejects when the broker cannot be used right now. For readiness checks. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects, trying for up to 30 s because services start in parallel with their broker, and for ever once connected.
 * Rejects with the last error. Declares the events exchange after every connect.
 */
export const connectBroker = async (options: BrokerOptions): Promise<Broker> => {
  const { namespace, log } = options;
  const eventsExchange = eventsExchangeName(namespace);
  const link = await openLink({
    url: options.url,
    name: options.name ?? namespace,
    log,
    startTimeoutMs: options.startTimeoutMs,
  });
  const openChannel: Broker['openChannel'] = (name, setup) => openManagedChannel({ link, name, setup, log });
  const publisher = await openChannel('publisher', (channel) => declareEventsExchange(channel, namespace));

  return {
    namespace,
    eventsExchange,
    openChannel,
    publish: (exchange, routingKey, content, publishOptions) =>
      publishConfirmed(publisher.current(), exchange, routingKey, content, publishOptions),
    withChannel: (use) => withChannel(link, use),
    isConnected: () => publisher.current() !== undefined,
    ping: () => withChannel(link, async (channel) => void (await channel.checkExchange(eventsExchange))),
    close: async () => {
      await publisher.close();
      await link.close();
    },
  };
};

const withChannel = async <T>(link: Link, use: (channel: ConfirmChannel) => Promise<T>): Promise<T> => {
  const model = link.model();
  if (model === undefined) throw new BrokerUnavailableError();
  const channel = await model.createConfirmChannel();
  // The failing operation rejects by itself; without a listener the same error would end the process.
  channel.on('error', () => undefined);
  try {
    return await use(channel);
  } finally {
    await closeChannel(channel);
  }
};
