/**
 * Delivers events to the consumers of a service. Written here because rascal and similar packages retry a message as a
 * whole, and may lose it when the retry cannot be published (handle-delivery.ts).
 */
import { createFairQueue } from '../kernel/fair-queue.ts';
import { createKeyedQueue } from '../kernel/keyed-queue.ts';
import { finishesWithin } from '../kernel/timing.ts';
import type { Broker } from './broker.ts';
import { closeChannel, stopConsuming } from './channel.ts';
import type { EventConsumer } from './consumer.ts';
import { type ConsumerContext, type ConsumersOptions, topologyOf } from './consumer-context.ts';
import { createEraseDeadLetters } from './erase-dead-letters.ts';
import { type ConsumedQueue, receive } from './handle-delivery.ts';
import { ensureEventIndexes } from './models.ts';
import { consumerQueue, declareServiceQueues, formerEventsQueue } from './topology.ts';

const PREFETCH = 20;
const CLOSE_TIMEOUT_MS = 5_000;

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
