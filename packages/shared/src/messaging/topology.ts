/** The names, arguments and declarations of all exchanges and queues of events and commands. */
import type { EventDefinition } from '@fitness/proto/events/define-event.ts';
import type { Channel, Options } from 'amqplib';
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
/** The queue of a command, e.g. `sms.send`. */
export const commandQueue = (namespace: string, command: string): string =>
  `${namespace}.commands.${command}`;

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
const deadLetteringTo = (target: string, more: Record<string, unknown>): Options.AssertQueue => ({
  durable: true,
  arguments: {
    ...QUORUM,
    'x-dead-letter-strategy': 'at-least-once',
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': target,
    ...more,
  },
});

/** Declares the queue of a service's events and binds it to `types`. */
const declareEventsQueue = async (
  channel: Channel,
  namespace: string,
  service: string,
  types: readonly string[],
): Promise<void> => {
  const queue = eventsQueue(namespace, service);
  const limit = { 'x-delivery-limit': DELIVERY_LIMIT };
  await channel.assertQueue(queue, deadLetteringTo(deadLetterQueue(namespace, service), limit));
  for (const type of types) await channel.bindQueue(queue, eventsExchangeName(namespace), type);
};

/** The services that consume at least one of `events`. */
export const consumersOf = (events: readonly EventDefinition[]): string[] => [
  ...new Set(events.flatMap(({ consumers = [] }) => consumers)),
];

/**
 * Declares the exchange and, for every service that consumes one of `events`, its queue with its bindings. A publisher
 * that has done this loses no event to a service that was never started yet.
 */
export const declareConsumerQueues = async (
  channel: Channel,
  namespace: string,
  events: readonly EventDefinition[],
): Promise<void> => {
  await declareEventsExchange(channel, namespace);
  for (const service of consumersOf(events)) {
    const consumed = events.filter(({ consumers = [] }) => consumers.includes(service));
    const types = consumed.map(({ type }) => type);
    await declareEventsQueue(channel, namespace, service, types);
  }
};

interface ServiceQueues {
  namespace: string;
  service: string;
  /** The event types that the service consumes. */
  types: readonly string[];
  retryDelaysMs: readonly number[];
}

/**
 * Declares the exchange and all queues of one service: its events, its dead letters, and one queue per retry delay, whose
 * messages expire back into the first. Rejects when a queue of that name exists with other arguments.
 */
export const declareServiceQueues = async (
  channel: Channel,
  { namespace, service, types, retryDelaysMs }: ServiceQueues,
): Promise<void> => {
  await declareEventsExchange(channel, namespace);
  await channel.assertQueue(deadLetterQueue(namespace, service), {
    durable: true,
    arguments: { ...QUORUM, 'x-delivery-limit': UNLIMITED_DELIVERIES },
  });
  await declareEventsQueue(channel, namespace, service, types);
  for (const delayMs of retryDelaysMs) {
    await channel.assertQueue(
      retryQueue(namespace, service, delayMs),
      deadLetteringTo(eventsQueue(namespace, service), { 'x-message-ttl': delayMs }),
    );
  }
};

/** Declares a queue of commands (rpc.ts). Each command carries its own expiry. */
export const declareCommandQueue = async (channel: Channel, queue: string): Promise<void> => {
  await channel.assertQueue(queue, { durable: true, arguments: { ...QUORUM } });
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
  /** Milliseconds since 1970; a command is not handled later. */
  deadline: 'x-deadline',
  traceparent: 'traceparent',
} as const;
