/**
 * Delivers events to the consumers of a service. Written here because rascal and similar packages retry a message as a
 * whole, and may lose it when the retry cannot be published. Here each consumer is retried alone, and the original is acked after
 * the copy was confirmed.
 */
import { cloudEventSchema } from '@fitness/proto/events/envelope.ts';
import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import { z } from 'zod';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { createKeyedQueue, type KeyedQueue } from '../kernel/keyed-queue.ts';
import type { Logger } from '../kernel/log.ts';
import { finishesWithin, sleep } from '../kernel/timing.ts';
import { runWithTraceparent } from '../kernel/trace.ts';
import type { Connection } from '../mongo/connect.ts';
import type { Broker } from './broker.ts';
import { closeChannel, stopConsuming } from './channel.ts';
import type { EventConsumer, ReceivedEvent } from './consumer.ts';
import { createEraseDeadLetters, type EraseDeadLetters } from './erase-dead-letters.ts';
import { handleOnce } from './inbox.ts';
import { ensureEventIndexes } from './models.ts';
import { type DeliveryHistory, decideRetry, queueFor, type RetryContext, readHistory } from './retry.ts';
import { declareServiceQueues, eventsQueue, HEADER, RETRY_DELAYS_MS, serviceExchange } from './topology.ts';

const PREFETCH = 20;
const REPUBLISH_DELAY_MS = 500;
const CLOSE_TIMEOUT_MS = 5_000;

export type EventOutcome = 'done' | 'duplicate' | 'retried' | 'dead' | 'ignored';

export interface ConsumersOptions {
  connection: Connection;
  broker: Broker;
  /** Names the service's queues. */
  service: string;
  consumers: readonly EventConsumer[];
  log: Logger;
  clock?: Clock | undefined;
  /** Delays of the tries after the first, in milliseconds. Part of the queues' names. */
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
 * Declares the service's queues, binds them to the consumed types, and starts to consume. Resolves when it consumes.
 *
 * Each consumer of an event is called once and retried alone: a retried copy names the one consumer that failed. In one
 * process events of one aggregate are handled in the order of delivery, others in parallel; after a retry or between
 * replicas the order may differ, see `aggregateVersion`. A failed event waits in the retry queue of its next delay, without
 * blocking others, and is dead-lettered after the last delay; one that does not fit its schema is dead-lettered at once.
 *
 * Rejects when two consumers have the same name, or when the broker has queues of these names with other arguments.
 */
export const startConsumers = async (options: ConsumersOptions): Promise<Consumers> => {
  const { connection, broker, service, consumers, log } = options;
  const { prefetch = PREFETCH } = options;
  rejectDuplicates(consumers);
  if (consumers.length === 0) return { close: async () => undefined };
  await ensureEventIndexes(connection);
  const byType = Map.groupBy(consumers, ({ event }) => event.type);
  const eraseDeadLetters = createEraseDeadLetters(options);
  const context: ConsumerContext = {
    ...options,
    byType,
    eraseDeadLetters,
    keyedQueue: createKeyedQueue(),
    closedChannels: new WeakSet(),
  };
  const queue = eventsQueue(broker.namespace, service);
  let consumerTag = '';
  const managed = await broker.openChannel(`${service} events`, async (channel) => {
    channel.once('close', () => context.closedChannels.add(channel));
    await channel.prefetch(prefetch);
    await declareServiceQueues(channel, topologyOf(context));
    const reply = await channel.consume(queue, (message) => {
      if (message !== null) void receive(context, channel, message);
      // The queue was deleted: a new channel declares it again.
      else void closeChannel(channel);
    });
    consumerTag = reply.consumerTag;
  });
  return {
    close: async () => {
      await stopConsuming(managed.current(), consumerTag);
      const finished = await finishesWithin(context.keyedQueue.idle(), CLOSE_TIMEOUT_MS);
      if (!finished) log.warn('events were still being handled at the close; they will be delivered again');
      await managed.close();
    },
  };
};

const rejectDuplicates = (consumers: readonly EventConsumer[]): void => {
  const names = new Set<string>();
  for (const { name } of consumers) {
    if (names.has(name)) throw new Error(`Two event consumers have the name ${name}; give one another name`);
    names.add(name);
  }
};

/** What the handling of every delivery needs. */
interface ConsumerContext extends ConsumersOptions {
  byType: ReadonlyMap<string, EventConsumer[]>;
  eraseDeadLetters: EraseDeadLetters;
  keyedQueue: KeyedQueue;
  /** The broker delivers again what was delivered on these and not acked. */
  closedChannels: WeakSet<ConfirmChannel>;
}

const topologyOf = ({ broker, service, byType, retryDelaysMs = RETRY_DELAYS_MS }: ConsumerContext) => ({
  namespace: broker.namespace,
  service,
  types: [...byType.keys()],
  retryDelaysMs,
  topology: broker.topology,
});

type Envelope = z.output<ReturnType<typeof cloudEventSchema>>;

const envelopeSchema = cloudEventSchema(z.unknown());

/** Handles one delivery and acks it at the end. Never rejects. */
const receive = async (
  context: ConsumerContext,
  channel: ConfirmChannel,
  message: ConsumeMessage,
): Promise<void> => {
  const history = readHistory(message, context.broker.eventsExchange);
  const envelope = parseEnvelope(message.content, history.publishedAs);
  try {
    if (typeof envelope === 'string') {
      // In the queue as well, so that closing waits for it.
      await context.keyedQueue.run('', async () => {
        const failure = { error: new Error(envelope), nonRetryable: true };
        await retryOrDeadLetter(context, channel, message, history, failure);
      });
    } else {
      await context.keyedQueue.run(`${envelope.source}/${envelope.subject}`, () =>
        runWithTraceparent(envelope.traceparent, async () => {
          const waitMs = (history.notBefore ?? 0) - systemClock.now().getTime();
          if (waitMs > 0) await waitAgain(context, channel, message, waitMs);
          else await dispatch(context, channel, message, history, envelope);
        }),
      );
    }
    channel.ack(message);
  } catch (error) {
    // The channel is closed: the broker delivers the message again.
    context.log.debug({ err: error }, 'a delivery was not acked and will be repeated');
  }
};

/**
 * The event, or what is wrong with the message. The broker lets a producer publish its own types only, by the routing key: a
 * message under another one is an event that its producer may not publish.
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

const dispatch = async (
  context: ConsumerContext,
  channel: ConfirmChannel,
  message: ConsumeMessage,
  history: DeliveryHistory,
  envelope: Envelope,
): Promise<void> => {
  const all = context.byType.get(envelope.type) ?? [];
  const wanted = all.filter(({ name }) => history.consumer === undefined || history.consumer === name);
  const log = context.log.child({ event: envelope.type, event_id: envelope.id });
  if (wanted.length === 0) {
    // Published for a consumer of an older release: its binding stays.
    log.warn({ consumer: history.consumer }, 'an event without a consumer here was dropped');
    context.onOutcome?.(envelope.type, 'ignored');
  }
  for (const consumer of wanted) {
    const data = consumer.event.data.safeParse(envelope.data);
    if (!data.success) {
      const error = new Error(`The data does not fit the event: ${describeIssues(data.error)}`);
      await retryOrDeadLetter(context, channel, message, history, {
        error,
        consumer: consumer.name,
        nonRetryable: true,
      });
      continue;
    }
    try {
      const outcome = await handleOnce(
        context.connection,
        consumer,
        toReceivedEvent(envelope, data.data),
        log,
      );
      // Before the ack: after a crash in between the event is delivered again.
      const erased = consumer.event.erases?.(data.data);
      if (erased !== undefined) await context.eraseDeadLetters(erased);
      context.onOutcome?.(envelope.type, outcome);
    } catch (error) {
      await retryOrDeadLetter(context, channel, message, history, { error, consumer: consumer.name });
    }
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

/** No delay is as long as what a provider has asked for. */
const waitAgain = async (
  context: ConsumerContext,
  channel: ConfirmChannel,
  message: ConsumeMessage,
  waitMs: number,
): Promise<void> => {
  const { broker, service, retryDelaysMs = RETRY_DELAYS_MS } = context;
  const queue = queueFor({ namespace: broker.namespace, service, retryDelaysMs }, waitMs);
  const headers: Record<string, unknown> = message.properties.headers ?? {};
  // Without those of the broker.
  const own = Object.values(HEADER).filter((name) => headers[name] !== undefined);
  const kept = Object.fromEntries(own.map((name) => [name, headers[name]]));
  await publishCopy(context, channel, message, { queue, headers: kept });
};

const retryOrDeadLetter = async (
  context: ConsumerContext,
  channel: ConfirmChannel,
  message: ConsumeMessage,
  history: DeliveryHistory,
  failure: Parameters<typeof decideRetry>[2],
): Promise<void> => {
  const { broker, service, log, onOutcome, retryDelaysMs = RETRY_DELAYS_MS, clock = systemClock } = context;
  const retryContext: RetryContext = { namespace: broker.namespace, service, retryDelaysMs, clock };
  const next = decideRetry(retryContext, history, failure);
  const facts = {
    err: failure.error,
    event: history.originalRoutingKey,
    consumer: failure.consumer,
    queue: next.queue,
    attempts: next.headers[HEADER.attempts],
  };
  if (next.outcome === 'dead') log.error(facts, 'an event was dead-lettered');
  else log.warn(facts, 'an event could not be handled; it will be retried');
  await publishCopy(context, channel, message, next);
  onOutcome?.(history.originalRoutingKey, next.outcome);
};

/**
 * Publishes a copy to its next queue and waits for the confirm; only then may the original be acked. Repeats this until
 * the broker confirms; rejects when the channel of the original is closed.
 */
const publishCopy = async (
  context: ConsumerContext,
  channel: ConfirmChannel,
  message: ConsumeMessage,
  { queue, headers }: { queue: string; headers: Record<string, unknown> },
): Promise<void> => {
  const { broker, service } = context;
  const options = { headers, contentType: 'application/cloudevents+json' };
  const exchange = serviceExchange(broker.namespace, service);
  while (!context.closedChannels.has(channel)) {
    const sent = await broker.publish(exchange, queue, message.content, options).catch(() => undefined);
    if (sent?.routed === true) return;
    // The queue was deleted: without it this event would stay one of the prefetched messages for ever.
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
