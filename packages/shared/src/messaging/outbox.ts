/** State and its events commit together: an event is a document of the same transaction. */
import type { EventDefinition, EventInput } from '@fitness/proto/events/define-event.ts';
import { cloudEventSchema, eventSource } from '@fitness/proto/events/envelope.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import { currentTraceparent, startSpan } from '../kernel/trace.ts';
import type { ClientSession, Connection } from '../mongo/connect.ts';
import { createSequences } from '../mongo/sequence.ts';
import { CHANGES_MAX } from '../mongo/steps.ts';
import { afterCommit, attemptKey, beforeCommit } from '../mongo/transaction.ts';
import { type OutboxDocument, registerEventModels } from './models.ts';
import { messageSpan } from './spans.ts';
import { signalCommittedEvents } from './wake.ts';

interface PublishOptions<Definition extends EventDefinition> {
  /** Id of the aggregate that changed. */
  subject: string | number;
  data: EventInput<Definition>;
  /** Version of the aggregate after the change: an integer from 0 that grows with every change. */
  aggregateVersion: number;
}

export interface Outbox {
  /**
   * Adds an event to the transaction of `session`. The relay publishes it after the commit; an abort discards it. The
   * events of one transaction are written together, as its last write. Call it after the aggregate was read or written in
   * the same transaction: events of one aggregate are then published in the order of their versions. Throws when the event
   * does not fit its definition, or when `session` is not from `inTransaction`. The transaction is aborted when it has
   * more events than it may change documents.
   */
  publish<Definition extends EventDefinition>(
    session: ClientSession,
    definition: Definition,
    options: PublishOptions<Definition>,
  ): Promise<void>;
}

export interface OutboxOptions {
  connection: Connection;
  /** The producer's name, `wallet` or `store-billing`. */
  service: string;
  clock: Clock;
  random: Random;
}

const schemas = new WeakMap<EventDefinition, ReturnType<typeof cloudEventSchema>>();

/** The envelope's schema is built once per definition, not per event. */
const schemaOf = (definition: EventDefinition) => {
  const schema = schemas.get(definition) ?? cloudEventSchema(definition.data);
  schemas.set(definition, schema);
  return schema;
};

/** The span that the relay and the consumers continue. */
const createSpan = (type: string): string => {
  const span = startSpan(...messageSpan('producer', 'create', type, currentTraceparent()));
  span.end();
  return span.traceparent;
};

/** The outbox of one service's database. Await `ensureIndexes(connection)` before the first `publish`. */
export const createOutbox = ({ connection, service, clock, random }: OutboxOptions): Outbox => {
  const { outbox } = registerEventModels(connection);
  const sequences = createSequences(connection);
  const source = eventSource(service);

  const buildEvent = (definition: EventDefinition, options: PublishOptions<EventDefinition>) => {
    const traceparent = createSpan(definition.type);
    const event = schemaOf(definition).safeParse({
      specversion: '1.0',
      id: random.uuid(),
      source,
      type: definition.type,
      subject: String(options.subject),
      time: clock.now().toISOString(),
      datacontenttype: 'application/json',
      aggregateversion: options.aggregateVersion,
      traceparent,
      data: options.data,
    });
    if (event.success) return event.data;
    const problems = event.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`The event ${definition.type} does not fit its definition: ${problems.join('; ')}`);
  };

  /** Events of running attempts, by attempt. A repeated attempt starts with none. */
  const eventsByAttempt = new WeakMap<object, Omit<OutboxDocument, '_id'>[]>();

  const write = async (session: ClientSession, events: readonly Omit<OutboxDocument, '_id'>[]) => {
    if (events.length > CHANGES_MAX)
      throw new Error(`A transaction publishes ${events.length} events; steps.ts says how to divide it`);
    // Ids come from a sequence instead of a clock, because the clocks of two processes differ too much.
    const ids = await sequences.take('outbox', events.length);
    const documents = events.map((event, index) => ({ _id: ids[index] as number, ...event }));
    // This bypasses mongoose: the events are validated already, and this write is part of nearly every transaction.
    await outbox.collection.insertMany(documents as never[], { session });
  };

  /** The list of this attempt's events, written before its commit. */
  const eventsOf = (session: ClientSession): Omit<OutboxDocument, '_id'>[] => {
    const attempt = attemptKey(session);
    const existing = eventsByAttempt.get(attempt);
    if (existing !== undefined) return existing;
    const events: Omit<OutboxDocument, '_id'>[] = [];
    eventsByAttempt.set(attempt, events);
    beforeCommit(session, () => write(session, events));
    afterCommit(session, () => signalCommittedEvents(connection));
    return events;
  };

  return {
    publish: async (session, definition, options) => {
      const event = buildEvent(definition, options);
      eventsOf(session).push({
        type: event.type,
        aggregate: `${source}/${event.subject}`,
        aggregateVersion: event.aggregateversion,
        body: JSON.stringify(event),
        occurredAt: new Date(event.time),
      });
    },
  };
};
