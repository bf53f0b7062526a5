/** An event takes effect once per consumer, however often it is delivered. */
import { systemClock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import type { Connection } from '../mongo/connect.ts';
import type { Rest } from '../mongo/steps.ts';
import { afterCommit, inTransaction, isDuplicateKey } from '../mongo/transaction.ts';
import type { EventConsumer, ReceivedEvent } from './consumer.ts';
import { registerEventModels } from './models.ts';

const alreadyHandled = new Error('The event was already handled');

/**
 * Runs the consumer and records the event in the inbox in one transaction. For a consumer that works in steps, this is the
 * transaction of the last step. The record is written first: the unique index lets only one of two concurrent deliveries
 * continue. Rejects with the error of the handler; then nothing of that step is stored, and no record.
 */
export const handleOnce = async (
  connection: Connection,
  consumer: EventConsumer,
  event: ReceivedEvent,
  log: Logger,
): Promise<'done' | 'duplicate'> => {
  const { inbox } = registerEventModels(connection);
  // Uses real time, not the injected clock, because the TTL index of the database expires the record.
  const record = { consumer: consumer.name, eventId: event.id, processedAt: systemClock.now() };
  const step = (): Promise<Rest> =>
    inTransaction(
      connection,
      async (session) => {
        await inbox.create([record], { session }).catch((error: unknown) => {
          throw isDuplicateKey(error) ? alreadyHandled : error;
        });
        const rest = await consumer.handle(event, {
          session,
          log,
          afterCommit: (fn) => afterCommit(session, fn),
        });
        if (rest !== 'more') return 'done';
        await inbox.deleteOne({ consumer: consumer.name, eventId: event.id }, { session });
        return 'more';
      },
      { log },
    );
  try {
    while ((await step()) === 'more');
    return 'done';
  } catch (error) {
    if (error === alreadyHandled) return 'duplicate';
    throw error;
  }
};
