/** The events that a service could not handle: an operator looks at them, replays or purges them. */
import type { ConfirmChannel, GetMessage } from 'amqplib';
import { sleep } from '../mongo/backoff.ts';
import type { Broker } from './broker.ts';
import { exclusively } from './exclusively.ts';
import { publishConfirmed } from './publish.ts';
import { deadLock, deadQueue, eventsQueue, HEADER } from './topology.ts';

export interface DeadLetter {
  /** Event id, undefined when the message is not an event. */
  id: string | undefined;
  /** Event type, as it was published. */
  type: string;
  subject: string | undefined;
  /** The consumer that failed, undefined when none could be asked. */
  consumer: string | undefined;
  attempts: number;
  /** Text of the last error. */
  error: string;
  /** ISO 8601, UTC; undefined when the broker parked it after too many deliveries without an answer. */
  firstFailure: string | undefined;
}

interface DeadLetterSelection {
  /** Only the event of this id; all of them otherwise. */
  id?: string | undefined;
}

export interface DeadLetters {
  /** At most `limit`, oldest first. */
  list(service: string, options?: { limit?: number }): Promise<DeadLetter[]>;
  /**
   * Hands parked events to the service again, and to no other: to the consumer that failed, with all tries before it.
   * Each is confirmed by the service's queue before it leaves this one. Resolves with how many.
   */
  replay(service: string, selection?: DeadLetterSelection): Promise<number>;
  /** Deletes parked events for good. Resolves with how many. */
  purge(service: string, selection?: DeadLetterSelection): Promise<number>;
  /** Deletes those of which `matches` says so, by the type and the data that they carry. Resolves with how many. */
  drop(service: string, matches: (event: { type: string; data: unknown }) => boolean): Promise<number>;
}

const LIST_LIMIT = 1_000;
const RETURN_TIMEOUT_MS = 2_000;
const RETURN_POLL_MS = 5;

/** Of all processes one at a time looks through a service's letters. All methods reject with an error of code 404 when the service never declared its queues. */
export const createDeadLetters = (broker: Broker): DeadLetters => {
  const { namespace } = broker;
  const alone = <T>(service: string, use: (channel: ConfirmChannel) => Promise<T>): Promise<T> =>
    exclusively(broker, deadLock(namespace, service), use);
  return {
    list: (service, { limit = LIST_LIMIT } = {}) =>
      alone(service, async (channel) => {
        const letters: DeadLetter[] = [];
        await scan(channel, deadQueue(namespace, service), limit, async (message) => {
          letters.push(describe(message));
          return 'keep';
        });
        return letters;
      }),
    replay: (service, selection = {}) =>
      alone(service, async (channel) => {
        await channel.checkQueue(eventsQueue(namespace, service));
        return take(channel, deadQueue(namespace, service), isSelected(selection), async (message) => {
          const { routed } = await publishConfirmed(
            channel,
            '',
            eventsQueue(namespace, service),
            message.content,
            replayOptions(message),
          );
          if (!routed) throw new Error(`The queue of ${service} is gone`);
        });
      }),
    purge: (service, selection = {}) =>
      alone(service, (channel) =>
        take(channel, deadQueue(namespace, service), isSelected(selection), async () => undefined),
      ),
    drop: (service, matches) =>
      alone(service, (channel) => {
        const concerns = (message: GetMessage): boolean =>
          matches({ type: describe(message).type, data: parseObject(message.content).data });
        return take(channel, deadQueue(namespace, service), concerns, async () => undefined);
      }),
  };
};

const isSelected =
  ({ id }: DeadLetterSelection) =>
  (message: GetMessage): boolean =>
    id === undefined || describe(message).id === id;

const take = async (
  channel: ConfirmChannel,
  queue: string,
  isMeant: (message: GetMessage) => boolean,
  use: (message: GetMessage) => Promise<void>,
): Promise<number> => {
  let taken = 0;
  await scan(channel, queue, Number.POSITIVE_INFINITY, async (message) => {
    if (!isMeant(message)) return 'keep';
    await use(message);
    taken += 1;
    return 'remove';
  });
  return taken;
};

/** Looks at every message that is there now. Those to keep go back together at the end, or each would come again. */
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
      kept.push(message);
      if ((await decide(message)) === 'keep') continue;
      channel.ack(message);
      kept.pop();
    }
  } finally {
    for (const message of kept) channel.nack(message, false, true);
    await untilBack(channel, queue, kept.length);
  }
};

/** The queue takes messages back a moment after it was told to: the next look must find them. */
const untilBack = async (channel: ConfirmChannel, queue: string, count: number): Promise<void> => {
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
    error: text(headers[HEADER.error]) ?? 'Handed out too often without an answer',
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
