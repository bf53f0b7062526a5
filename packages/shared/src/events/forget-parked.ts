/** What a service has parked is forgotten with the person that it is about. */
import type { Broker } from './broker.ts';
import type { EventConsumer } from './consumer-types.ts';
import { createDeadLetters } from './dead-letter.ts';

export interface ForgetParkedOptions {
  broker: Broker;
  service: string;
  consumers: readonly EventConsumer[];
}

/** Drops the parked events of this service that carry personal data of the account. Repeating it does no harm. */
export type ForgetParked = (userId: number) => Promise<void>;

export const createForgetParked = ({ broker, service, consumers }: ForgetParkedOptions): ForgetParked => {
  const personal = new Map(
    consumers.filter(({ event }) => event.personalTo !== undefined).map(({ event }) => [event.type, event]),
  );
  if (personal.size === 0) return async () => undefined;
  const letters = createDeadLetters(broker);

  const isAbout =
    (userId: number) =>
    ({ type, data }: { type: string; data: unknown }): boolean => {
      try {
        // Not checked by its schema: an event that does not fit is just what is parked.
        return personal.get(type)?.personalTo?.(data as never) === userId;
      } catch {
        return false;
      }
    };

  return async (userId) => {
    await letters.drop(service, isAbout(userId));
  };
};
