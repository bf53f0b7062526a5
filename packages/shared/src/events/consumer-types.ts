/** What a service writes to listen to an event. */
import type { EventData, EventDefinition } from '@fitness/proto/events/define-event.ts';
import type { Logger } from 'pino';
import type { ClientSession } from '../mongo/connect.ts';

/** An event as a handler sees it. */
export interface ReceivedEvent<Data = unknown> {
  /** UUID, the same in every delivery. */
  id: string;
  type: string;
  /** `/services/<producer>` */
  source: string;
  /** Id of the aggregate. */
  subject: string;
  /** When it happened. */
  time: Date;
  /**
   * Version of the aggregate after the change. Retries and replicas may bring events of one aggregate out of order: a
   * consumer that keeps a copy of the aggregate's state stores this beside it, and ignores an event that is not newer.
   * Consumers that add something up need no guard; the inbox suffices.
   */
  aggregateVersion: number;
  data: Data;
}

export interface EventContext {
  /** The transaction of the effect; pass it to every query. */
  session: ClientSession;
  log: Logger;
  /** Runs once after the commit, never when the effect is undone; a crash may lose it. */
  afterCommit(fn: () => unknown): void;
}

export interface EventConsumer {
  event: EventDefinition;
  /** Unique in the service and stable for ever: it is part of what makes a redelivery do nothing. */
  name: string;
  handle(event: ReceivedEvent, context: EventContext): Promise<void>;
}

/**
 * A row of a service's `consumers.ts`: what to do when `definition` happens. `handle` runs inside a transaction that
 * also records the event as handled; it may run several times before it has its effect once. It makes no remote call
 * that cannot be repeated. When it throws, the event is tried again later, and parked in the end. Give `name` when a
 * service listens to one event twice; the default is the event's type.
 */
export const onEvent = <Definition extends EventDefinition>(
  definition: Definition,
  handle: (event: ReceivedEvent<EventData<Definition>>, context: EventContext) => Promise<void>,
  options: { name?: string } = {},
): EventConsumer => ({
  event: definition,
  name: options.name ?? definition.type,
  // The consumer parses `data` with this very definition before it calls.
  handle: (event, context) => handle(event as ReceivedEvent<EventData<Definition>>, context),
});
