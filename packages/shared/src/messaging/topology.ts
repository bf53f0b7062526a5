/** The names, arguments and declarations of all exchanges and queues of events and commands. */
import { createHash } from 'node:crypto';
import type { EventDefinition } from '@fitness/proto/events/define-event.ts';
import type { Channel } from 'amqplib';
import { MINUTE_MS, SECOND_MS } from '../kernel/clock.ts';

/** How long a failed event waits before each further try; after the last try it is dead-lettered. */
export const RETRY_DELAYS_MS: readonly number[] = [
  SECOND_MS,
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
];

/** After this many deliveries without an ack the broker dead-letters a message: it probably crashes its consumer. */
const DELIVERY_LIMIT = 20;
/** Listing dead letters delivers and returns each of them: this must never delete one. */
const UNLIMITED_DELIVERIES = 1_000_000_000;

export const eventsExchangeName = (namespace: string): string => `${namespace}.events`;
export const eventsQueue = (namespace: string, service: string): string => `${namespace}.${service}.events`;
export const deadLetterQueue = (namespace: string, service: string): string => `${namespace}.${service}.dead`;
/** Held while dead letters are read: messages delivered to one reader are invisible to the next. */
export const deadLetterLock = (namespace: string, service: string): string =>
  `${deadLetterQueue(namespace, service)}.lock`;
export const retryQueue = (namespace: string, service: string, delayMs: number): string =>
  `${namespace}.${service}.retry.${delayMs}`;
/**
 * The direct exchange that leads to the queues of one service, by their names. Every queue can also be reached by the
 * default exchange, but a permission for that would be one for the queues of all services.
 */
export const serviceExchange = (namespace: string, service: string): string => `${namespace}.${service}`;
/** The queue of a command, e.g. `sms.send`. */
export const commandQueue = (namespace: string, command: string): string =>
  `${namespace}.commands.${command}`;
/** The direct exchange that leads to the queues of commands and of their replies, by their names. */
export const commandsExchange = (namespace: string): string => `${namespace}.commands`;
/** The queue with the replies to one client; `id` is new for each of its channels. */
export const replyQueue = (namespace: string, command: string, id: string): string =>
  `${commandQueue(namespace, command)}.replies.${id}`;

/**
 * Who declares exchanges and queues. `declared`: the processes do. `provisioned`: an operator has done it (provisioning/
 * rabbitmq.ts); the processes may not, and check the mark and their own queues.
 */
export type Topology = 'declared' | 'provisioned';

/**
 * Replicated and on disk before it is confirmed. At-least-once dead lettering requires `reject-publish`; without both, a
 * message could be lost between two queues.
 */
const QUORUM = {
  'x-queue-type': 'quorum',
  'x-overflow': 'reject-publish',
} as const;

/** Declares the durable topic exchange of all events. */
export const declareEventsExchange = async (channel: Channel, namespace: string): Promise<void> => {
  await channel.assertExchange(eventsExchangeName(namespace), 'topic', { durable: true });
};

/** Arguments of a quorum queue whose dead letters go to `target`. */
const deadLetteringTo = (target: string, more: Record<string, unknown>): Record<string, unknown> => ({
  ...QUORUM,
  'x-dead-letter-strategy': 'at-least-once',
  'x-dead-letter-exchange': '',
  'x-dead-letter-routing-key': target,
  ...more,
});

/** A durable queue, and the exchange that leads to it under its name. */
export interface QueueDefinition {
  name: string;
  exchange: string;
  arguments: Record<string, unknown>;
}

const eventsQueueDefinition = (namespace: string, service: string): QueueDefinition => ({
  name: eventsQueue(namespace, service),
  exchange: serviceExchange(namespace, service),
  arguments: deadLetteringTo(deadLetterQueue(namespace, service), { 'x-delivery-limit': DELIVERY_LIMIT }),
});

/** All queues of a service: its dead letters, its events, and one queue per retry delay, which expires into its events. */
export const serviceQueueDefinitions = (
  namespace: string,
  service: string,
  retryDelaysMs: readonly number[],
): QueueDefinition[] => {
  const exchange = serviceExchange(namespace, service);
  return [
    {
      name: deadLetterQueue(namespace, service),
      exchange,
      arguments: { ...QUORUM, 'x-delivery-limit': UNLIMITED_DELIVERIES },
    },
    eventsQueueDefinition(namespace, service),
    ...retryDelaysMs.map((delayMs) => ({
      name: retryQueue(namespace, service, delayMs),
      exchange,
      arguments: deadLetteringTo(eventsQueue(namespace, service), { 'x-message-ttl': delayMs }),
    })),
  ];
};

/** A queue of commands (rpc.ts). Each command carries its own expiry. */
export const commandQueueDefinition = (namespace: string, command: string): QueueDefinition => ({
  name: commandQueue(namespace, command),
  exchange: commandsExchange(namespace),
  arguments: { ...QUORUM },
});

const declareQueue = async (channel: Channel, queue: QueueDefinition): Promise<void> => {
  await channel.assertExchange(queue.exchange, 'direct', { durable: true });
  await channel.assertQueue(queue.name, { durable: true, arguments: queue.arguments });
  await channel.bindQueue(queue.name, queue.exchange, queue.name);
};

/** Binds the queue of a service's events to `types`. */
const bindToEvents = async (
  channel: Channel,
  namespace: string,
  service: string,
  types: readonly string[],
): Promise<void> => {
  const queue = eventsQueue(namespace, service);
  for (const type of types) await channel.bindQueue(queue, eventsExchangeName(namespace), type);
};

/** The services that consume at least one of `events`. */
export const consumersOf = (events: readonly EventDefinition[]): string[] => [
  ...new Set(events.flatMap(({ consumers = [] }) => consumers)),
];

/** The types of `events` that `service` consumes. */
export const typesConsumedBy = (service: string, events: readonly EventDefinition[]): string[] =>
  events.filter(({ consumers = [] }) => consumers.includes(service)).map(({ type }) => type);

/** The name of a {@link topologyMark} without its hash. */
export const topologyMarkPrefix = (namespace: string): string => `${namespace}.topology.`;

/**
 * An exchange without a use but its name, which is part of the provisioned topology: it exists once the queues are bound to these
 * events. A process cannot ask for bindings, and an event without one would be lost for its consumer.
 */
export const topologyMark = (namespace: string, events: readonly EventDefinition[]): string => {
  const bindings = events.flatMap(({ type, consumers = [] }) => consumers.map((name) => `${name} ${type}`));
  const hash = createHash('sha256').update(bindings.toSorted().join('\n')).digest('hex');
  return `${topologyMarkPrefix(namespace)}${hash.slice(0, 16)}`;
};

/**
 * Declares the exchange and, for every service that consumes one of `events`, its queue with its bindings. A publisher
 * that has done this loses no event to a service that was never started yet. Of what is provisioned only the mark is checked,
 * because a process may not see the queues of others; it rejects with a 404 when the mark is missing.
 */
export const declareConsumerQueues = async (
  channel: Channel,
  namespace: string,
  events: readonly EventDefinition[],
  topology: Topology,
): Promise<void> => {
  const services = consumersOf(events);
  if (topology === 'provisioned') {
    if (services.length > 0) await channel.checkExchange(topologyMark(namespace, events));
    return;
  }
  await declareEventsExchange(channel, namespace);
  for (const service of services) {
    await declareQueue(channel, eventsQueueDefinition(namespace, service));
    await bindToEvents(channel, namespace, service, typesConsumedBy(service, events));
  }
};

interface ServiceQueues {
  namespace: string;
  service: string;
  /** The event types that the service consumes. */
  types: readonly string[];
  retryDelaysMs: readonly number[];
  topology?: Topology | undefined;
}

/**
 * Declares the exchanges and all queues of one service, see {@link serviceQueueDefinitions}. Rejects when a queue of that
 * name exists with other arguments. What is provisioned is checked only.
 */
export const declareServiceQueues = async (
  channel: Channel,
  { namespace, service, types, retryDelaysMs, topology = 'declared' }: ServiceQueues,
): Promise<void> => {
  const queues = serviceQueueDefinitions(namespace, service, retryDelaysMs);
  if (topology === 'provisioned') {
    for (const { name } of queues) await channel.checkQueue(name);
    return;
  }
  await declareEventsExchange(channel, namespace);
  for (const queue of queues) await declareQueue(channel, queue);
  await bindToEvents(channel, namespace, service, types);
};

/** Declares a queue of commands; what is provisioned is checked only. */
export const declareCommandQueue = async (
  channel: Channel,
  namespace: string,
  command: string,
  topology: Topology,
): Promise<void> => {
  const queue = commandQueueDefinition(namespace, command);
  if (topology === 'provisioned') await channel.checkQueue(queue.name);
  else await declareQueue(channel, queue);
};

/** Declares the queue of the replies to one client, which the broker deletes with its consumer. */
export const declareReplyQueue = async (
  channel: Channel,
  namespace: string,
  queue: string,
  topology: Topology,
): Promise<void> => {
  const exchange = commandsExchange(namespace);
  if (topology === 'declared') await channel.assertExchange(exchange, 'direct', { durable: true });
  await channel.assertQueue(queue, { exclusive: true, durable: false, autoDelete: true });
  await channel.bindQueue(queue, exchange, queue);
};

/** Headers of retried and dead-lettered events, and of commands. */
export const HEADER = {
  /** Failed tries so far. */
  attempts: 'x-attempts',
  /** The only consumer that a retried copy is for. */
  consumer: 'x-consumer',
  /** The last error, without a stack. */
  error: 'x-error',
  /** The type of the event: the routing key that it was published with. */
  originalRoutingKey: 'x-original-routing-key',
  /** ISO 8601, UTC. */
  firstFailure: 'x-first-failure',
  /** Milliseconds since 1970; an event is not handled earlier. */
  notBefore: 'x-not-before',
  /** Milliseconds since 1970; a command is not handled later. */
  deadline: 'x-deadline',
  traceparent: 'traceparent',
} as const;
