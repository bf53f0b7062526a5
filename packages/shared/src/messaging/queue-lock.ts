/** A lock between all processes that share a broker. */
import type { ConfirmChannel } from 'amqplib';
import { sleep } from '../kernel/timing.ts';
import type { Broker } from './broker.ts';

const POLL_MS = 25;
const RESOURCE_LOCKED = 405;

/** The last holder or waiter of this process, by broker and name. RabbitMQ does not lock out the connection of the holder. */
const waiting = new WeakMap<Broker, Map<string, Promise<unknown>>>();

/**
 * Runs `use` on a new channel while it holds the lock `name` exclusively. The lock is an exclusive queue. The broker deletes
 * it with the connection of its holder, so a crash releases it.
 */
export const withQueueLock = <T>(
  broker: Broker,
  name: string,
  use: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> => {
  const queues = waiting.get(broker) ?? new Map<string, Promise<unknown>>();
  waiting.set(broker, queues);
  const mine = (queues.get(name) ?? Promise.resolve()).then(() => lockAndRun(broker, name, use));
  queues.set(
    name,
    mine.catch(() => undefined),
  );
  return mine;
};

const lockAndRun = async <T>(
  broker: Broker,
  name: string,
  use: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> => {
  for (;;) {
    const outcome = await broker.withChannel(async (channel) => {
      try {
        await channel.assertQueue(name, { exclusive: true, durable: false });
      } catch (error) {
        // The broker has closed this channel; the next attempt opens another.
        if ((error as { code?: unknown }).code === RESOURCE_LOCKED) return 'locked' as const;
        throw error;
      }
      try {
        return { result: await use(channel) };
      } finally {
        await channel.deleteQueue(name).catch(() => undefined);
      }
    });
    if (outcome !== 'locked') return outcome.result;
    await sleep(POLL_MS);
  }
};
