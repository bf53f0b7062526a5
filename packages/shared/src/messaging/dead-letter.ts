/** The events that a service could not handle. An operator lists, replays or purges them. */
import type { ConfirmChannel, GetMessage } from 'amqplib';
import { sleep } from '../kernel/timing.ts';
import type { Broker } from './broker.ts';
import { publishConfirmed } from './publish.ts';
import { withQueueLock } from './queue-lock.ts';
import { deadLetterLock, deadLetterQueue, eventsQueue, HEADER, serviceExchange } from './topology.ts';

export interface DeadLetter {
  /** Event id, undefined when the message is not an event. */
  id: string | undefined;
  /** Event type. */
  type: string;
  subject: string | undefined;
  /** The consumer that failed, undefined when no consumer was called. */
  consumer: string | undefined;
  attempts: number;
  /** Text of the last error. */
  error: string;
  /** ISO 8601, UTC; undefined when the broker dead-lettered it after too many deliveries without an ack. */
  firstFailure: string | undefined;
}

interface DeadLetterSelection {
  /** Only the event of this id; all when undefined. */
  id?: string | undefined;
}

export interface DeadLetters {
  /** The first thousand, oldest first. */
  list(service: string): Promise<DeadLetter[]>;
  /**
   * Sends dead letters back to the queue of this service, for the consumer that failed, with all its tries. Each is
   * confirmed there before it is removed here. Resolves with their number.
   */
  replay(service: string, selection?: DeadLetterSelection): Promise<number>;
  /** Deletes dead letters. Resolves with their number. */
  purge(service: string, selection?: DeadLetterSelection): Promise<number>;
  /** Deletes the dead letters for which `matches` is true. Resolves with their number. */
  deleteMatching(
    service: string,
    matches: (event: { type: string; data: unknown }) => boolean,
  ): Promise<number>;
}

const LIST_LIMIT = 1_000;
const RETURN_TIMEOUT_MS = 2_000;
const RETURN_POLL_MS = 5;

/**
 * One process at a time reads the dead letters of a service. All methods reject with an error of code 404 when the service
 * was never started.
 */
export const createDeadLetters = (broker: Broker): DeadLetters => {
  const { namespace } = broker;
  const withLock = <T>(service: string, use: (channel: ConfirmChannel) => Promise<T>): Promise<T> =>
    withQueueLock(broker, deadLetterLock(namespace, service), use);
  return {
    list: (service) =>
      withLock(service, async (channel) => {
        const letters: DeadLetter[] = [];
        await scan(channel, deadLetterQueue(namespace, service), LIST_LIMIT, async (message) => {
          letters.push(describe(message));
          return 'keep';
        });
        return letters;
      }),
    replay: (service, selection = {}) =>
      withLock(service, async (channel) => {
        await channel.checkQueue(eventsQueue(namespace, service));
        return removeMatching(
          channel,
          deadLetterQueue(namespace, service),
          isSelected(selection),
          async (message) => {
            const { routed } = await publishConfirmed(
              channel,
              serviceExchange(namespace, service),
              eventsQueue(namespace, service),
              message.content,
              replayOptions(message),
            );
            if (!routed) throw new Error(`The queue of ${service} is gone`);
          },
        );
      }),
    purge: (service, selection = {}) =>
      withLock(service, (channel) =>
        removeMatching(
          channel,
          deadLetterQueue(namespace, service),
          isSelected(selection),
          async () => undefined,
        ),
      ),
    deleteMatching: (service, matches) =>
      withLock(service, (channel) => {
        const isMatch = (message: GetMessage): boolean =>
          matches({ type: describe(message).type, data: parseObject(message.content).data });
        return removeMatching(channel, deadLetterQueue(namespace, service), isMatch, async () => undefined);
      }),
  };
};

const isSelected =
  ({ id }: DeadLetterSelection) =>
  (message: GetMessage): boolean =>
    id === undefined || describe(message).id === id;

const removeMatching = async (
  channel: ConfirmChannel,
  queue: string,
  isWanted: (message: GetMessage) => boolean,
  use: (message: GetMessage) => Promise<void>,
): Promise<number> => {
  let removed = 0;
  await scan(channel, queue, Number.POSITIVE_INFINITY, async (message) => {
    if (!isWanted(message)) return 'keep';
    await use(message);
    removed += 1;
    return 'remove';
  });
  return removed;
};

/** Reads every message once. Kept messages are returned together at the end: one returned earlier would be read again. */
const scan = async (
  channel: ConfirmChannel,
  queue: string,
  limit: number,
  decide: (message: GetMessage) => Promise<'keep' | 'remove'>,
): Promise<void> => {
  const { messageCount } = await channel.checkQueue(queue);
  const kept: GetMessage[] = [];
  try {
    for (let seen = 0; seen < Math.min(messageCount, limit); seen += 1) {
      const message = await channel.get(queue);
      if (message === false) break;
      // Until its removal: it must be returned as well when `decide` rejects.
      kept.push(message);
      if ((await decide(message)) === 'keep') continue;
      channel.ack(message);
      kept.pop();
    }
  } finally {
    for (const message of kept) channel.nack(message, false, true);
    await waitUntilReturned(channel, queue, kept.length);
  }
};

/** Returned messages are in the queue some time after the nack. The next reader must find them. */
const waitUntilReturned = async (channel: ConfirmChannel, queue: string, count: number): Promise<void> => {
  const deadline = performance.now() + RETURN_TIMEOUT_MS;
  while (performance.now() < deadline && (await channel.checkQueue(queue)).messageCount < count) {
    await sleep(RETURN_POLL_MS);
  }
};

const replayOptions = (message: GetMessage) => {
  const headers: Record<string, unknown> = message.properties.headers ?? {};
  const carried = [HEADER.consumer, HEADER.originalRoutingKey].filter((name) => headers[name] !== undefined);
  return {
    contentType: 'application/cloudevents+json',
    headers: Object.fromEntries(carried.map((name) => [name, headers[name]])),
  };
};

const describe = (message: GetMessage): DeadLetter => {
  const headers: Record<string, unknown> = message.properties.headers ?? {};
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const event = parseObject(message.content);
  const attempts = headers[HEADER.attempts];
  return {
    id: text(event.id),
    type: text(event.type) ?? text(headers[HEADER.originalRoutingKey]) ?? message.fields.routingKey,
    subject: text(event.subject),
    consumer: text(headers[HEADER.consumer]),
    attempts: typeof attempts === 'number' ? attempts : 0,
    error: text(headers[HEADER.error]) ?? 'Delivered too often without an ack',
    firstFailure: text(headers[HEADER.firstFailure]),
  };
};

const parseObject = (content: Buffer): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(content.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
};
