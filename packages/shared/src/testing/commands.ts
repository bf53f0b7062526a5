/**
 * Records the database commands of a service. The service runs with {@link monitored} in its configuration; its
 * connection is found by the name of its database.
 */
import mongoose, { type Connection } from 'mongoose';
import type { Document, SentCommand } from './lookups.ts';
import { createFaultFinder, type PlanOptions } from './query-plans.ts';
import { createShardCheck, type Shards } from './shards.ts';

/** Number of sequential round trips; concurrent commands are one. */
export const roundTrips = (commands: readonly SentCommand[]): number => {
  let [trips, answeredAt] = [0, Number.NEGATIVE_INFINITY];
  for (const command of commands.toSorted((one, other) => one.sentAt - other.sentAt)) {
    if (command.sentAt >= answeredAt) trips += 1;
    answeredAt = Math.max(answeredAt, command.answeredAt);
  }
  return trips;
};

export interface CommandWatch {
  /** All commands of the process during `work`, oldest first. */
  during(work: () => Promise<unknown>): Promise<SentCommand[]>;
  /**
   * Faults in the plans, as texts with command and plan: a collection scan, an in-memory sort, an index that reads a large
   * part of the collection, an index hint. Throws when a collection has fewer than `FILLED` documents, or when the database
   * returns no plan: the check would prove nothing. With `shards`, it also finds commands that a cluster would refuse, or
   * that ask each of its shards without being listed.
   */
  faults(commands: readonly SentCommand[]): Promise<string[]>;
  /** Scatters that `shards` lists but that no command passed to `faults` needed. */
  unusedScatters(): string[];
}

interface WatchOptions extends PlanOptions {
  /** The collections of the service; those of the service runtime are always among them. */
  shards?: Shards;
}

/** A configuration with command monitoring. */
export const monitored = <Config extends { MONGODB_URI: string }>(config: Config): Config => {
  const separator = config.MONGODB_URI.includes('?') ? '&' : '?';
  // Without spare connections, opening one would make concurrent commands sequential.
  const options = 'monitorCommands=true&minPoolSize=8';
  return { ...config, MONGODB_URI: `${config.MONGODB_URI}${separator}${options}` };
};

/** This process's connection to `database` with command monitoring. */
export const monitoredConnection = (database: string): Connection => {
  const connection = mongoose.connections.find(
    (candidate) => candidate.name === database && candidate.getClient().options.monitorCommands,
  );
  if (connection === undefined) throw new Error(`no monitored connection to ${database}`);
  return connection;
};

/** Records the commands of this process's connection to `database`. */
export const watchCommands = (database: string, { shards, ...options }: WatchOptions = {}): CommandWatch => {
  const connection = monitoredConnection(database);
  const planFaults = createFaultFinder(connection, options);
  const shardCheck = createShardCheck(shards ?? {});
  let watched: SentCommand[] | undefined;
  /** Commands without a response, by request id. */
  const pending = new Map<number, SentCommand>();
  const client = connection.getClient();
  client.on('commandStarted', ({ commandName, command, requestId }) => {
    if (watched === undefined) return;
    const sent = toSent(commandName, command as Document);
    watched.push(sent);
    pending.set(requestId, sent);
  });
  const answered = ({ requestId }: { requestId: number }): void => {
    const sent = pending.get(requestId);
    if (sent !== undefined) sent.answeredAt = performance.now();
    pending.delete(requestId);
  };
  client.on('commandSucceeded', answered);
  client.on('commandFailed', answered);
  return {
    during: async (work) => {
      const sent: SentCommand[] = [];
      watched = sent;
      try {
        await work();
      } finally {
        watched = undefined;
      }
      return sent;
    },
    faults: async (commands) => [
      ...(shards === undefined ? [] : shardCheck.faults(commands)),
      ...(await planFaults(commands)),
    ],
    unusedScatters: shardCheck.unused,
  };
};

export const toSent = (name: string, command: Document): SentCommand => {
  const collection = command[name];
  return {
    name,
    collection: typeof collection === 'string' ? collection : '',
    inTransaction: command.autocommit === false,
    command: { ...command },
    sentAt: performance.now(),
    answeredAt: Number.POSITIVE_INFINITY,
  };
};
