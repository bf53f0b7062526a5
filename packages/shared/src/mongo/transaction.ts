/** Transactions with retries, and hooks before and after the commit. */
import { setTimeout } from 'node:timers/promises';
import mongoose, { type ClientSession, type Connection } from 'mongoose';
import { SECOND_MS } from '../kernel/clock.ts';
import { scaledDeadline } from '../kernel/config.ts';
import { isAppError, OUTCOME_UNKNOWN, outcomeUnknown, unavailable } from '../kernel/error.ts';
import type { Logger } from '../kernel/log.ts';
import {
  causesOf,
  hasLabel,
  isDatabaseLost,
  isDatabaseUnderPressure,
  isNotSent,
  isRejected,
} from '../kernel/outage.ts';
import { assertInTime, effectStarted, remainingMs } from '../kernel/request-scope.ts';
import { jitteredDelayMs, sleep } from '../kernel/timing.ts';
import { WRITE_CONCERN } from './concerns.ts';
import { refusalOf } from './refusal.ts';

const DEFAULT_DEADLINE_MS = 10_000;
const BACKOFF_MIN_MS = 2;
const BACKOFF_MAX_MS = 50;
/** See {@link conflictCeilingMs}. */
const CONFLICT_BACKOFF_MAX_MS = 1_000;
/**
 * The number of times that the driver sends a command by default. The delays are those of the driver
 * specification (`client-backpressure.md`). More attempts would keep an overloaded database overloaded.
 */
const OVERLOAD_TRIES = 3;
const OVERLOAD_BACKOFF_MIN_MS = 50;
const OVERLOAD_BACKOFF_MAX_MS = 2_000;
const DUPLICATE_KEY = 11_000;
const WRITE_CONFLICT = 112;

export interface TransactionOptions {
  /** No new attempt starts after this many milliseconds. Default 10 s. */
  deadlineMs?: number | undefined;
  log?: Logger | undefined;
  /**
   * Default `snapshot`. `default` sends no read concern. A replica set reads one snapshot either way, and the
   * majority commit makes the read data durable. Needed if the first command is `bulkWrite`, which some servers
   * refuse with a read concern.
   */
  readConcern?: 'snapshot' | 'default' | undefined;
  /**
   * Whether the commit is an effect of the request. If false, a later failure of the request still means that
   * nothing was changed. Default true.
   */
  isEffect?: boolean | undefined;
}

type Hook = () => unknown;
type TransactionSettings = NonNullable<Parameters<ClientSession['startTransaction']>[0]>;

/** The hooks of one attempt. */
interface Attempt {
  beforeCommit: Hook[];
  afterCommit: Hook[];
}

const attempts = new WeakMap<ClientSession, Attempt>();

/**
 * Runs `work` in one transaction and returns its result after the commit.
 *
 * `work` may run several times, because it starts again after a write conflict. It must therefore read every document
 * that it changes, pass `session` to every query, and have no effect outside the database. Use {@link afterCommit} for
 * such effects. Queries of one session must run one after the other, never with Promise.all.
 *
 * Stores nothing and rejects with:
 * - the error of `work`;
 * - `unavailable`, if write conflicts last until the deadline, or if the request's deadline passes before the commit;
 * - the error of the database, if it stays overloaded.
 *
 * If it is unknown whether a commit took effect, the commit is repeated until the deadline. Then it rejects with
 * `outcome_unknown`.
 */
export const inTransaction = async <T>(
  connection: Connection,
  work: (session: ClientSession) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> => {
  assertInTime();
  const { deadlineMs = scaledDeadline(DEFAULT_DEADLINE_MS) } = options;
  const deadline = performance.now() + Math.min(deadlineMs, remainingMs());
  const { readConcern = 'snapshot', isEffect = true } = options;
  // Causal consistency would add a read concern to the first command of the transaction.
  const session = await connection.startSession({ causalConsistency: readConcern === 'snapshot' });
  // Otherwise the driver would send the read concern of the connection.
  if (readConcern === 'default')
    session.clientOptions = Object.create(session.clientOptions, { readConcern: { value: undefined } });
  const settings: TransactionSettings = {
    ...(readConcern === 'snapshot' ? { readConcern: { level: 'snapshot' } } : {}),
    writeConcern: WRITE_CONCERN,
  };
  let mayBeOpen = false;
  try {
    const result = await runUntilCommitted(session, settings, work, deadline);
    if (isEffect) effectStarted();
    await runHooks(session, options.log);
    return result;
  } catch (error) {
    mayBeOpen =
      isDatabaseLost(error) || isNotSent(error) || isDatabaseUnderPressure(error) || isOutcomeUnknown(error);
    throw error;
  } finally {
    attempts.delete(session);
    if (mayBeOpen) void endOpenSession(connection, session);
    else await session.endSession();
  }
};

const END_RETRY_MS = SECOND_MS;
/** The database ends the transaction itself after a minute, by default. */
const END_TRIES = 60;

/**
 * Ends a session whose transaction may still be open at the database, with its locks, as soon as the database responds. The driver
 * must not reuse the session before that, or another transaction would end with it.
 */
const endOpenSession = async (connection: Connection, session: ClientSession): Promise<void> => {
  const { id } = session.id ?? {};
  for (let tries = 1; id !== undefined && tries <= END_TRIES; tries += 1) {
    try {
      await connection
        .getClient()
        .db('admin')
        .command({ killSessions: [{ id }] });
      break;
    } catch (error) {
      const isFinal =
        error instanceof mongoose.mongo.MongoNotConnectedError || refusalOf(error) !== undefined;
      if (isFinal) break;
      await setTimeout(END_RETRY_MS, undefined, { ref: false });
    }
  }
  await session.endSession();
};

const runUntilCommitted = async <T>(
  session: ClientSession,
  settings: TransactionSettings,
  work: (session: ClientSession) => Promise<T>,
  deadline: number,
): Promise<T> => {
  for (let attempt = 1, overloads = 0; ; attempt += 1) {
    const pending: Attempt = { beforeCommit: [], afterCommit: [] };
    attempts.set(session, pending);
    const startedAt = performance.now();
    session.startTransaction(settings);
    try {
      const result = await work(session);
      for (const hook of pending.beforeCommit) await hook();
      assertInTime();
      await commit(session, deadline);
      return result;
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
      const now = performance.now();
      if (isOutcomeUnknown(error)) throw error;
      const isOverload = isDatabaseUnderPressure(error);
      if (isOverload) overloads += 1;
      if (isOverload ? error instanceof RejectedCommit || overloads >= OVERLOAD_TRIES : !isTransient(error))
        throw error;
      const delayMs = isOverload
        ? overloadDelayMs(overloads, error)
        : jitteredDelayMs(attempt, BACKOFF_MIN_MS, conflictCeilingMs(attempt, now - startedAt));
      if (now + delayMs >= deadline)
        throw unavailable('a transaction could not be completed until its deadline', error);
      await sleep(delayMs);
    }
  }
};

/**
 * The longest delay before the next attempt. It grows with the duration of an attempt. On a slow database, transactions
 * that conflicted would otherwise conflict again at every attempt.
 */
const conflictCeilingMs = (attempt: number, tookMs: number): number =>
  Math.min(CONFLICT_BACKOFF_MAX_MS, Math.max(BACKOFF_MAX_MS, tookMs * attempt));

/** The delay after an overload. The server may say how long its clients should wait. */
const overloadDelayMs = (overloads: number, error: unknown): number => {
  const delays = causesOf(error).map(
    ({ errorResponse }) => (errorResponse as { baseBackoffMS?: unknown } | undefined)?.baseBackoffMS,
  );
  const minMs = Number(delays.find((delay) => Number(delay) > 0) ?? OVERLOAD_BACKOFF_MIN_MS);
  return jitteredDelayMs(overloads, Math.min(minMs, OVERLOAD_BACKOFF_MAX_MS), OVERLOAD_BACKOFF_MAX_MS);
};

/** An overloaded database rejected every commit that was sent, and executed none of them. */
class RejectedCommit extends Error {
  override name = 'RejectedCommit';
}

/**
 * Commits, and repeats the commit while its outcome is unknown. Repeating the commit of a transaction has no
 * further effect. Only two responses mean that the commit had no effect: TransientTransactionError for an aborted
 * transaction, and a rejection before execution. Every other error leaves the outcome open, whatever its labels.
 * The server does not label an interrupted commit, and the driver sets UnknownTransactionCommitResult only for
 * some commits. After such an error, even these two responses are not trusted. A restarted server may not know a
 * transaction that it has stored, and a rejection may apply only to the repeat.
 */
const commit = async (session: ClientSession, deadline: number): Promise<void> => {
  let isUnknown = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await session.commitTransaction();
      return;
    } catch (error) {
      const rejected = isRejected(error);
      if (!isUnknown && (isTransient(error) || isDriverRefusal(error))) throw error;
      if (!isUnknown && rejected && attempt >= OVERLOAD_TRIES)
        throw new RejectedCommit('an overloaded database has rejected a commit', { cause: error });
      const notSent = isNotSent(error);
      if (!isUnknown && notSent && performance.now() >= deadline) throw error;
      isUnknown ||= !rejected && !notSent;
      if (isUnknown && (isTransient(error) || performance.now() >= deadline))
        throw outcomeUnknown('the outcome of a commit is unknown', error);
      await sleep(
        isDatabaseUnderPressure(error)
          ? overloadDelayMs(attempt, error)
          : jitteredDelayMs(attempt, BACKOFF_MIN_MS, CONFLICT_BACKOFF_MAX_MS),
      );
    }
  }
};

/** The driver did not send the commit, because the session was misused. A closed client interrupts commands that it has sent. */
const isDriverRefusal = (error: unknown): boolean =>
  (error instanceof mongoose.mongo.MongoAPIError &&
    !(error instanceof mongoose.mongo.MongoClientClosedError)) ||
  !(error instanceof mongoose.mongo.MongoError);

/** Whether a transaction failed because others had locked its documents until its deadline. */
export const isConflictTimeout = (error: unknown): boolean =>
  isAppError(error) && error.kind === 'unavailable' && isTransient(error);

/** Whether a failed transaction may have been committed. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  isAppError(error) && error.code === OUTCOME_UNKNOWN;

const runHooks = async (session: ClientSession, log: Logger | undefined): Promise<void> => {
  for (const hook of attempts.get(session)?.afterCommit ?? []) {
    try {
      await hook();
    } catch (error) {
      log?.error({ err: error }, 'work after a commit failed');
    }
  }
};

const attemptOf = (session: ClientSession, caller: string): Attempt => {
  const attempt = attempts.get(session);
  if (attempt === undefined) throw new Error(`${caller} needs the session of a running inTransaction`);
  return attempt;
};

/**
 * Runs `fn` at the end of the transaction of `session`. An error aborts the transaction. Use it for writes that
 * are collected and sent together. Throws if `session` is not from `inTransaction`.
 */
export const beforeCommit = (session: ClientSession, fn: () => Promise<void>): void => {
  attemptOf(session, 'beforeCommit').beforeCommit.push(fn);
};

/**
 * Runs `fn` once after the transaction of `session` commits, and never after an abort. `inTransaction` waits for
 * it. A crash right after the commit loses it: use it only to speed up what would happen anyway. A failure is
 * logged. Throws if `session` is not from `inTransaction`.
 */
export const afterCommit = (session: ClientSession, fn: () => unknown): void => {
  attemptOf(session, 'afterCommit').afterCommit.push(fn);
};

/** An object that identifies the current attempt of the transaction of `session`. */
export const attemptKey = (session: ClientSession): object => attemptOf(session, 'attemptKey');

/** Whether the database asks for the transaction to be retried. */
const isTransient = (error: unknown): boolean => hasLabel(error, 'TransientTransactionError');

/** Whether a write outside a transaction conflicted with another write. It can be repeated. */
export const isWriteConflict = (error: unknown): boolean =>
  (error as { code?: unknown }).code === WRITE_CONFLICT;

/**
 * Whether a unique index refused a write. `indexOrField` limits this to the index of this name, or to indexes on
 * this field. The database has then aborted the current transaction, and no further query of its session works.
 */
export const isDuplicateKey = (error: unknown, indexOrField?: string): boolean =>
  causesOf(error).some((link) => {
    if (link.code !== DUPLICATE_KEY) return false;
    if (indexOrField === undefined) return true;
    const fields = { ...(link.keyPattern as object | undefined), ...(link.keyValue as object | undefined) };
    if (Object.hasOwn(fields, indexOrField)) return true;
    const text = typeof link.message === 'string' ? link.message : '';
    const index = /index: (?:\S+\.\$)?(\S+)/.exec(text)?.[1];
    return index === indexOrField;
  });

/** Catches the refusal of a unique index: another process has written the document first. */
export const ignoreDuplicate = (error: unknown): undefined => {
  if (!isDuplicateKey(error)) throw error;
};
