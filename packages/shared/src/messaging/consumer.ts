/** How a service declares that it consumes an event. */
import type { EventData, EventDefinition } from '@fitness/proto/events/define-event.ts';
import type { Logger } from '../kernel/log.ts';
import type { ClientSession } from '../mongo/connect.ts';
import type { Rest } from '../mongo/steps.ts';

/** An event in the form that a handler receives. */
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
   * Version of the aggregate after the change. Retries and replicas may deliver events of one aggregate out of order: a
   * projection stores this version and ignores an event that is not newer. A consumer that only sums up needs no such check.
   */
  aggregateVersion: number;
  data: Data;
}

export interface EventContext {
  /** The session of the consumer's transaction; pass it to every query. */
  session: ClientSession;
  log: Logger;
  /** Runs `fn` once after the commit, not after an abort; a crash may lose it. */
  afterCommit(fn: () => unknown): void;
}

/** No value means `done`. */
type Handled = Promise<Rest> | Promise<void>;

export interface EventConsumer {
  event: EventDefinition;
  /**
   * The type of the event. A second consumer of it in one service has another name. The name never changes: its queue has
   * this name, and the inbox recognizes a redelivery by it.
   */
  name: string;
  handle(event: ReceivedEvent, context: EventContext): Handled;
}

/**
 * An entry of a service's `events/consumers.ts`. `handle` runs in a transaction that also records the event as handled; it
 * may run several times but commits once, so its remote calls must be repeatable. When it throws, the event is
 * retried, and dead-lettered after the last try. The definition of the event must list the service in its `consumers`.
 *
 * Work on more documents than a transaction may change is done in steps (mongo/steps.ts): `handle` resolves with `more`, its
 * transaction commits without the record, and `handle` runs again in the next one. Only the last step records the event, so a
 * redelivery after a crash continues. The first step must hide the remaining data from readers and refuse new data.
 */
export const onEvent = <Definition extends EventDefinition>(
  definition: Definition,
  handle: (event: ReceivedEvent<EventData<Definition>>, context: EventContext) => Handled,
): EventConsumer => ({
  event: definition,
  name: definition.type,
  // The data was parsed by this definition before.
  handle: (event, context) => handle(event as ReceivedEvent<EventData<Definition>>, context),
});
