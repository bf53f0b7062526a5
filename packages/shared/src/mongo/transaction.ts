/** Transactions that retry what the database asks to retry, and work that waits for the commit. */
import type { ClientSession, Connection } from 'mongoose';
import type { Logger } from 'pino';
import { unavailable } from '../error.ts';
import { jitteredDelayMs, sleep } from './backoff.ts';

const DEFAULT_DEADLINE_MS = 10_000;
const BACKOFF_MIN_MS = 2;
const BACKOFF_MAX_MS = 50;
/** Of a conflict on a slow database: see {@link conflictCeilingMs}. */
const CONFLICT_BACKOFF_MAX_MS = 1_000;
const DUPLICATE_KEY = 11_000;
const CAUSE_DEPTH = 5;

export interface TransactionOptions {
  /** No new attempt starts after this many milliseconds. Default 10 s. */
  deadlineMs?: number | undefined;
  log?: Logger | undefined;
  /**
   * Default `snapshot`. With `default` the database's own is used: a replica set reads one snapshot either way, and a
   * commit by the majority makes what it read durable, too. A transaction whose first command is `bulkWrite` needs it:
   * not every server takes a read concern with that.
   */
  readConcern?: 'snapshot' | 'default' | undefined;
}

type Hook = () => unknown;
type TransactionSettings = NonNullable<Parameters<ClientSession['startTransaction']>[0]>;

/** What one attempt of a transaction still has to do. */
interface Attempt {
  beforeCommit: Hook[];
  afterCommit: Hook[];
}

const attempts = new WeakMap<ClientSession, Attempt>();

/**
 * Runs `work` in one transaction and returns what it returned, once it is committed.
 *
 * `work` may run several times: a write conflict undoes everything and starts it again. It therefore loads every
 * document it changes inside itself, passes `session` to every query, and has no effect outside the database; such an
 * effect goes into {@link afterCommit}. Queries of one session run one after the other, never with Promise.all.
 *
 * Rejects with what `work` threw (nothing is stored then), or with `unavailable` and the database's last error as its
 * cause when others were faster until the deadline: nothing is stored then either. When the answer to the commit itself
 * is lost and stays lost until the deadline, it rejects with the database's error and the outcome is unknown.
 */
export const inTransaction = async <T>(
  connection: Connection,
  work: (session: ClientSession) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> => {
  const deadline = performance.now() + (options.deadlineMs ?? DEFAULT_DEADLINE_MS);
  const { readConcern = 'snapshot' } = options;
  // What a session has seen goes along with its next transaction's first command as part of a read concern.
  const session = await connection.startSession({ causalConsistency: readConcern === 'snapshot' });
  const settings: TransactionSettings = {
    ...(readConcern === 'snapshot' ? { readConcern: { level: 'snapshot' } } : {}),
    writeConcern: { w: 'majority' },
  };
  try {
    const result = await untilCommitted(session, settings, work, deadline);
    await runHooks(session, options.log);
    return result;
  } finally {
    attempts.delete(session);
    await session.endSession();
  }
};

const untilCommitted = async <T>(
  session: ClientSession,
  settings: TransactionSettings,
  work: (session: ClientSession) => Promise<T>,
  deadline: number,
): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    const pending: Attempt = { beforeCommit: [], afterCommit: [] };
    attempts.set(session, pending);
    const startedAt = performance.now();
    session.startTransaction(settings);
    try {
      const result = await work(session);
      for (const hook of pending.beforeCommit) await hook();
      await commit(session, deadline);
      return result;
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
      const now = performance.now();
      if (!isTransient(error)) throw error;
      if (now >= deadline)
        throw unavailable('a transaction found its documents taken until its deadline', error);
      await sleep(jitteredDelayMs(attempt, BACKOFF_MIN_MS, conflictCeilingMs(attempt, now - startedAt)));
    }
  }
};

/**
 * The longest wait before the next attempt: the losers of a conflict on one document stay away longer the longer an
 * attempt takes, or on a slow database they meet again at every try until their deadlines.
 */
const conflictCeilingMs = (attempt: number, tookMs: number): number =>
  Math.min(CONFLICT_BACKOFF_MAX_MS, Math.max(BACKOFF_MAX_MS, tookMs * attempt));

/** Commits, asking again while the answer is lost: a repeated commit of the same transaction has one effect. */
const commit = async (session: ClientSession, deadline: number): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await session.commitTransaction();
      return;
    } catch (error) {
      const unknown = hasLabel(error, 'UnknownTransactionCommitResult') && !isTransient(error);
      if (!unknown || performance.now() >= deadline) throw error;
      await sleep(jitteredDelayMs(attempt, BACKOFF_MIN_MS, BACKOFF_MAX_MS));
    }
  }
};

const runHooks = async (session: ClientSession, log: Logger | undefined): Promise<void> => {
  for (const hook of attempts.get(session)?.afterCommit ?? []) {
    try {
      await hook();
    } catch (error) {
      log?.error({ err: error }, 'work after a commit failed');
    }
  }
};

const attemptOf = (session: ClientSession, asker: string): Attempt => {
  const attempt = attempts.get(session);
  if (attempt === undefined) throw new Error(`${asker} needs the session of a running inTransaction`);
  return attempt;
};

/**
 * Runs `fn` as the last thing inside the transaction of `session`; what it throws aborts the transaction. For writes
 * that gather while the work goes on and are sent together. Throws when the session is not one that `inTransaction`
 * handed out.
 */
export const beforeCommit = (session: ClientSession, fn: () => Promise<void>): void => {
  attemptOf(session, 'beforeCommit').beforeCommit.push(fn);
};

/**
 * Runs `fn` once, after the transaction of `session` is committed; never when it is not. `inTransaction` waits for it.
 * It may be lost in a crash right after the commit: use it to hurry something that would happen anyway. A failure is
 * logged. Throws when the session is not one that `inTransaction` handed out.
 */
export const afterCommit = (session: ClientSession, fn: () => unknown): void => {
  attemptOf(session, 'afterCommit').afterCommit.push(fn);
};

/** What is the same during one attempt of the transaction of `session`, and another thing in the next. */
export const attemptKey = (session: ClientSession): object => attemptOf(session, 'attemptKey');

/** The error and what caused it, read by shape: a test run may hold several copies of a class. */
const causes = (error: unknown): Record<string, unknown>[] => {
  const chain: Record<string, unknown>[] = [];
  for (let next = error; typeof next === 'object' && next !== null && chain.length < CAUSE_DEPTH; ) {
    chain.push(next as Record<string, unknown>);
    next = (next as { cause?: unknown }).cause;
  }
  return chain;
};

const hasLabel = (error: unknown, label: string): boolean =>
  causes(error).some((link) => {
    const { hasErrorLabel, errorLabels } = link as { hasErrorLabel?: unknown; errorLabels?: unknown };
    if (typeof hasErrorLabel === 'function') return hasErrorLabel.call(link, label) === true;
    return Array.isArray(errorLabels) && errorLabels.includes(label);
  });

/** Whether the database asks to start the transaction again. */
const isTransient = (error: unknown): boolean => hasLabel(error, 'TransientTransactionError');

/** Whether the database could not be reached or had no primary: nothing that the work itself could have caused. */
export const isDatabaseDown = (error: unknown): boolean =>
  causes(error).some(({ name }) => typeof name === 'string' && DATABASE_DOWN.test(name));

const DATABASE_DOWN =
  /^(Mongo(Network|ServerSelection|PoolCleared|WaitQueueTimeout|NotConnected|TopologyClosed)|MongooseServerSelection)/;

/**
 * Whether `error` says that a unique index refused a write; with `indexOrField`, that it was the index of this name or
 * one over this field. Inside a transaction the database has then aborted it: no further query of that session works.
 */
export const isDuplicateKey = (error: unknown, indexOrField?: string): boolean =>
  causes(error).some((link) => {
    if (link.code !== DUPLICATE_KEY) return false;
    if (indexOrField === undefined) return true;
    const fields = { ...(link.keyPattern as object | undefined), ...(link.keyValue as object | undefined) };
    if (Object.hasOwn(fields, indexOrField)) return true;
    const text = typeof link.message === 'string' ? link.message : '';
    const index = /index: (?:\S+\.\$)?(\S+)/.exec(text)?.[1];
    return index === indexOrField;
  });
