/** For tests of operators' actions: the audit entries that an action has stored, and the collections written with them. */
import type { Connection } from 'mongoose';
import { createAuditLog } from '../audit/log.ts';
import type { AuditEntry } from '../audit/reader.ts';
import { systemClock, systemRandom } from '../kernel/clock.ts';
import { createLog } from '../kernel/log.ts';
import { watchCommands } from './commands.ts';
import type { Document, SentCommand } from './lookups.ts';

export interface Observed<Result> {
  result: Result;
  /** Oldest first. */
  entries: AuditEntry[];
  /** The collections that were written in a transaction that stored an entry, without those of the log. */
  written: string[];
}

const WRITES = ['insert', 'update', 'delete', 'findAndModify', 'bulkWrite'];
const LIMIT = 500;

const transactionOf = ({ command, inTransaction }: SentCommand): string | undefined =>
  inTransaction ? JSON.stringify([command.lsid, String(command.txnNumber)]) : undefined;

const collectionsOf = ({ name, collection, command }: SentCommand): string[] =>
  name === 'bulkWrite'
    ? (command.nsInfo as Document[]).map(({ ns }) => String(ns).replace(/^[^.]*\./, ''))
    : [collection];

/** `connection`: a connection to the database of a service of this process that runs with `monitored`. */
export const createAuditObserver = (connection: Connection, service: string) => {
  const watch = watchCommands(connection.name);
  const log = createLog({ service: 'test', level: 'silent' });
  const audit = createAuditLog({ connection, service, clock: systemClock, random: systemRandom, log });
  const all = async (): Promise<AuditEntry[]> =>
    (await audit.list({}, { beforeId: undefined, limit: LIMIT })).entries.toReversed();
  return {
    /** All entries, oldest first. */
    all,
    /** Runs an action of an operator. */
    observe: async <Result>(work: () => Promise<Result>): Promise<Observed<Result>> => {
      const before = new Set((await all()).map(({ id }) => id));
      let result: Result | undefined;
      const sent = await watch.during(async () => {
        result = await work();
      });
      const stores = sent.filter(
        ({ name, collection }) => name === 'insert' && collection === 'audit_entries',
      );
      const transactions = new Set(stores.map(transactionOf).filter((id) => id !== undefined));
      const written = sent
        .filter((command) => WRITES.includes(command.name) && transactions.has(transactionOf(command) ?? ''))
        .flatMap(collectionsOf)
        .filter((name) => !name.startsWith('audit_'));
      return {
        result: result as Result,
        entries: (await all()).filter(({ id }) => !before.has(id)),
        written: [...new Set(written)].sort(),
      };
    },
  };
};
