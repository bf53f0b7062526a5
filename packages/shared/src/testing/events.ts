/** For tests with a shared broker: reads events and deletes queues. */
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { type CloudEvent, cloudEventSchema } from '@fitness/proto/events/envelope.ts';
import { z } from 'zod';
import { sleep } from '../kernel/timing.ts';
import type { Broker } from '../messaging/broker.ts';
import {
  commandsExchange,
  consumersOf,
  deadLetterQueue,
  declareEventsExchange,
  eventsQueue,
  RETRY_DELAYS_MS,
  retryQueue,
  serviceExchange,
} from '../messaging/topology.ts';

export interface EventTap {
  /** The received events in order. */
  readonly events: CloudEvent[];
  /** The first event of `type` (that `matches`), received already or within `timeoutMs` (default 40 s); else rejects. */
  waitFor(
    type: string,
    options?: { matches?: (event: CloudEvent) => boolean; timeoutMs?: number },
  ): Promise<CloudEvent>;
  close(): Promise<void>;
}

/** Receives the events of the namespace; `pattern` is a topic pattern, all by default. */
export const tapEvents = async (broker: Broker, pattern = '#'): Promise<EventTap> => {
  const envelope = cloudEventSchema(z.unknown());
  const events: CloudEvent[] = [];
  const managed = await broker.openChannel('event tap', async (channel) => {
    await declareEventsExchange(channel, broker.namespace);
    const { queue } = await channel.assertQueue('', { exclusive: true, durable: false, autoDelete: true });
    await channel.bindQueue(queue, broker.eventsExchange, pattern);
    const take = (content: Buffer): void =>
      void events.push(envelope.parse(JSON.parse(content.toString('utf8'))));
    await channel.consume(queue, (message) => message !== null && take(message.content), { noAck: true });
  });
  return {
    events,
    waitFor: async (type, { matches = () => true, timeoutMs = 40_000 } = {}) => {
      const deadline = performance.now() + timeoutMs;
      for (;;) {
        const found = events.find((event) => event.type === type && matches(event));
        if (found !== undefined) return found;
        if (performance.now() > deadline) throw new Error(`No event ${type} within ${timeoutMs} ms`);
        await sleep(5);
      }
    },
    close: () => managed.close(),
  };
};

/**
 * Deletes the queues of `services`, the `queues` given by name, the queues that the service runtime declares for every
 * consumer, and the exchanges of the namespace.
 */
export const deleteTopology = async (
  broker: Broker,
  {
    services = [],
    queues = [],
    retryDelaysMs = RETRY_DELAYS_MS,
  }: {
    services?: readonly string[];
    queues?: readonly string[];
    retryDelaysMs?: readonly number[];
  },
): Promise<void> => {
  const { namespace, eventsExchange } = broker;
  const ofService = (service: string): string[] => [
    eventsQueue(namespace, service),
    ...retryDelaysMs.map((delayMs) => retryQueue(namespace, service, delayMs)),
    deadLetterQueue(namespace, service),
  ];
  await broker.withChannel(async (channel) => {
    const ofEveryConsumer = consumersOf(EVENTS).map((service) => eventsQueue(namespace, service));
    const all = new Set([...services.flatMap(ofService), ...queues, ...ofEveryConsumer]);
    for (const queue of all) await channel.deleteQueue(queue);
    const exchanges = [...services, ...consumersOf(EVENTS)].map((name) => serviceExchange(namespace, name));
    for (const exchange of new Set([eventsExchange, commandsExchange(namespace), ...exchanges])) {
      await channel.deleteExchange(exchange);
    }
  });
};
