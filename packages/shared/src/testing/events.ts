/** For tests with a shared broker: reads events and deletes queues. */
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { type CloudEvent, cloudEventSchema } from '@fitness/proto/events/envelope.ts';
import { z } from 'zod';
import { sleep } from '../kernel/timing.ts';
import type { Broker } from '../messaging/broker.ts';
import {
  commandQueueDefinition,
  commandsExchange,
  consumerQueue,
  consumerQueueDefinition,
  consumersOf,
  consumingServices,
  deadLetterQueue,
  declareEventsExchange,
  declareQueues,
  eventPrefix,
  formerEventsQueue,
  RETRY_DELAYS_MS,
  serviceExchange,
  serviceQueueDefinitions,
  topologyMark,
  waitQueue,
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
        const match = events.find((event) => event.type === type && matches(event));
        if (match !== undefined) return match;
        if (performance.now() > deadline) throw new Error(`No event ${type} within ${timeoutMs} ms`);
        await sleep(5);
      }
    },
    close: () => managed.close(),
  };
};

export interface ProvisionOptions {
  /** Names of commands, which have queues of their own. */
  commands?: readonly string[];
  retryDelaysMs?: readonly number[] | undefined;
}

/** Arguments that only quorum queues know. */
const OF_QUORUM_QUEUES = ['x-queue-type', 'x-overflow', 'x-dead-letter-strategy', 'x-delivery-limit'];

/**
 * Declares the exchanges and queues of a service, as an operator does (`AMQP_TOPOLOGY=provisioned`). They are classic queues, which
 * take a fraction of the CPU time of quorum queues; no service test restarts the broker. Events for other services go to one queue
 * that keeps the last of them.
 */
export const provisionQueues = async (
  broker: Broker,
  service: string,
  { commands = [], retryDelaysMs = RETRY_DELAYS_MS }: ProvisionOptions = {},
): Promise<void> => {
  const { namespace, eventsExchange } = broker;
  const queues = [
    ...serviceQueueDefinitions(namespace, service, retryDelaysMs),
    ...consumersOf(EVENTS)
      .filter((consumer) => consumer.service === service)
      .map((consumer) => consumerQueueDefinition(namespace, consumer)),
    ...commands.map((command) => commandQueueDefinition(namespace, command)),
  ].map((queue) => ({
    ...queue,
    arguments: Object.fromEntries(
      Object.entries(queue.arguments).filter(([name]) => !OF_QUORUM_QUEUES.includes(name)),
    ),
  }));
  await broker.withChannel(async (channel) => {
    await declareEventsExchange(channel, namespace);
    await channel.assertExchange(commandsExchange(namespace), 'direct', { durable: true });
    await channel.assertExchange(topologyMark(namespace, EVENTS), 'fanout', { durable: true });
    const others = { name: `${namespace}.others`, arguments: { 'x-max-length': 1 } };
    const binding = { exchange: eventsExchange, type: 'topic' as const, routingKey: '#' };
    await declareQueues(channel, [...queues, { ...others, bindings: [binding] }]);
  });
};

/**
 * Deletes the queues of `services`, of their `consumers`, and of the consumers of their events, and the `queues` with these
 * names. It deletes the exchanges of the namespace, too.
 */
export const deleteTopology = async (
  broker: Broker,
  {
    services = [],
    consumers = [],
    queues = [],
    retryDelaysMs = RETRY_DELAYS_MS,
  }: {
    services?: readonly string[];
    /** Names of consumers that are not in the catalogue. */
    consumers?: readonly string[];
    queues?: readonly string[];
    retryDelaysMs?: readonly number[];
  },
): Promise<void> => {
  const { namespace, eventsExchange } = broker;
  const waiting = services.flatMap((service) =>
    retryDelaysMs.map((delayMs) => waitQueue(namespace, service, delayMs)),
  );
  const ofServices = services.flatMap((service) => [
    formerEventsQueue(namespace, service),
    deadLetterQueue(namespace, service),
    ...consumers.map((name) => consumerQueue(namespace, service, name)),
  ]);
  const ofCatalogue = consumersOf(EVENTS)
    .filter(
      ({ service, type }) =>
        services.includes(service) || services.some((producer) => type.startsWith(eventPrefix(producer))),
    )
    .map(({ service, name }) => consumerQueue(namespace, service, name));
  const ofExchanges = [...services, ...consumingServices(EVENTS)].map((name) =>
    serviceExchange(namespace, name),
  );
  await broker.withChannel(async (channel) => {
    for (const queue of new Set([
      ...ofServices,
      ...waiting,
      ...queues,
      ...ofCatalogue,
      `${namespace}.others`,
    ]))
      await channel.deleteQueue(queue);
    const exchanges = [eventsExchange, commandsExchange(namespace), topologyMark(namespace, EVENTS)];
    for (const exchange of new Set([...exchanges, ...waiting, ...ofExchanges]))
      await channel.deleteExchange(exchange);
  });
};
