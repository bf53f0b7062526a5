/**
 * Ends the open transactions of processes that died. The database keeps them with their locks until the end of its transaction
 * lifetime. This is a minute by default, and cannot be set on every server (ADR 45). A process stores the id of each session
 * before its first transaction, and increments a number (`renewals`) while it lives. When the number has not changed for ten
 * seconds, another process ends these sessions.
 */
import mongoose, { type ClientSession, type Connection } from 'mongoose';
import { MINUTE_MS, SECOND_MS } from '../kernel/clock.ts';
import { createKeyedQueue } from '../kernel/keyed-queue.ts';
import type { Logger } from '../kernel/log.ts';
import { collectionPrivacy, retain } from './privacy.ts';
import { refusalOf } from './refusal.ts';

export const SESSION_COLLECTION = 'transaction_sessions';
const ROUND_MS = SECOND_MS;
/**
 * Each observer measures this itself, because the clocks of two machines differ. It is far more than a process stalls on a busy
 * machine. It is less than the 30 s in which a repeat must finish the work of a dead process.
 */
const DEAD_AFTER_MS = 10 * SECOND_MS;
/** After this many rounds without a check, an observer measures all processes anew, because it may have missed renewals. */
const MAX_MISSED_ROUNDS = 5;
/** The driver does not reuse a session that was idle for 30 minutes, the session timeout of the server. */
const MAX_IDLE_MS = 40 * MINUTE_MS;

interface Owner {
  _id: string;
  sessions: string[];
  renewals: number;
}

collectionPrivacy<Owner>(
  SESSION_COLLECTION,
  retain('database sessions of the running processes', '_id', 'sessions', 'renewals'),
);

export interface SessionLease {
  close(): Promise<void>;
}

interface SessionLeaseOptions {
  connection: Connection;
  /** Unique for each start of a process. */
  owner: string;
  log: Logger;
  roundMs?: number | undefined;
  deadAfterMs?: number | undefined;
}

interface SessionRegistry {
  registerSession(session: ClientSession): Promise<void>;
  endSessionLater(session: ClientSession): void;
}

const registries = new WeakMap<Connection, SessionRegistry>();

/** Stores the id of a session, so that it can be ended after a crash. Await it before the first transaction. */
export const registerSession = async (connection: Connection, session: ClientSession): Promise<void> => {
  await registries.get(connection)?.registerSession(session);
};

/**
 * Ends `session` when the database is back after it was lost during a transaction. The transaction may still be open
 * there, with its locks. The driver must not reuse the session before that, or another transaction would end with it.
 */
export const endSessionLater = async (connection: Connection, session: ClientSession): Promise<void> => {
  const registry = registries.get(connection);
  if (registry === undefined) await session.endSession();
  else registry.endSessionLater(session);
};

const idOf = (session: ClientSession): string | undefined => session.id?.id.toUUID().toString();

const endSessions = async (connection: Connection, sessions: readonly string[]): Promise<void> => {
  // With an empty list `killSessions` ends the sessions of all clients.
  if (sessions.length === 0) return;
  const killSessions = sessions.map((id) => ({ id: new mongoose.mongo.UUID(id) }));
  await connection.getClient().db('admin').command({ killSessions });
};

/**
 * Ends sessions. Resolves with false if the server refuses that. There is nothing to repeat then: it ends their transactions
 * itself, later, or when the driver starts the next one in a session.
 */
const createEnd = (connection: Connection, log: Logger) => {
  let isRefusalKnown = false;
  return async (sessions: readonly string[]): Promise<boolean> => {
    try {
      await endSessions(connection, sessions);
      return true;
    } catch (error) {
      if (refusalOf(error) === undefined) throw error;
      if (!isRefusalKnown)
        log.warn(
          { err: error },
          'the database refuses killSessions: the transaction of a process that died keeps its locks until the database ends it, after transactionLifetimeLimitSeconds, 60 by default',
        );
      isRefusalKnown = true;
      return false;
    }
  };
};

/** Starts the lease of this process, and ends the sessions of processes whose lease has expired. */
export const leaseSessions = ({
  connection,
  owner,
  log,
  roundMs = ROUND_MS,
  deadAfterMs = DEAD_AFTER_MS,
}: SessionLeaseOptions): SessionLease => {
  const owners = connection.collection<Owner>(SESSION_COLLECTION);
  /** One write at a time, to avoid conflicts within this process. */
  const writes = createKeyedQueue();
  /** Session id → when it was last used, by `performance.now()`. */
  const lastUsed = new Map<string, number>();
  /** Ids of sessions in use that the row of this process does not contain yet. */
  const unstored = new Set<string>();

  const end = createEnd(connection, log);

  const store = async (): Promise<void> => {
    const sessions = [...unstored];
    if (sessions.length === 0) return;
    await owners.updateOne(
      { _id: owner },
      { $addToSet: { sessions: { $each: sessions } }, $inc: { renewals: 1 } },
      { upsert: true },
    );
    for (const id of sessions) unstored.delete(id);
  };

  const renew = async (): Promise<void> => {
    const idleSince = performance.now() - MAX_IDLE_MS;
    for (const [id, at] of lastUsed) if (at < idleSince) lastUsed.delete(id);
    const sessions = [...lastUsed.keys()];
    await owners.updateOne(
      { _id: owner },
      { $set: { sessions }, $inc: { renewals: 1 } },
      { upsert: sessions.length > 0 },
    );
    for (const id of sessions) unstored.delete(id);
  };

  /** Sessions of transactions during which the database was lost. */
  const toEnd = new Set<ClientSession>();

  const endLostSessions = async (): Promise<void> => {
    const sessions = [...toEnd];
    await end(sessions.map(idOf).filter((id) => id !== undefined));
    for (const session of sessions) {
      toEnd.delete(session);
      await session.endSession();
    }
  };

  registries.set(connection, {
    registerSession: async (session) => {
      const id = idOf(session);
      if (id === undefined) return;
      if (!lastUsed.has(id)) unstored.add(id);
      lastUsed.set(id, performance.now());
      while (unstored.has(id)) await writes.run(owner, store);
    },
    endSessionLater: (session) => void toEnd.add(session),
  });

  /** The `renewals` of each other process, and since when it has not changed, by `performance.now()`. */
  const observed = new Map<string, { renewals: number; since: number }>();

  let checkedAt = performance.now();

  const endSessionsOfDead = async ({ _id, renewals, sessions }: Owner): Promise<void> => {
    const isEnded = await end(sessions);
    await owners.deleteOne({ _id, renewals });
    observed.delete(_id);
    if (!isEnded) return;
    log.warn({ owner: _id, sessions: sessions.length }, 'the transactions of a dead process were ended');
  };

  const checkOtherProcesses = async (): Promise<void> => {
    const others = (await owners.find().toArray()).filter(({ _id }) => _id !== owner);
    const now = performance.now();
    // No process could renew its lease while the database was lost.
    if (now - checkedAt > MAX_MISSED_ROUNDS * Math.max(roundMs, ROUND_MS)) observed.clear();
    checkedAt = now;
    for (const other of others) {
      const before = observed.get(other._id);
      if (before?.renewals !== other.renewals)
        observed.set(other._id, { renewals: other.renewals, since: now });
      else if (now - before.since >= deadAfterMs) await step(() => endSessionsOfDead(other));
    }
    for (const id of observed.keys()) if (!others.some(({ _id }) => _id === id)) observed.delete(id);
  };

  /** A step that fails is repeated in the next round. The other steps still run. */
  const step = (work: () => Promise<void>): Promise<void> =>
    work().catch((error: unknown) => log.debug({ err: error }, 'a step of the session lease failed'));

  const runRound = async (): Promise<void> => {
    await step(() => writes.run(owner, renew));
    await step(endLostSessions);
    await step(checkOtherProcesses);
  };

  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const schedule = (): void => {
    timer = setTimeout(() => {
      round = runRound().finally(() => {
        if (!closed) schedule();
      });
    }, roundMs);
  };
  schedule();

  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await round;
      registries.delete(connection);
      await endLostSessions().catch(() => undefined);
      await owners.deleteOne({ _id: owner }).catch(() => undefined);
    },
  };
};
