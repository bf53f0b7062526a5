/**
 * The routes through which operators inspect and steer a service: outbox, queues, dead letters. Every service has them below
 * `/internal`; the page `/ops` of the gateway calls them on behalf of its user.
 */
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { z } from 'zod';
import type { AuditLog } from '../audit/log.ts';
import { defineRoute, ok, type Route } from '../http/define-route.ts';
import { type Clock, SECOND_MS } from '../kernel/clock.ts';
import { notFound } from '../kernel/error.ts';
import { redactText } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import {
  DEAD_LETTERS_PER_PAGE,
  deadLettersSchema,
  type OperationsStatus,
  operationsStatusSchema,
} from '../kernel/operations.ts';
import type { Broker } from '../messaging/broker.ts';
import { createDeadLetters, type DeadLetter } from '../messaging/dead-letter.ts';
import { registerEventModels } from '../messaging/models.ts';
import { messagesIn } from '../messaging/start-consumers.ts';
import {
  consumerQueue,
  consumersOf,
  deadLetterQueue,
  formerEventsQueue,
  RETRY_DELAYS_MS,
  waitQueue,
} from '../messaging/topology.ts';
import type { Connection } from '../mongo/connect.ts';
import { inTransaction } from '../mongo/transaction.ts';

/** The limit of page numbers in other lists. Reading a thousand takes about half a second. */
const DEAD_LETTERS_LISTED = 10_000;

interface OperationsOptions {
  service: string;
  connection: Connection;
  broker: Broker;
  audit: Pick<AuditLog, 'record'>;
  clock: Clock;
}

export const readOutbox = async (
  connection: Connection,
  clock: Clock,
): Promise<OperationsStatus['outbox']> => {
  const { outbox } = registerEventModels(connection);
  const [waiting, oldest] = await Promise.all([
    // The estimate of the server may stay wrong after a crash.
    outbox.countDocuments(),
    // The sort makes the server read along the index of `_id`.
    outbox.findOne().sort({ _id: 1 }).select('occurredAt').lean(),
  ]);
  const ageMs = oldest === null ? 0 : clock.now().getTime() - oldest.occurredAt.getTime();
  return { waiting, lag_s: Math.max(0, Math.floor(ageMs / SECOND_MS)) };
};

interface QueueCounts {
  messages: number;
  consumers: number;
}

/** The queues of a service: of each consumer by its name, those in which events wait for their next try, and the dead letters. */
const countQueues = (
  broker: Broker,
  service: string,
): Promise<{ consumers: Record<string, QueueCounts>; retrying: number; deadLetters: number }> =>
  broker.withChannel(async (channel) => {
    const { namespace } = broker;
    const countOf = async (queue: string): Promise<QueueCounts> => {
      const { messageCount, consumerCount } = await channel.checkQueue(queue);
      return { messages: messageCount, consumers: consumerCount };
    };
    const names = consumersOf(EVENTS)
      .filter((each) => each.service === service)
      .map(({ name }) => name);
    const [counts, retrying, dead] = await Promise.all([
      Promise.all(names.map((name) => countOf(consumerQueue(namespace, service, name)))),
      Promise.all(RETRY_DELAYS_MS.map((delayMs) => countOf(waitQueue(namespace, service, delayMs)))),
      countOf(deadLetterQueue(namespace, service)),
    ]);
    return {
      consumers: Object.fromEntries(names.map((name, index) => [name, counts[index] as QueueCounts])),
      retrying: sumOf(retrying),
      deadLetters: dead.messages,
    };
  });

const sumOf = (counts: readonly QueueCounts[]): number =>
  counts.reduce((sum, { messages }) => sum + messages, 0);

/** Null without a broker. The outbox is shown even then. */
export const readQueues = async (broker: Broker, service: string): Promise<OperationsStatus['queues']> => {
  try {
    const former = await messagesIn(broker, formerEventsQueue(broker.namespace, service));
    const { consumers, retrying, deadLetters } = await countQueues(broker, service);
    const waiting = sumOf(Object.values(consumers)) + (former ?? 0);
    return { waiting, retrying, dead_letters: deadLetters };
  } catch {
    return null;
  }
};

/** Metrics of the outbox and the queues of a service. All of its replicas report the same values. */
export const addOperationsMetrics = ({
  service,
  connection,
  broker,
  clock,
  metrics,
}: Omit<OperationsOptions, 'audit'> & { metrics: Metrics }): void => {
  metrics.readGauges({
    gauges: {
      outbox_events: 'Events that wait in the outbox for the broker',
      outbox_oldest_event_age_seconds: 'Age of the oldest of them; 0 without one',
    },
    read: async () => {
      const { waiting, lag_s } = await readOutbox(connection, clock);
      return [{ values: { outbox_events: waiting, outbox_oldest_event_age_seconds: lag_s } }];
    },
  });
  metrics.readGauges({
    gauges: {
      consumer_queue_messages: 'Events in the queue of a consumer',
      consumer_queue_consumers: 'Replicas that take events from it',
    },
    labelNames: ['consumer'],
    read: async () => {
      const { consumers } = await countQueues(broker, service);
      return Object.entries(consumers).map(([consumer, { messages, consumers: replicas }]) => ({
        labels: { consumer },
        values: { consumer_queue_messages: messages, consumer_queue_consumers: replicas },
      }));
    },
  });
  metrics.readGauges({
    gauges: {
      retrying_events: 'Events that have failed and wait for their next try',
      dead_letters: 'Events that have failed for the last time',
    },
    read: async () => {
      const { retrying, deadLetters } = await countQueues(broker, service);
      return [{ values: { retrying_events: retrying, dead_letters: deadLetters } }];
    },
  });
};

/** Redacts the text of an error, which may contain the failed data. */
const toResource = ({ id, type, subject, consumer, attempts, error, firstFailure }: DeadLetter) => ({
  id: id ?? null,
  type,
  subject: subject ?? null,
  consumer: consumer ?? null,
  attempts,
  error: redactText(error),
  first_failed_at: firstFailure ?? null,
});

const byFirstFailure = (a: DeadLetter, b: DeadLetter): number => {
  const keyOf = ({ firstFailure = '', id = '' }: DeadLetter): string => `${firstFailure} ${id}`;
  return keyOf(a) < keyOf(b) ? -1 : 1;
};

const common = {
  isInternal: true,
  tag: 'operations',
  access: 'user',
  permissions: ['operations.manage'],
  pages: ['ops'],
} as const;

/** Reads and sorts the whole queue: the broker returns read messages in any order, so a part of it is never the same part. */
const readDeadLetters = async (
  broker: Broker,
  service: string,
  deadLetters: ReturnType<typeof createDeadLetters>,
): Promise<{ letters: DeadLetter[]; total: number }> => {
  const letters = await deadLetters.list(service, { limit: DEAD_LETTERS_LISTED });
  const depth = await messagesIn(broker, deadLetterQueue(broker.namespace, service));
  return { letters: letters.toSorted(byFirstFailure), total: Math.max(letters.length, depth ?? 0) };
};

export const operationsRoutes = ({
  service,
  connection,
  broker,
  audit,
  clock,
}: OperationsOptions): Route[] => {
  const deadLetters = createDeadLetters(broker);

  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/operations',
      summary: 'Retrieve the queues of this service',
      responses: { 200: operationsStatusSchema },
      handle: async () => {
        const [outbox, queues] = await Promise.all([
          readOutbox(connection, clock),
          readQueues(broker, service),
        ]);
        return ok({ outbox, queues });
      },
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/operations/dead-letters',
      summary: 'List the dead-lettered events',
      query: z.object({ page: z.coerce.number().pipe(z.int().min(1).max(1_000_000)).default(1) }),
      responses: { 200: deadLettersSchema },
      handle: async ({ query: { page } }) => {
        const { letters, total } = await readDeadLetters(broker, service, deadLetters);
        const start = (page - 1) * DEAD_LETTERS_PER_PAGE;
        const shown = letters.slice(start, start + DEAD_LETTERS_PER_PAGE);
        return ok({ data: shown.map(toResource), total });
      },
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/operations/dead-letters/replay',
      summary: 'Replay a dead-lettered event',
      audits: ['dead_letters.replay'],
      body: z.object({ id: z.string().min(1).max(255) }),
      responses: { 200: z.object({ replayed: z.int() }) },
      handle: async ({ body: { id }, caller }) => {
        // This precedes the replay, because the broker and the database have no common transaction.
        const record = (letters: readonly DeadLetter[]): Promise<void> =>
          inTransaction(connection, (session) =>
            audit.record(session, {
              actorId: caller.userId,
              action: 'dead_letters.replay',
              subject: { type: 'dead_letters', id: null },
              after: { personId: null, values: { events: letters.map(({ type }) => `${type} ${id}`) } },
            }),
          );
        const replayed = await deadLetters.replay(service, { id, record });
        if (replayed === 0) throw notFound();
        return ok({ replayed });
      },
    }),
  ];
};
