/** Delivers events to a service's consumers: each has its effect once, and a failing one holds up nobody. */
import { cloudEventSchema } from '@fitness/proto/events/envelope.ts';
import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import type { Logger } from 'pino';
import { z } from 'zod';
import { type Clock, systemClock } from '../clock.ts';
import { finishesWithin, sleep } from '../mongo/backoff.ts';
import type { Connection } from '../mongo/connect.ts';
import { prepareEventModels } from '../mongo/event-models.ts';
import { runWithTraceparent } from '../trace.ts';
import type { Broker } from './broker.ts';
import { closeChannel, stopConsuming } from './channel.ts';
import type { EventConsumer, ReceivedEvent } from './consumer-types.ts';
import { type DeliveryHistory, type FailureContext, nextStop, readHistory } from './failure.ts';
import { createForgetParked, type ForgetParked } from './forget-parked.ts';
import { handleOnce } from './inbox.ts';
import { createLanes, type Lanes } from './lanes.ts';
import { declareServiceQueues, eventsQueue, HEADER, RETRY_DELAYS_MS } from './topology.ts';

export {
  type EventConsumer,
  onEvent,
} from './consumer-types.ts';

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
  /** Waits before the tries after the first, in milliseconds. Part of the queues' names. */
  retryDelaysMs?: readonly number[] | undefined;
  /** Events handled at the same time by this process. Default 20. */
  prefetch?: number | undefined;
  /** Told of every event and consumer, for metrics. */
  onOutcome?: ((type: string, outcome: EventOutcome) => void) | undefined;
}

export interface Consumers {
  /** Takes no more events and waits for those at hand; what is not finished within 5 s is delivered again elsewhere. */
  close(): Promise<void>;
}

/**
 * Declares the service's queues, binds them to the types it listens to, and starts to handle. Resolves when it listens.
 *
 * Each consumer of an event gets it once and is retried alone: a retried copy names the one consumer that failed. In
 * this process events of one aggregate are handled in the order they came, others side by side; after a retry or
 * between replicas the order may differ, see `aggregateVersion`. A failing event waits in a queue of its own delay while
 * the others go on, and is parked in the dead-letter queue after the last delay; one that does not fit its schema is
 * parked at once.
 *
 * Rejects when two consumers have one name, or the broker holds queues of these names with other arguments.
 */
export const startConsumers = async (options: ConsumersOptions): Promise<Consumers> => {
  const { connection, broker, service, consumers, log } = options;
  const { retryDelaysMs = RETRY_DELAYS_MS, prefetch = PREFETCH } = options;
  rejectDuplicates(consumers);
  if (consumers.length === 0) return { close: async () => undefined };
  await prepareEventModels(connection);
  const byType = Map.groupBy(consumers, ({ event }) => event.type);
  const forgetParked = createForgetParked(options);
  const delivery: Delivery = { ...options, byType, forgetParked, lanes: createLanes(), gone: new WeakSet() };
  const queue = eventsQueue(broker.namespace, service);
  let consumerTag = '';
  const managed = await broker.openChannel(`${service} events`, async (channel) => {
    channel.once('close', () => delivery.gone.add(channel));
    await channel.prefetch(prefetch);
    await declareServiceQueues(channel, broker.namespace, service, retryDelaysMs);
    for (const type of byType.keys()) await channel.bindQueue(queue, broker.eventsExchange, type);
    const reply = await channel.consume(queue, (message) => {
      if (message !== null) void receive(delivery, channel, message);
      // The queue was deleted or moved under us: a new channel declares it again.
      else void closeChannel(channel);
    });
    consumerTag = reply.consumerTag;
  });
  return {
    close: async () => {
      await stopConsuming(managed.current(), consumerTag);
      const finished = await finishesWithin(delivery.lanes.idle(), CLOSE_TIMEOUT_MS);
      if (finished !== true)
        log.warn('events were still being handled at the end; they will be delivered again');
      await managed.close();
    },
  };
};

const rejectDuplicates = (consumers: readonly EventConsumer[]): void => {
  const names = new Set<string>();
  for (const { name } of consumers) {
    if (names.has(name))
      throw new Error(`Two event consumers are called ${name}; give one a name of its own`);
    names.add(name);
  }
};

interface Delivery extends ConsumersOptions {
  byType: ReadonlyMap<string, EventConsumer[]>;
  forgetParked: ForgetParked;
  lanes: Lanes;
  /** Closed channels: what was delivered on them is delivered again. */
  gone: WeakSet<ConfirmChannel>;
}

type Envelope = z.output<ReturnType<typeof cloudEventSchema>>;

const envelopeSchema = cloudEventSchema(z.unknown());

/** Handles one delivery and acks it in the end. Never rejects. */
const receive = async (
  delivery: Delivery,
  channel: ConfirmChannel,
  message: ConsumeMessage,
): Promise<void> => {
  const history = readHistory(message);
  const envelope = parseEnvelope(message.content);
  try {
    if (envelope instanceof Object && 'problem' in envelope) {
      await delivery.lanes.run('', async () => {
        const fail = { error: new Error(envelope.problem), hopeless: true };
        await moveOn(delivery, channel, message, history, fail);
      });
    } else {
      await delivery.lanes.run(`${envelope.source}/${envelope.subject}`, () =>
        runWithTraceparent(envelope.traceparent, () =>
          dispatch(delivery, channel, message, history, envelope),
        ),
      );
    }
    channel.ack(message);
  } catch (error) {
    // The channel is gone, and with it the duty to ack: the broker delivers the message again.
    delivery.log.debug({ err: error }, 'a delivery was left to be delivered again');
  }
};

const parseEnvelope = (content: Buffer): Envelope | { problem: string } => {
  let json: unknown;
  try {
    json = JSON.parse(content.toString('utf8'));
  } catch {
    return { problem: 'The message is not JSON' };
  }
  const parsed = envelopeSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  return { problem: `The message is not an event: ${describe(parsed.error)}` };
};

/** Field names and rules, without the values: they may be personal. */
const describe = (error: z.ZodError): string =>
  error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');

const dispatch = async (
  delivery: Delivery,
  channel: ConfirmChannel,
  message: ConsumeMessage,
  history: DeliveryHistory,
  envelope: Envelope,
): Promise<void> => {
  const all = delivery.byType.get(envelope.type) ?? [];
  const wanted = all.filter(({ name }) => history.consumer === undefined || history.consumer === name);
  const log = delivery.log.child({ event: envelope.type, event_id: envelope.id });
  if (wanted.length === 0) {
    // Left over from a release that listened to it.
    log.warn({ consumer: history.consumer }, 'an event that nobody here listens to was dropped');
    delivery.onOutcome?.(envelope.type, 'ignored');
  }
  for (const consumer of wanted) {
    const data = consumer.event.data.safeParse(envelope.data);
    if (!data.success) {
      const error = new Error(`The data does not fit the event: ${describe(data.error)}`);
      await moveOn(delivery, channel, message, history, { error, consumer: consumer.name, hopeless: true });
      continue;
    }
    try {
      const outcome = await handleOnce(delivery.connection, consumer, received(envelope, data.data), log);
      // Before the ack: a crash in between hands the event out again.
      const erased = consumer.event.erases?.(data.data);
      if (erased !== undefined) await delivery.forgetParked(erased);
      delivery.onOutcome?.(envelope.type, outcome);
    } catch (error) {
      await moveOn(delivery, channel, message, history, { error, consumer: consumer.name });
    }
  }
};

const received = (envelope: Envelope, data: unknown): ReceivedEvent => ({
  id: envelope.id,
  type: envelope.type,
  source: envelope.source,
  subject: envelope.subject,
  time: new Date(envelope.time),
  aggregateVersion: envelope.aggregateversion,
  data,
});

/**
 * Puts a copy into its next queue, confirmed, before the original may be acked. While the broker does not take it, it
 * tries again for as long as the channel lives; rejects when it is gone.
 */
const moveOn = async (
  delivery: Delivery,
  channel: ConfirmChannel,
  message: ConsumeMessage,
  history: DeliveryHistory,
  failure: Parameters<typeof nextStop>[2],
): Promise<void> => {
  const { broker, service, log, onOutcome, retryDelaysMs = RETRY_DELAYS_MS, clock = systemClock } = delivery;
  const context: FailureContext = { namespace: broker.namespace, service, retryDelaysMs, clock };
  const stop = nextStop(context, history, failure);
  const facts = {
    err: failure.error,
    event: history.originalRoutingKey,
    consumer: failure.consumer,
    queue: stop.queue,
    attempts: stop.headers[HEADER.attempts],
  };
  if (stop.outcome === 'dead') log.error(facts, 'an event was parked in the dead-letter queue');
  else log.warn(facts, 'an event could not be handled; it will be tried again');
  const options = { headers: stop.headers, contentType: 'application/cloudevents+json' };
  while (!delivery.gone.has(channel)) {
    const sent = await broker.publish('', stop.queue, message.content, options).catch(() => undefined);
    if (sent?.routed === true) {
      onOutcome?.(history.originalRoutingKey, stop.outcome);
      return;
    }
    // Somebody removed the queue: without it this event would hold its place, and in the end those behind it.
    if (sent !== undefined) await declareAgain(delivery);
    await sleep(REPUBLISH_DELAY_MS);
  }
  throw new Error('The channel closed before the copy was confirmed');
};

const declareAgain = async ({
  broker,
  service,
  log,
  retryDelaysMs = RETRY_DELAYS_MS,
}: Delivery): Promise<void> => {
  try {
    await broker.withChannel((channel) =>
      declareServiceQueues(channel, broker.namespace, service, retryDelaysMs),
    );
  } catch (error) {
    log.error({ err: error, service }, 'a removed queue could not be declared again');
  }
};
