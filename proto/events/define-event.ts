/** How an event of the catalogue is declared: one file per producer beside this one. */
import type { z } from 'zod';

/** `type` is the CloudEvents type and the routing key; `data` checks the payload at both ends. */
export interface EventDefinition<Schema extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  readonly data: Schema;
  /**
   * Whose personal data it carries, by the id of the account; an event without it carries none but ids. Should the
   * account be erased while the event is parked somewhere, it is dropped there.
   */
  personalTo?(data: z.output<Schema>): number | null;
  /** The account that is erased by what it tells. */
  erases?(data: z.output<Schema>): number;
}

/** What a producer hands in. */
export type EventInput<Definition extends EventDefinition> = z.input<Definition['data']>;
/** What a consumer receives. */
export type EventData<Definition extends EventDefinition> = z.output<Definition['data']>;

const EVENT_TYPE = /^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+$/;

/**
 * Declares an event, `defineEvent({ type: 'identity.account.deleted', data: z.object({ user_id: z.int() }) })`.
 * The type is `<producer>.<aggregate>.<what happened>`; a field is added, never renamed or reused.
 * Throws when the type is not dotted lower case.
 */
export const defineEvent = <Schema extends z.ZodObject>(definition: {
  type: string;
  data: Schema;
  personalTo?: (data: z.output<Schema>) => number | null;
  erases?: (data: z.output<Schema>) => number;
}): EventDefinition<Schema> => {
  if (!EVENT_TYPE.test(definition.type)) throw new Error(`Not an event type: ${definition.type}`);
  return Object.freeze({ ...definition });
};
