/** The names, arguments and declarations of all exchanges and queues of events and commands. */
import { createHash } from 'node:crypto';
import type { EventDefinition } from '@fitness/proto/events/define-event.ts';
import type { Channel } from 'amqplib';
import { MINUTE_MS, SECOND_MS } from '../kernel/clock.ts';

/**
 * Delays before each further attempt to handle a failed event. After the last attempt, the event is
 * dead-lettered.
 */
export const RETRY_DELAYS_MS: readonly number[] = [
  SECOND_MS,
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
];

/**
 * The broker dead-letters a message after this many deliveries without an ack. Such a message probably crashes
 * its consumer.
 */
const DELIVERY_LIMIT = 20;
/** Listing dead letters delivers each of them and returns it to the queue. This must never delete one. */
const UNLIMITED_DELIVERIES = 1_000_000_000;

export const eventsExchangeName = (namespace: string): string => `${namespace}.events`;
/** The queue of one consumer of a service, bound only to the type of its event. */
export const consumerQueue = (namespace: string, service: string, consumer: string): string =>
  `${formerEventsQueue(namespace, service)}.${consumer}`;
/** The single queue for all consumers of a service in release 1.0. It is read while it exists, but not declared. */
export const formerEventsQueue = (namespace: string, service: string): string =>
  `${namespace}.${service}.events`;
export const deadLetterQueue = (namespace: string, service: string): string => `${namespace}.${service}.dead`;
/** The lock for reading dead letters: messages that were delivered to one reader are invisible to the next. */
export const deadLetterLock = (namespace: string, service: string): string =>
  `${deadLetterQueue(namespace, service)}.lock`;
/**
 * Name of the queue in which events wait for their next attempt, and of the exchange that leads to it. The
 * routing key of a waiting event is the name of its consumer's queue, to which it returns.
 */
export const waitQueue = (namespace: string, service: string, delayMs: number): string =>
  `${waitQueuePrefix(namespace, service)}${delayMs}`;
export const waitQueuePrefix = (namespace: string, service: string): string =>
  `${namespace}.${service}.wait.`;
/**
 * The direct exchange that routes to the queues of one service by name. The default exchange reaches every queue
 * too, but a permission for it would cover the queues of all services.
 */
export const serviceExchange = (namespace: string, service: string): string => `${namespace}.${service}`;
/** The queue of a command, e.g. `sms.send`. */
export const commandQueue = (namespace: string, command: string): string =>
  `${namespace}.commands.${command}`;
/** The direct exchange that routes to the queues of commands and replies by name. */
export const commandsExchange = (namespace: string): string => `${namespace}.commands`;
/** The queue for the replies to one client. Each of the client's channels has a new `id`. */
export const replyQueue = (namespace: string, command: string, id: string): string =>
  `${commandQueue(namespace, command)}.replies.${id}`;

/**
 * Who declares exchanges and queues. `declared`: the processes do. `provisioned`: an operator has done so
 * (provisioning/rabbitmq.ts). The processes then lack the permission, and only check the mark and their queues.
 */
export type Topology = 'declared' | 'provisioned';

/**
 * A message is replicated and on disk before it is confirmed. At-least-once dead lettering requires
 * `reject-publish`. Without both, a message could be lost between two queues.
 */
const QUORUM = {
  'x-queue-type': 'quorum',
  'x-overflow': 'reject-publish',
} as const;

/** Declares the durable topic exchange of all events. */
export const declareEventsExchange = async (channel: Channel, namespace: string): Promise<void> => {
  await channel.assertExchange(eventsExchangeName(namespace), 'topic', { durable: true });
};

/** Arguments of a quorum queue whose dead letters go to `exchange`. Without a key they keep their original routing key. */
const deadLetteringTo = (
  exchange: string,
  routingKey: string | undefined,
  more: Record<string, unknown>,
): Record<string, unknown> => ({
  ...QUORUM,
  'x-dead-letter-strategy': 'at-least-once',
  'x-dead-letter-exchange': exchange,
  ...(routingKey === undefined ? {} : { 'x-dead-letter-routing-key': routingKey }),
  ...more,
});

export interface Binding {
  exchange: string;
  type: 'topic' | 'direct' | 'fanout';
  routingKey: string;
}

/** A durable queue and its bindings. */
export interface QueueDefinition {
  name: string;
  arguments: Record<string, unknown>;
  bindings: readonly Binding[];
}

const byItsName = (exchange: string, name: string): Binding => ({
  exchange,
  type: 'direct',
  routingKey: name,
});

/** A consumer of a service, and the type of its event. */
export interface Consumer {
  service: string;
  name: string;
  type: string;
}

/** All consumers of `events`. An entry of their `consumers` is a service, or `<service>/<name of the consumer>`. */
export const consumersOf = (events: readonly EventDefinition[]): Consumer[] =>
  events.flatMap(({ type, consumers = [] }) =>
    consumers.map((entry) => {
      const [service = '', name = type] = entry.split('/');
      return { service, name, type };
    }),
  );

/** The types of all events of a service begin with it. */
export const eventPrefix = (service: string): string => `${service.replaceAll('-', '_')}.`;

/** The services that consume at least one of `events`. */
export const consumingServices = (events: readonly EventDefinition[]): string[] => [
  ...new Set(consumersOf(events).map(({ service }) => service)),
];

export const consumerQueueDefinition = (
  namespace: string,
  { service, name, type }: Consumer,
): QueueDefinition => {
  const queue = consumerQueue(namespace, service, name);
  return {
    name: queue,
    arguments: deadLetteringTo('', deadLetterQueue(namespace, service), {
      'x-delivery-limit': DELIVERY_LIMIT,
    }),
    bindings: [
      byItsName(serviceExchange(namespace, service), queue),
      { exchange: eventsExchangeName(namespace), type: 'topic', routingKey: type },
    ],
  };
};

/** The queues that all consumers of a service share: its dead letters, and one for each delay of a retry. */
export const serviceQueueDefinitions = (
  namespace: string,
  service: string,
  retryDelaysMs: readonly number[],
): QueueDefinition[] => {
  const exchange = serviceExchange(namespace, service);
  const dead = deadLetterQueue(namespace, service);
  return [
    {
      name: dead,
      arguments: { ...QUORUM, 'x-delivery-limit': UNLIMITED_DELIVERIES },
      bindings: [byItsName(exchange, dead)],
    },
    ...retryDelaysMs.map((delayMs): QueueDefinition => {
      const name = waitQueue(namespace, service, delayMs);
      return {
        name,
        arguments: deadLetteringTo(exchange, undefined, { 'x-message-ttl': delayMs }),
        bindings: [{ exchange: name, type: 'fanout', routingKey: '' }],
      };
    }),
  ];
};

/** A queue of commands (rpc.ts). Each command carries its own expiry. */
export const commandQueueDefinition = (namespace: string, command: string): QueueDefinition => {
  const name = commandQueue(namespace, command);
  return { name, arguments: { ...QUORUM }, bindings: [byItsName(commandsExchange(namespace), name)] };
};

export const declareQueues = async (channel: Channel, queues: readonly QueueDefinition[]): Promise<void> => {
  const bindings = queues.flatMap((queue) => queue.bindings);
  const exchanges = new Map(bindings.map(({ exchange, type }) => [exchange, type]));
  for (const [exchange, type] of exchanges) await channel.assertExchange(exchange, type, { durable: true });
  for (const queue of queues) {
    await channel.assertQueue(queue.name, { durable: true, arguments: queue.arguments });
    for (const { exchange, routingKey } of queue.bindings)
      await channel.bindQueue(queue.name, exchange, routingKey);
  }
};

/** The name of a {@link topologyMark} without its hash. */
export const topologyMarkPrefix = (namespace: string): string => `${namespace}.topology.`;

/**
 * The name of an exchange that only marks the provisioned topology. It exists once all consumers of these events
 * have queues. A process cannot check the queues of others, and a consumer without a queue would lose its events.
 */
export const topologyMark = (namespace: string, events: readonly EventDefinition[]): string => {
  const queues = consumersOf(events).map(
    ({ service, name, type }) => `${consumerQueue(namespace, service, name)} ${type}`,
  );
  const hash = createHash('sha256').update(queues.toSorted().join('\n')).digest('hex');
  return `${topologyMarkPrefix(namespace)}${hash.slice(0, 16)}`;
};

/** The events whose consumers need queues before a process publishes. */
export interface PublishedEvents {
  /** All events of the product. */
  events: readonly EventDefinition[];
  /** The service that publishes; without it, all events are published. */
  producer?: string | undefined;
  topology: Topology;
}

/**
 * Declares the exchange and the queue of every consumer of the events of `producer`. After this, no event is lost for a
 * consumer that has never been started. If the topology is provisioned, only the mark is checked, because a process
 * cannot check the queues of others. Rejects with a 404 if the mark is missing.
 */
export const declareConsumerQueues = async (
  channel: Channel,
  namespace: string,
  { events, producer, topology }: PublishedEvents,
): Promise<void> => {
  if (topology === 'provisioned') {
    if (consumersOf(events).length > 0) await channel.checkExchange(topologyMark(namespace, events));
    return;
  }
  const prefix = producer === undefined ? '' : eventPrefix(producer);
  const consumers = consumersOf(events.filter(({ type }) => type.startsWith(prefix)));
  await declareEventsExchange(channel, namespace);
  await declareQueues(
    channel,
    consumers.map((consumer) => consumerQueueDefinition(namespace, consumer)),
  );
};

interface ServiceQueues {
  namespace: string;
  service: string;
  /** Names of the consumers, and the types of their events. */
  consumers: readonly Omit<Consumer, 'service'>[];
  retryDelaysMs: readonly number[];
  topology?: Topology | undefined;
}

/**
 * Declares the exchanges and all queues of one service, or only checks them if they are provisioned. Rejects if a
 * queue exists with other arguments.
 */
export const declareServiceQueues = async (
  channel: Channel,
  { namespace, service, consumers, retryDelaysMs, topology = 'declared' }: ServiceQueues,
): Promise<void> => {
  const queues = [
    ...serviceQueueDefinitions(namespace, service, retryDelaysMs),
    ...consumers.map((consumer) => consumerQueueDefinition(namespace, { service, ...consumer })),
  ];
  if (topology === 'provisioned') for (const { name } of queues) await channel.checkQueue(name);
  else await declareQueues(channel, queues);
};

/** Declares a queue of commands, or only checks it if it is provisioned. */
export const declareCommandQueue = async (
  channel: Channel,
  namespace: string,
  command: string,
  topology: Topology,
): Promise<void> => {
  const queue = commandQueueDefinition(namespace, command);
  if (topology === 'provisioned') await channel.checkQueue(queue.name);
  else await declareQueues(channel, [queue]);
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
  /** Failed attempts so far. */
  attempts: 'x-attempts',
  /** The only consumer that a retried copy is for. */
  consumer: 'x-consumer',
  /** The last error, without a stack. */
  error: 'x-error',
  /** The type of the event: the routing key that it was published with. */
  originalRoutingKey: 'x-original-routing-key',
  /** ISO 8601, UTC. */
  firstFailure: 'x-first-failure',
  /** Milliseconds since 1970. The event is not handled earlier. */
  notBefore: 'x-not-before',
  /** Milliseconds since 1970. The command is not handled later. */
  deadline: 'x-deadline',
  traceparent: 'traceparent',
} as const;
