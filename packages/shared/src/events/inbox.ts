/** An event has its effect once per consumer, however often it is delivered. */
import type { Logger } from 'pino';
import { systemClock } from '../clock.ts';
import type { Connection } from '../mongo/connect.ts';
import { registerEventModels } from '../mongo/event-models.ts';
import { afterCommit, inTransaction, isDuplicateKey } from '../mongo/transaction.ts';
import type { EventConsumer, ReceivedEvent } from './consumer-types.ts';

const alreadyHandled = new Error('The event was handled before');

/**
 * Runs the consumer's effect and records the event in the inbox, in one transaction. The record comes first: of two
 * deliveries at once, the database lets one go on. Rejects with what the handler threw, and nothing is recorded then.
 */
export const handleOnce = async (
  connection: Connection,
  consumer: EventConsumer,
  event: ReceivedEvent,
  log: Logger,
): Promise<'done' | 'duplicate'> => {
  const { inbox } = registerEventModels(connection);
  // Real time, not the injected clock: the database's own clock decides when the record expires.
  const record = { consumer: consumer.name, eventId: event.id, processedAt: systemClock.now() };
  try {
    await inTransaction(
      connection,
      async (session) => {
        await inbox.create([record], { session }).catch((error: unknown) => {
          throw isDuplicateKey(error) ? alreadyHandled : error;
        });
        await consumer.handle(event, { session, log, afterCommit: (fn) => afterCommit(session, fn) });
      },
      { log },
    );
    return 'done';
  } catch (error) {
    if (error === alreadyHandled) return 'duplicate';
    throw error;
  }
};
