/**
 * Handles a delivered event: passes it to its consumer, and retries or dead-letters it. Each consumer is retried alone, and the
 * original is acked after the copy was confirmed.
 */
import { cloudEventSchema } from '@fitness/proto/events/envelope.ts';
import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import { z } from 'zod';
import { systemClock } from '../kernel/clock.ts';
import { sleep } from '../kernel/timing.ts';
import { currentTraceparent, inSpan, runWithTraceparent } from '../kernel/trace.ts';
import type { EventConsumer, ReceivedEvent } from './consumer.ts';
import { type ConsumerContext, topologyOf } from './consumer-context.ts';
import { handleOnce } from './inbox.ts';
import {
  type DeliveryHistory,
  decideRetry,
  type RetryContext,
  type Route,
  readHistory,
  waitFor,
} from './retry.ts';
import { messageSpan } from './spans.ts';
import { consumerQueue, declareServiceQueues, HEADER, RETRY_DELAYS_MS } from './topology.ts';

const REPUBLISH_DELAY_MS = 500;

/** A queue, and its consumer. The former queue of the service has several. */
export interface ConsumedQueue {
  name: string;
  consumer: EventConsumer | undefined;
}

type Envelope = z.output<ReturnType<typeof cloudEventSchema>>;

const envelopeSchema = cloudEventSchema(z.unknown());

/** Handles one delivery and acks it at the end. Never rejects. */
export const receive = async (
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
