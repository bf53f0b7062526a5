/** Lets the outbox tell the relays of the same process and database that there is something to publish. */
import type { Connection } from '../mongo/connect.ts';

const sleepers = new WeakMap<Connection, Set<() => void>>();

/** Calls `wake` whenever events were committed on `connection`; returns how to stop. */
export const onCommittedEvents = (connection: Connection, wake: () => void): (() => void) => {
  const known = sleepers.get(connection) ?? new Set();
  sleepers.set(connection, known);
  known.add(wake);
  return () => known.delete(wake);
};

export const announceCommittedEvents = (connection: Connection): void => {
  for (const wake of sleepers.get(connection) ?? []) wake();
};
