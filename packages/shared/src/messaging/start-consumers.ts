/**
 * Delivers events to the consumers of a service. Written here because rascal and similar packages retry a message as a
 * whole, and may lose it when the retry cannot be published. Here each consumer is retried alone, and the original is acked after
 * the copy was confirmed.
 */
import { cloudEventSchema } from '@fitness/proto/events/envelope.ts';
import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import { z } from 'zod';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { createFairQueue, type FairQueue } from '../kernel/fair-queue.ts';
import { createKeyedQueue, type KeyedQueue } from '../kernel/keyed-queue.ts';
import type { Logger } from '../kernel/log.ts';
import { finishesWithin, sleep } from '../kernel/timing.ts';
import { currentTraceparent, inSpan, runWithTraceparent } from '../kernel/trace.ts';
import type { Connection } from '../mongo/connect.ts';
import type { Broker } from './broker.ts';
import { closeChannel, stopConsuming } from './channel.ts';
import type { EventConsumer, ReceivedEvent } from './consumer.ts';
import { createEraseDeadLetters, type EraseDeadLetters } from './erase-dead-letters.ts';
import { handleOnce } from './inbox.ts';
import { ensureEventIndexes } from './models.ts';
import {
  type DeliveryHistory,
  decideRetry,
  type RetryContext,
  type Route,
  readHistory,
  waitFor,
} from './retry.ts';
import { messageSpan } from './spans.ts';
import {
  consumerQueue,
  declareServiceQueues,
  formerEventsQueue,
  HEADER,
  RETRY_DELAYS_MS,
} from './topology.ts';

const PREFETCH = 20;
const REPUBLISH_DELAY_MS = 500;
const CLOSE_TIMEOUT_MS = 5_000;

export const EVENT_OUTCOMES = ['done', 'duplicate', 'retried', 'dead'] as const;
export type EventOutcome = (typeof EVENT_OUTCOMES)[number];

export interface ConsumersOptions {
  connection: Connection;
  broker: Broker;
  /** Names the service's queues. */
  service: string;
  consumers: readonly EventConsumer[];
  log: Logger;
  clock?: Clock | undefined;
  /** Delays of the tries after the first, in milliseconds. Part of the names of the queues in which events wait. */
  retryDelaysMs?: readonly number[] | undefined;
  /** Events handled at the same time by this process. Default 20; tests lower it to reach it with few messages. */
  prefetch?: number | undefined;
  /** Called for every event and consumer, for metrics. */
  onOutcome?: ((type: string, outcome: EventOutcome) => void) | undefined;
}

export interface Consumers {
  /** Takes no more events and waits for the running ones; what is not finished within 5 s is delivered again. */
  close(): Promise<void>;
}

/**
 * Declares the queues of the consumers and starts to consume. Resolves when it consumes.
 *
 * Each consumer has a separate queue, which is bound to the type of its event. A replica of another release takes no event that
 * it does not know. The queue of a consumer that it does not have is filled until a replica reads it. In one
 * process events of one aggregate are handled one at a time, those of one type in the order of delivery, others in parallel;
 * after a retry, between types and between replicas the order may differ, see `aggregateVersion`. A failed event waits for its
 * next delay, without blocking others, and is dead-lettered after the last delay; one that does not fit its schema is
 * dead-lettered at once.
 *
 * Rejects when two consumers have the same name, or when the broker has queues of these names with other arguments.
 */
export const startConsumers = async (options: ConsumersOptions): Promise<Consumers> => {
  const { connection, broker, service, consumers, log } = options;
  const { prefetch = PREFETCH } = options;
  rejectDuplicates(consumers);
  if (consumers.length === 0) return { close: async () => undefined };
  await ensureEventIndexes(connection);
  const context: ConsumerContext = {
    ...options,
    eraseDeadLetters: createEraseDeadLetters(options),
    keyedQueue: createKeyedQueue(),
    turns: createFairQueue({ maxRunning: prefetch }),
    closedChannels: new WeakSet(),
  };
  let consumerTags: string[] = [];
  const managed = await broker.openChannel(`${service} events`, async (channel) => {
    channel.once('close', () => context.closedChannels.add(channel));
    await channel.prefetch(prefetch);
    await declareServiceQueues(channel, topologyOf(context));
    consumerTags = [];
    for (const queue of await queuesOf(context)) {
      const reply = await channel.consume(queue.name, (message) => {
        if (message !== null) void receive(context, channel, queue, message);
        // The queue was deleted: a new channel declares it again.
        else void closeChannel(channel);
      });
      consumerTags.push(reply.consumerTag);
    }
  });
  return {
    close: async () => {
      await Promise.all(consumerTags.map((tag) => stopConsuming(managed.current(), tag)));
      const finished = await finishesWithin(context.keyedQueue.idle(), CLOSE_TIMEOUT_MS);
      if (!finished) log.warn('events were still being handled at the close; they will be delivered again');
      await managed.close();
    },
  };
};

/** A queue, and its consumer. The former queue of the service has several. */
interface ConsumedQueue {
  name: string;
  consumer: EventConsumer | undefined;
}

const queuesOf = async ({ broker, service, consumers }: ConsumerContext): Promise<ConsumedQueue[]> => {
  const { namespace } = broker;
  const queues: ConsumedQueue[] = consumers.map((consumer) => ({
    name: consumerQueue(namespace, service, consumer.name),
    consumer,
  }));
  const former = formerEventsQueue(namespace, service);
  return (await messagesIn(broker, former)) !== undefined
    ? [...queues, { name: former, consumer: undefined }]
    : queues;
};

const NOT_FOUND = 404;

/** Undefined when there is no such queue. */
export const messagesIn = (broker: Broker, queue: string): Promise<number | undefined> =>
  broker
    .withChannel((channel) => channel.checkQueue(queue))
    .then(
      ({ messageCount }) => messageCount,
      (error: unknown) => {
        if ((error as { code?: unknown }).code === NOT_FOUND) return undefined;
        throw error;
      },
    );

const rejectDuplicates = (consumers: readonly EventConsumer[]): void => {
  const names = new Set<string>();
  for (const { name } of consumers) {
    if (names.has(name)) throw new Error(`Two event consumers have the name ${name}; give one another name`);
    names.add(name);
  }
};

/** Dependencies of the handling of every delivery. */
interface ConsumerContext extends ConsumersOptions {
  eraseDeadLetters: EraseDeadLetters;
  keyedQueue: KeyedQueue;
  /** A round robin of the queues: many events of one type do not delay the others. */
  turns: FairQueue;
  /** Closed channels. The broker redelivers their unacked messages. */
  closedChannels: WeakSet<ConfirmChannel>;
}

const topologyOf = ({ broker, service, consumers, retryDelaysMs = RETRY_DELAYS_MS }: ConsumerContext) => ({
  namespace: broker.namespace,
  service,
  consumers: consumers.map(({ name, event }) => ({ name, type: event.type })),
  retryDelaysMs,
  topology: broker.topology,
});

type Envelope = z.output<ReturnType<typeof cloudEventSchema>>;

const envelopeSchema = cloudEventSchema(z.unknown());

/** Handles one delivery and acks it at the end. Never rejects. */
const receive = async (
  context: ConsumerContext,
  channel: ConfirmChannel,
  { name, consumer }: ConsumedQueue,
  message: ConsumeMessage,
): Promise<void> => {
  const history = readHistory(message, context.broker.eventsExchange);
  const envelope = parseEnvelope(message.content, history.publishedAs);
  const delivery: Delivery = { channel, message, history };
  const inTurn = (key: string, work: () => Promise<void>): Promise<void> =>
    context.keyedQueue.run(key, () => context.turns(name, work));
  try {
    if (typeof envelope === 'string') {
      // This runs in the queue, so closing waits for it.
      await inTurn('', () => refuse(context, delivery, consumer?.name, envelope));
    } else {
      await inTurn(`${envelope.source}/${envelope.subject}`, () =>
        runWithTraceparent(envelope.traceparent, () => dispatch(context, delivery, consumer, envelope)),
      );
    }
    channel.ack(message);
  } catch (error) {
    // The channel is closed: the broker delivers the message again.
    context.log.debug({ err: error }, 'a delivery was not acked and will be repeated');
  }
};

interface Delivery {
  channel: ConfirmChannel;
  message: ConsumeMessage;
  history: DeliveryHistory;
}

/** Dead-letters a message that no retry can help. */
const refuse = (
  context: ConsumerContext,
  delivery: Delivery,
  consumer: string | undefined,
  problem: string,
): Promise<void> =>
  retryOrDeadLetter(context, delivery, { error: new Error(problem), consumer, nonRetryable: true });

/**
 * The event, or the problem with the message. By the routing key, the broker lets a producer publish only its own types. A type
 * that differs from the key is one that its producer may not publish.
 */
const parseEnvelope = (content: Buffer, publishedAs: string | undefined): Envelope | string => {
  let json: unknown;
  try {
    json = JSON.parse(content.toString('utf8'));
  } catch {
    return 'The message is not JSON';
  }
  const parsed = envelopeSchema.safeParse(json);
  if (parsed.success && (publishedAs === undefined || parsed.data.type === publishedAs)) return parsed.data;
  if (parsed.success) return `The message is not an event: it was published as ${publishedAs}`;
  return `The message is not an event: ${describeIssues(parsed.error)}`;
};

/** Field names and rules, without the values, which may be personal. */
const describeIssues = (error: z.ZodError): string =>
  error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');

/** Passes the event to the consumer of its queue. From the former queue of the service, it goes to all of its consumers. */
const dispatch = async (
  context: ConsumerContext,
  delivery: Delivery,
  consumer: EventConsumer | undefined,
  envelope: Envelope,
): Promise<void> => {
  const candidates = consumer === undefined ? context.consumers : [consumer];
  const only = consumer === undefined ? delivery.history.consumer : undefined;
  const selected = candidates.filter(
    ({ event, name }) => event.type === envelope.type && (only === undefined || only === name),
  );
  if (selected.length === 0) {
    await refuse(context, delivery, consumer?.name ?? only, 'No consumer of this release handles the event');
  }
  for (const each of selected) {
    const waitMs = (delivery.history.notBefore ?? 0) - systemClock.now().getTime();
    if (waitMs > 0) await waitAgain(context, delivery, each, waitMs);
    else await handle(context, delivery, each, envelope);
  }
};

const handle = async (
  context: ConsumerContext,
  delivery: Delivery,
  consumer: EventConsumer,
  envelope: Envelope,
): Promise<void> => {
  const data = consumer.event.data.safeParse(envelope.data);
  if (!data.success) {
    const problem = `The data does not fit the event: ${describeIssues(data.error)}`;
    await refuse(context, delivery, consumer.name, problem);
    return;
  }
  const log = context.log.child({ event: envelope.type, event_id: envelope.id });
  try {
    const queue = consumerQueue(context.broker.namespace, context.service, consumer.name);
    const span = messageSpan('consumer', 'process', queue, currentTraceparent());
    const outcome = await inSpan(...span, async () => {
      const event = toReceivedEvent(envelope, data.data);
      const handled = await handleOnce(context.connection, consumer, event, log);
      // This precedes the ack: after a crash in between, the event is delivered again.
      const erased = consumer.event.erases?.(data.data);
      if (erased !== undefined) await context.eraseDeadLetters(erased);
      return handled;
    });
    context.onOutcome?.(envelope.type, outcome);
  } catch (error) {
    await retryOrDeadLetter(context, delivery, { error, consumer: consumer.name });
  }
};

const toReceivedEvent = (envelope: Envelope, data: unknown): ReceivedEvent => ({
  id: envelope.id,
  type: envelope.type,
  source: envelope.source,
  subject: envelope.subject,
  time: new Date(envelope.time),
  aggregateVersion: envelope.aggregateversion,
  data,
});

/** Delays the event again, because no queue has a delay as long as the pause that a provider asked for. */
const waitAgain = async (
  context: ConsumerContext,
  delivery: Delivery,
  consumer: EventConsumer,
  waitMs: number,
): Promise<void> => {
  const { broker, service, retryDelaysMs = RETRY_DELAYS_MS } = context;
  const route = waitFor({ namespace: broker.namespace, service, retryDelaysMs }, consumer.name, waitMs);
  const headers: Record<string, unknown> = delivery.message.properties.headers ?? {};
  // The headers of the broker are left out.
  const own = Object.values(HEADER).filter((name) => headers[name] !== undefined);
  const ownHeaders = Object.fromEntries(own.map((name) => [name, headers[name]]));
  await publishCopy(context, delivery, route, ownHeaders);
};

const retryOrDeadLetter = async (
  context: ConsumerContext,
  delivery: Delivery,
  failure: Parameters<typeof decideRetry>[2],
): Promise<void> => {
  const { broker, service, log, onOutcome, retryDelaysMs = RETRY_DELAYS_MS, clock = systemClock } = context;
  const { history } = delivery;
  const retryContext: RetryContext = { namespace: broker.namespace, service, retryDelaysMs, clock };
  const next = decideRetry(retryContext, history, failure);
  const facts = {
    err: failure.error,
    event: history.originalRoutingKey,
    consumer: failure.consumer,
    attempts: next.headers[HEADER.attempts],
  };
  if (next.outcome === 'dead') log.error(facts, 'an event was dead-lettered');
  else log.warn(facts, 'an event could not be handled; it will be retried');
  await publishCopy(context, delivery, next, next.headers);
  onOutcome?.(history.originalRoutingKey, next.outcome);
};

/**
 * Publishes a copy to its next queue and waits for the confirm. Only then may the original be acked. Repeats this until
 * the broker confirms; rejects when the channel of the original is closed.
 */
const publishCopy = async (
  context: ConsumerContext,
  { channel, message }: Delivery,
  { exchange, routingKey }: Route,
  headers: Record<string, unknown>,
): Promise<void> => {
  const options = { headers, contentType: 'application/cloudevents+json' };
  while (!context.closedChannels.has(channel)) {
    const sent = await context.broker
      .publish(exchange, routingKey, message.content, options)
      .catch(() => undefined);
    if (sent?.routed === true) return;
    // The queue was deleted. If it were not declared again, this event would stay prefetched forever.
    if (sent !== undefined) await declareAgain(context);
    await sleep(REPUBLISH_DELAY_MS);
  }
  throw new Error('The channel closed before the copy was confirmed');
};

const declareAgain = async (context: ConsumerContext): Promise<void> => {
  const { broker, service, log } = context;
  try {
    await broker.withChannel((channel) => declareServiceQueues(channel, topologyOf(context)));
  } catch (error) {
    log.error({ err: error, service }, 'a deleted queue could not be declared again');
  }
};
