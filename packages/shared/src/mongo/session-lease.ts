/**
 * Ends the open transactions of processes that died. The database keeps them with their locks until its transaction
 * lifetime has passed, which is a minute by default and cannot be set on every server (ADR 45). A process stores the id
 * of each session before its first transaction, and counts up a number while it lives. When the number stands still,
 * another process ends these sessions.
 */
import mongoose, { type ClientSession, type Connection } from 'mongoose';
import { MINUTE_MS, SECOND_MS } from '../kernel/clock.ts';
import { createKeyedQueue } from '../kernel/keyed-queue.ts';
import type { Logger } from '../kernel/log.ts';
import { collectionPrivacy, retain } from './privacy.ts';

export const SESSION_COLLECTION = 'transaction_sessions';
const ROUND_MS = SECOND_MS;
/**
 * Measured by each observer itself: clocks of two machines differ. Far more than a process on a busy machine stalls, and less
 * than the 30 s in which a repeat must finish the work of a dead process.
 */
const DEAD_AFTER_MS = 10 * SECOND_MS;
/** An observer that could not look for this many rounds knows nothing of the time between. */
const BLIND_ROUNDS = 5;
/** The driver does not use a session again that was idle for the server's half an hour. */
const UNUSED_MS = 40 * MINUTE_MS;

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

interface Lessee {
  enlist(session: ClientSession): Promise<void>;
  abandon(session: ClientSession): void;
}

const lessees = new WeakMap<Connection, Lessee>();

/** Await it before a transaction: its session can then be ended after a crash. */
export const enlist = async (connection: Connection, session: ClientSession): Promise<void> => {
  await lessees.get(connection)?.enlist(session);
};

/**
 * Ends `session` after a transaction during which the database was lost: the transaction may still be open there, with its
 * locks. It is ended when the database is back, and the session not used before, so that no other transaction ends with it.
 */
export const abandon = async (connection: Connection, session: ClientSession): Promise<void> => {
  const lessee = lessees.get(connection);
  if (lessee === undefined) await session.endSession();
  else lessee.abandon(session);
};

const idOf = (session: ClientSession): string | undefined => session.id?.id.toUUID().toString();

const endSessions = async (connection: Connection, sessions: readonly string[]): Promise<void> => {
  // With an empty list `killSessions` ends the sessions of all clients.
  if (sessions.length === 0) return;
  const killSessions = sessions.map((id) => ({ id: new mongoose.mongo.UUID(id) }));
  await connection.getClient().db('admin').command({ killSessions });
};

/** Starts the lease of this process, and looks after those of others. */
export const leaseSessions = ({
  connection,
  owner,
  log,
  roundMs = ROUND_MS,
  deadAfterMs = DEAD_AFTER_MS,
}: SessionLeaseOptions): SessionLease => {
  const owners = connection.collection<Owner>(SESSION_COLLECTION);
  /** One write at a time, so that the own ones do not conflict. */
  const writes = createKeyedQueue();
  /** Session id → when it was last used, by `performance.now()`. */
  const used = new Map<string, number>();
  const unstored = new Set<string>();

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
    const unusedSince = performance.now() - UNUSED_MS;
    for (const [id, at] of used) if (at < unusedSince) used.delete(id);
    const sessions = [...used.keys()];
    await owners.updateOne(
      { _id: owner },
      { $set: { sessions }, $inc: { renewals: 1 } },
      { upsert: sessions.length > 0 },
    );
    for (const id of sessions) unstored.delete(id);
  };

  const abandoned = new Set<ClientSession>();

  const endAbandoned = async (): Promise<void> => {
    const sessions = [...abandoned];
    await endSessions(
      connection,
      sessions.map(idOf).filter((id) => id !== undefined),
    );
    for (const session of sessions) {
      abandoned.delete(session);
      await session.endSession();
    }
  };

  lessees.set(connection, {
    enlist: async (session) => {
      const id = idOf(session);
      if (id === undefined) return;
      if (!used.has(id)) unstored.add(id);
      used.set(id, performance.now());
      while (unstored.has(id)) await writes.run(owner, store);
    },
    abandon: (session) => void abandoned.add(session),
  });

  /** The number of each other process, and since when it stands still. */
  const seen = new Map<string, { renewals: number; since: number }>();

  let lookedAt = performance.now();

  const endDead = async ({ _id, renewals, sessions }: Owner): Promise<void> => {
    await endSessions(connection, sessions);
    await owners.deleteOne({ _id, renewals });
    seen.delete(_id);
    log.warn({ owner: _id, sessions: sessions.length }, 'the transactions of a dead process were ended');
  };

  const lookAfterOthers = async (): Promise<void> => {
    const others = (await owners.find().toArray()).filter(({ _id }) => _id !== owner);
    const now = performance.now();
    // While the database was lost nobody could renew a lease.
    if (now - lookedAt > BLIND_ROUNDS * Math.max(roundMs, ROUND_MS)) seen.clear();
    lookedAt = now;
    for (const other of others) {
      const before = seen.get(other._id);
      if (before?.renewals !== other.renewals) seen.set(other._id, { renewals: other.renewals, since: now });
      else if (now - before.since >= deadAfterMs) await step(() => endDead(other));
    }
    for (const id of seen.keys()) if (!others.some(({ _id }) => _id === id)) seen.delete(id);
  };

  /** A step that fails is repeated in the next round, and does not keep the others from running. */
  const step = (work: () => Promise<void>): Promise<void> =>
    work().catch((error: unknown) => log.debug({ err: error }, 'a step of the session lease failed'));

  const runRound = async (): Promise<void> => {
    await step(() => writes.run(owner, renew));
    await step(endAbandoned);
    await step(lookAfterOthers);
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
      lessees.delete(connection);
      await endAbandoned().catch(() => undefined);
      await owners.deleteOne({ _id: owner }).catch(() => undefined);
    },
  };
};
