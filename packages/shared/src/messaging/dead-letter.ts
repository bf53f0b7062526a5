/** The events that a service could not handle. An operator lists, replays or purges them. */
import type { ConfirmChannel, GetMessage } from 'amqplib';
import { NO_PROGRESS, type Progress } from '../kernel/progress.mjs';
import { sleep } from '../kernel/timing.ts';
import type { Broker } from './broker.ts';
import { publishConfirmed } from './publish.ts';
import { withQueueLock } from './queue-lock.ts';
import {
  consumerQueue,
  deadLetterLock,
  deadLetterQueue,
  formerEventsQueue,
  HEADER,
  serviceExchange,
} from './topology.ts';

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
  /** Selects only the event with this id; undefined selects all. */
  id?: string | undefined;
  progress?: Progress | undefined;
}

interface RecordedSelection extends DeadLetterSelection {
  /**
   * Awaited before each batch of at most a thousand, with exactly the letters that are sent back or deleted next. When it
   * rejects, they stay.
   */
  record?: ((letters: readonly DeadLetter[]) => Promise<void>) | undefined;
}

export interface DeadLetters {
  /** The first `limit` letters in the order of the queue, a thousand by default. Letters with a selected id are found anywhere. */
  list(service: string, selection?: DeadLetterSelection & { limit?: number }): Promise<DeadLetter[]>;
  /**
   * Sends dead letters back to the queue of the consumer that failed, with all retries available again. Each is confirmed before it is
   * removed from this queue. Resolves with their number.
   */
  replay(service: string, selection?: RecordedSelection): Promise<number>;
  /** Deletes dead letters. Resolves with their number. */
  purge(service: string, selection?: RecordedSelection): Promise<number>;
  /** Deletes the dead letters for which `matches` is true. Resolves with their number. */
  deleteMatching(
    service: string,
    matches: (event: { type: string; data: unknown }) => boolean,
  ): Promise<number>;
}

const LIMIT = 1_000;
/** Labels of the progress. */
const READ = 'dead letters';
const RETURN_TIMEOUT_MS = 2_000;
const RETURN_POLL_MS = 5;

/**
 * Only one process at a time reads the dead letters of a service. All methods reject with an error of code 404 when the service
 * was never started. `limit`: maximum size of a list and of a batch.
 */
export const createDeadLetters = (broker: Broker, { limit = LIMIT } = {}): DeadLetters => {
  const { namespace } = broker;
  const withLock = <T>(service: string, use: (channel: ConfirmChannel) => Promise<T>): Promise<T> =>
    withQueueLock(broker, deadLetterLock(namespace, service), use);
  const queueOf = (service: string): string => deadLetterQueue(namespace, service);
  return {
    list: (service, selection = {}) =>
      withLock(service, (channel) => {
        const isWanted = isSelected(selection);
        const { progress = NO_PROGRESS, limit: most = limit } = selection;
        const longest = selection.id === undefined ? most : Number.POSITIVE_INFINITY;
        return read(channel, queueOf(service), { limit: longest, progress }, async (messages) => {
          const letters: DeadLetter[] = [];
          for await (const message of messages) {
            progress.advance(READ);
            if (isWanted(message)) letters.push(describe(message));
          }
          return letters;
        });
      }),
    replay: (service, { record, ...selection } = {}) =>
      withLock(service, (channel) => {
        const publish = async (message: GetMessage): Promise<void> => {
          const queue = queueOfLetter(message, namespace, service);
          const { routed } = await publishConfirmed(
            channel,
            serviceExchange(namespace, service),
            queue,
            message.content,
            replayOptions(message, broker.eventsExchange),
          );
          if (!routed) throw new Error(`The queue ${queue} does not exist`);
        };
        const { progress } = selection;
        const removal = { isWanted: isSelected(selection), record, use: publish, limit, progress };
        return removeMatching(channel, queueOf(service), removal);
      }),
    purge: (service, { record, ...selection } = {}) =>
      withLock(service, (channel) =>
        removeMatching(channel, queueOf(service), {
          isWanted: isSelected(selection),
          record,
          limit,
          progress: selection.progress,
        }),
      ),
    deleteMatching: (service, matches) =>
      withLock(service, (channel) => {
        const isWanted = (message: GetMessage): boolean =>
          matches({ type: describe(message).type, data: parseObject(message.content).data });
        return removeMatching(channel, queueOf(service), { isWanted, limit });
      }),
  };
};

const isSelected =
  ({ id }: DeadLetterSelection) =>
  (message: GetMessage): boolean =>
    id === undefined || describe(message).id === id;

interface Removal {
  isWanted: (message: GetMessage) => boolean;
  record?: RecordedSelection['record'];
  /** Called before each message is removed. */
  use?: (message: GetMessage) => Promise<void>;
  limit: number;
  progress?: Progress | undefined;
}

const removeMatching = (
  channel: ConfirmChannel,
  queue: string,
  { isWanted, record, use, limit, progress = NO_PROGRESS }: Removal,
): Promise<number> =>
  read(channel, queue, { limit: Number.POSITIVE_INFINITY, progress }, async (messages, remove) => {
    let removed = 0;
    let batch: GetMessage[] = [];
    const removeBatch = async (): Promise<void> => {
      if (batch.length === 0) return;
      await record?.(batch.map(describe));
      for (const message of batch) {
        await use?.(message);
        remove(message);
        progress.advance(READ);
      }
      removed += batch.length;
      batch = [];
    };
    for await (const message of messages) {
      if (!isWanted(message)) {
        progress.advance(READ);
        continue;
      }
      batch.push(message);
      if (batch.length >= limit) await removeBatch();
    }
    await removeBatch();
    return removed;
  });

/**
 * Reads at most `limit` messages that are in the queue at the beginning, oldest first. Messages that `use` has not removed are
 * returned together at the end, even if it rejects. A message that is returned earlier would be read again.
 */
const read = async <T>(
  channel: ConfirmChannel,
  queue: string,
  { limit, progress }: { limit: number; progress: Progress },
  use: (messages: AsyncIterable<GetMessage>, remove: (message: GetMessage) => void) => Promise<T>,
): Promise<T> => {
  const { messageCount } = await channel.checkQueue(queue);
  progress.expect(Math.min(messageCount, limit), READ);
  const unremoved = new Set<GetMessage>();
  const messages = async function* (): AsyncGenerator<GetMessage> {
    for (let seen = 0; seen < Math.min(messageCount, limit); seen += 1) {
      const message = await channel.get(queue);
      if (message === false) return;
      unremoved.add(message);
      yield message;
    }
  };
  try {
    return await use(messages(), (message) => {
      channel.ack(message);
      unremoved.delete(message);
    });
  } finally {
    for (const message of unremoved) channel.nack(message, false, true);
    await waitUntilReturned(channel, queue, unremoved.size);
  }
};

/** Returned messages are in the queue some time after the nack. The next reader must find them. */
const waitUntilReturned = async (channel: ConfirmChannel, queue: string, count: number): Promise<void> => {
  const deadline = performance.now() + RETURN_TIMEOUT_MS;
  while (performance.now() < deadline && (await channel.checkQueue(queue)).messageCount < count) {
    await sleep(RETURN_POLL_MS);
  }
};

/** The queue that the event came from. It was dead-lettered by the broker, by the consumer that it names, or by an older release. */
const queueOfLetter = (message: GetMessage, namespace: string, service: string): string => {
  const headers: Record<string, unknown> = message.properties.headers ?? {};
  const { queue } = lastDeath(headers);
  if (typeof queue === 'string') return queue;
  const consumer = headers[HEADER.consumer];
  return typeof consumer === 'string'
    ? consumerQueue(namespace, service, consumer)
    : formerEventsQueue(namespace, service);
};

const replayOptions = (message: GetMessage, eventsExchange: string) => {
  const headers: Record<string, unknown> = message.properties.headers ?? {};
  const carried = [HEADER.consumer, HEADER.originalRoutingKey].filter((name) => headers[name] !== undefined);
  const publishedAs = publishedBeforeAnyTry(headers, eventsExchange);
  return {
    contentType: 'application/cloudevents+json',
    headers:
      publishedAs === undefined
        ? Object.fromEntries(carried.map((name) => [name, headers[name]]))
        : { [HEADER.originalRoutingKey]: publishedAs },
  };
};

/**
 * The routing key of an event that the broker has dead-lettered before any attempt of a consumer ended; undefined for others.
 * Its other headers come from its producer, which could name a type other than the published one.
 */
const publishedBeforeAnyTry = (
  headers: Record<string, unknown>,
  eventsExchange: string,
): string | undefined => {
  const { exchange, 'routing-keys': keys } = lastDeath(headers);
  const key: unknown = exchange === eventsExchange && Array.isArray(keys) ? keys[0] : undefined;
  return typeof key === 'string' ? key : undefined;
};

/** The broker's record of the last dead-lettering. */
const lastDeath = (headers: Record<string, unknown>): Record<string, unknown> => {
  const [death] = Array.isArray(headers['x-death']) ? (headers['x-death'] as unknown[]) : [];
  return (death ?? {}) as Record<string, unknown>;
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
