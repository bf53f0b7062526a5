/** For tests that share a broker: watching events, and leaving nothing behind. */
import { type CloudEvent, cloudEventSchema } from '@fitness/proto/events/envelope.ts';
import { z } from 'zod';
import { sleep } from '../mongo/backoff.ts';
import type { Broker } from './broker.ts';
import { deadQueue, declareEventsExchange, eventsQueue, RETRY_DELAYS_MS, retryQueue } from './topology.ts';

export interface EventTap {
  /** Every event seen so far, in the order of arrival. */
  readonly events: CloudEvent[];
  /** The first event of `type` (that `matches`), seen already or within `timeoutMs` (default 40 s); rejects otherwise. */
  waitFor(
    type: string,
    options?: { matches?: (event: CloudEvent) => boolean; timeoutMs?: number },
  ): Promise<CloudEvent>;
  close(): Promise<void>;
}

/** Listens to events of the namespace; `pattern` is a topic pattern, all by default. */
export const tapEvents = async (broker: Broker, pattern = '#'): Promise<EventTap> => {
  const envelope = cloudEventSchema(z.unknown());
  const events: CloudEvent[] = [];
  const managed = await broker.openChannel('event tap', async (channel) => {
    await declareEventsExchange(channel, broker.namespace);
    const { queue } = await channel.assertQueue('', { exclusive: true, durable: false, autoDelete: true });
    await channel.bindQueue(queue, broker.eventsExchange, pattern);
    const take = (content: Buffer): void =>
      void events.push(envelope.parse(JSON.parse(content.toString('utf8'))));
    await channel.consume(queue, (message) => message !== null && take(message.content), { noAck: true });
  });
  return {
    events,
    waitFor: async (type, { matches = () => true, timeoutMs = 40_000 } = {}) => {
      const deadline = performance.now() + timeoutMs;
      for (;;) {
        const found = events.find((event) => event.type === type && matches(event));
        if (found !== undefined) return found;
        if (performance.now() > deadline) throw new Error(`No event ${type} within ${timeoutMs} ms`);
        await sleep(5);
      }
    },
    close: () => managed.close(),
  };
};

/** Deletes the queues of `services`, the further `queues` given by name, and the namespace's exchange. */
export const deleteTopology = async (
  broker: Broker,
  {
    services = [],
    queues = [],
    retryDelaysMs = RETRY_DELAYS_MS,
  }: {
    services?: readonly string[];
    queues?: readonly string[];
    retryDelaysMs?: readonly number[];
  },
): Promise<void> => {
  const { namespace, eventsExchange } = broker;
  const ofService = (service: string): string[] => [
    eventsQueue(namespace, service),
    ...retryDelaysMs.map((delayMs) => retryQueue(namespace, service, delayMs)),
    deadQueue(namespace, service),
  ];
  await broker.withChannel(async (channel) => {
    for (const queue of [...services.flatMap(ofService), ...queues]) await channel.deleteQueue(queue);
    await channel.deleteExchange(eventsExchange);
  });
};
