/** One at a time, over all processes that share a broker. */
import type { ConfirmChannel } from 'amqplib';
import { sleep } from '../mongo/backoff.ts';
import type { Broker } from './broker.ts';

const POLL_MS = 25;
const RESOURCE_LOCKED = 405;

/** By broker and name: who waits in this process, whose connection the lock below does not tell from itself. */
const waiting = new WeakMap<Broker, Map<string, Promise<unknown>>>();

/**
 * Runs `use` on a channel of its own while no other process runs one under this `name`. The lock is an exclusive queue: the
 * broker removes it with the connection of whoever holds it, so that nobody waits for the dead.
 */
export const exclusively = <T>(
  broker: Broker,
  name: string,
  use: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> => {
  const queues = waiting.get(broker) ?? new Map<string, Promise<unknown>>();
  waiting.set(broker, queues);
  const mine = (queues.get(name) ?? Promise.resolve()).then(() => locked(broker, name, use));
  queues.set(
    name,
    mine.catch(() => undefined),
  );
  return mine;
};

const locked = async <T>(
  broker: Broker,
  name: string,
  use: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> => {
  for (;;) {
    const outcome = await broker.withChannel(async (channel) => {
      try {
        await channel.assertQueue(name, { exclusive: true, durable: false });
      } catch (error) {
        // The broker has closed this channel; the next try has its own.
        if ((error as { code?: unknown }).code === RESOURCE_LOCKED) return 'taken' as const;
        throw error;
      }
      try {
        return { result: await use(channel) };
      } finally {
        await channel.deleteQueue(name).catch(() => undefined);
      }
    });
    if (outcome !== 'taken') return outcome.result;
    await sleep(POLL_MS);
  }
};
