/** The names and arguments of everything that events need on the broker. */
import type { Channel, Options } from 'amqplib';
import { MINUTE_MS, SECOND_MS } from '../clock.ts';

/** How long a failing event waits before its next tries; after the last it is parked. */
export const RETRY_DELAYS_MS: readonly number[] = [
  SECOND_MS,
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
];

/** A message that was handed out this often without an answer takes its reader down: it is parked by the broker. */
const DELIVERY_LIMIT = 20;
/** Parked messages are handed out and returned each time an operator looks at them: that must never drop one. */
const UNLIMITED_DELIVERIES = 1_000_000_000;

export const eventsExchangeName = (namespace: string): string => `${namespace}.events`;
export const eventsQueue = (namespace: string, service: string): string => `${namespace}.${service}.events`;
export const deadQueue = (namespace: string, service: string): string => `${namespace}.${service}.dead`;
/** Whoever looks through the dead letters holds it: what one has in hand, the next would not see. */
export const deadLock = (namespace: string, service: string): string =>
  `${deadQueue(namespace, service)}.lock`;
export const retryQueue = (namespace: string, service: string, delayMs: number): string =>
  `${namespace}.${service}.retry.${delayMs}`;

/**
 * Replicated and on disk before it is confirmed. `reject-publish` is what at-least-once dead lettering needs: without
 * both, a message on its way from one queue to the next could be lost.
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

/**
 * Declares the exchange and one service's queues: its events, one queue per retry delay whose messages expire back into it, and its
 * dead letters. Rejects when a queue of that name exists with other arguments.
 */
export const declareServiceQueues = async (
  channel: Channel,
  namespace: string,
  service: string,
  retryDelaysMs: readonly number[],
): Promise<void> => {
  await declareEventsExchange(channel, namespace);
  const main = eventsQueue(namespace, service);
  const dead = deadQueue(namespace, service);
  await channel.assertQueue(dead, {
    durable: true,
    arguments: { ...QUORUM, 'x-delivery-limit': UNLIMITED_DELIVERIES },
  });
  await channel.assertQueue(main, deadLetteringTo(dead, { 'x-delivery-limit': DELIVERY_LIMIT }));
  for (const delayMs of retryDelaysMs) {
    await channel.assertQueue(
      retryQueue(namespace, service, delayMs),
      deadLetteringTo(main, { 'x-message-ttl': delayMs }),
    );
  }
};

/** A queue of commands that are asked and answered; each carries its own expiry. */
export const declareCommandQueue = async (channel: Channel, queue: string): Promise<void> => {
  await channel.assertQueue(queue, { durable: true, arguments: { ...QUORUM } });
};

/** Headers of retried and parked messages. */
export const HEADER = {
  /** Failed tries so far. */
  attempts: 'x-attempts',
  /** The one consumer that a copy is for. */
  consumer: 'x-consumer',
  /** What went wrong last, without a stack. */
  error: 'x-error',
  /** The event type it was published with. */
  originalRoutingKey: 'x-original-routing-key',
  /** ISO 8601, UTC. */
  firstFailure: 'x-first-failure',
  /** Milliseconds since 1970: a command is not handled later than this. */
  deadline: 'x-deadline',
  traceparent: 'traceparent',
} as const;
