/** Deletes dead-lettered events that carry personal data of an erased account. */
import type { Broker } from './broker.ts';
import type { EventConsumer } from './consumer.ts';
import { createDeadLetters } from './dead-letter.ts';

export interface EraseDeadLettersOptions {
  broker: Broker;
  service: string;
  consumers: readonly EventConsumer[];
}

/** Deletes the dead letters of this service that carry personal data of the account. It can be repeated. */
export type EraseDeadLetters = (userId: number) => Promise<void>;

export const createEraseDeadLetters = ({
  broker,
  service,
  consumers,
}: EraseDeadLettersOptions): EraseDeadLetters => {
  const personal = new Map(
    consumers.filter(({ event }) => event.personalTo !== undefined).map(({ event }) => [event.type, event]),
  );
  if (personal.size === 0) return async () => undefined;
  const deadLetters = createDeadLetters(broker);

  const isPersonalTo =
    (userId: number) =>
    ({ type, data }: { type: string; data: unknown }): boolean => {
      try {
        // Not validated: an event may be dead-lettered because it does not fit its schema.
        return personal.get(type)?.personalTo?.(data as never) === userId;
      } catch {
        return false;
      }
    };

  return async (userId) => {
    await deadLetters.deleteMatching(service, isPersonalTo(userId));
  };
};
