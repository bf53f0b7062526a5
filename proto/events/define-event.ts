/** Declaration of events. Each producer has a file beside this one. */
import type { z } from 'zod';

/** `type` is the CloudEvents type and the routing key. Producer and consumers validate the payload with `data`. */
export interface EventDefinition<Schema extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  /** What happened and what follows from it, for the public document of the events. */
  readonly summary?: string;
  /** What a consumer does with it, for `/docs/events`. */
  readonly advice?: string;
  readonly data: Schema;
  /**
   * The services that consume the event; default: none. `<service>/<name>` is a further consumer of that service. A test
   * compares this list with the services' consumers.
   *
   * Each consumer has a queue. It is declared before anything is published, so a consumer loses no event even before its
   * first start.
   */
  readonly consumers?: readonly string[];
  /**
   * The account whose personal data the event carries. Without it, the event carries only ids. A dead-lettered event is
   * deleted when this account is erased.
   */
  personalTo?(data: z.output<Schema>): number | null;
  /** The account that this event erases. */
  erases?(data: z.output<Schema>): number;
}

/** The payload as producers pass it. */
export type EventInput<Definition extends EventDefinition> = z.input<Definition['data']>;
/** The payload as consumers receive it. */
export type EventData<Definition extends EventDefinition> = z.output<Definition['data']>;

const EVENT_TYPE = /^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+$/;

/**
 * Declares an event, `defineEvent({ type: 'identity.account.deleted', summary: 'The account was erased.', data: z.object({ user_id: z.int() }) })`.
 * The type is `<producer>.<aggregate>.<what happened>`. Fields are added, never renamed or reused.
 * Throws if the type is not dotted lower case.
 */
export const defineEvent = <Schema extends z.ZodObject>(definition: {
  type: string;
  summary?: string;
  advice?: string;
  data: Schema;
  consumers?: readonly string[];
  personalTo?: (data: z.output<Schema>) => number | null;
  erases?: (data: z.output<Schema>) => number;
}): EventDefinition<Schema> => {
  if (!EVENT_TYPE.test(definition.type)) throw new Error(`Not an event type: ${definition.type}`);
  return Object.freeze({ ...definition });
};
