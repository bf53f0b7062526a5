/** Counts the documents that each transaction of this process changes, from the responses of the database. */
import { STEP_MAX } from '../mongo/steps.ts';
import { monitoredConnection } from './commands.ts';
import type { Document } from './lookups.ts';

export interface TransactionWatch {
  /** How many documents the largest transaction has changed. Throws when none was as large as one step: nothing was measured. */
  largest(): number;
}

const countOf = (reply: Document, field: string): number => Number(reply[field] ?? 0);

/** What one command changed: inserted, updated or deleted. */
const changedBy: Readonly<Record<string, (reply: Document) => number>> = {
  insert: (reply) => countOf(reply, 'n'),
  delete: (reply) => countOf(reply, 'n'),
  update: (reply) => countOf(reply, 'nModified') + ((reply.upserted as unknown[] | undefined)?.length ?? 0),
  findAndModify: (reply) => countOf((reply.lastErrorObject ?? {}) as Document, 'n'),
  bulkWrite: (reply) =>
    ['nInserted', 'nModified', 'nDeleted', 'nUpserted'].reduce(
      (sum, field) => sum + countOf(reply, field),
      0,
    ),
};

/** Counts from now on. The service of this process runs with `monitored`. */
export const watchTransactions = (database: string): TransactionWatch => {
  const changes = new Map<string, number>();
  /** Writes without a response, by request id: the transaction of each. */
  const pending = new Map<number, string>();
  const client = monitoredConnection(database).getClient();
  client.on('commandStarted', ({ commandName, command, requestId }) => {
    if (command.autocommit !== false || changedBy[commandName] === undefined) return;
    pending.set(requestId, `${command.lsid.id.toString('hex')} ${command.txnNumber}`);
  });
  client.on('commandSucceeded', ({ commandName, requestId, reply }) => {
    const transaction = pending.get(requestId);
    pending.delete(requestId);
    const changed = transaction === undefined ? 0 : (changedBy[commandName]?.(reply as Document) ?? 0);
    if (transaction !== undefined && changed > 0)
      changes.set(transaction, (changes.get(transaction) ?? 0) + changed);
  });
  client.on('commandFailed', ({ requestId }) => pending.delete(requestId));
  return {
    largest: () => {
      const largest = Math.max(0, ...changes.values());
      if (largest < STEP_MAX) throw new Error(`the largest transaction changed ${largest} documents`);
      return largest;
    },
  };
};
