/**
 * Failures of MongoDB, Redis and RabbitMQ. They are recognized by names, codes and messages, because the kernel imports
 * no driver.
 */
import { type AppError, isAppError, OUTCOME_UNKNOWN, outcomeUnknown, unavailable } from './error.ts';
import type { RequestScope } from './request-scope.ts';

const CAUSE_DEPTH = 5;

/** An error in a chain of causes. */
type ErrorFields = Record<string, unknown>;

/** The error and its causes, outermost first. */
export const causesOf = (error: unknown): ErrorFields[] => {
  const chain: ErrorFields[] = [];
  for (let next = error; typeof next === 'object' && next !== null && chain.length < CAUSE_DEPTH; ) {
    const link = next as ErrorFields;
    chain.push(link);
    // The driver keeps the cause of a failed bulk write as `errorResponse`.
    next = link.cause ?? (link.errorResponse instanceof Error ? link.errorResponse : undefined);
  }
  return chain;
};

/** The connection broke, or no server was found: the server may have executed the command. */
const CONNECTION_LOST =
  /^(Mongo(Network|NetworkTimeout|ServerSelection|PoolCleared|WriteConcern|ClientClosed)|MongooseServerSelection|PoolClearedOnNetwork)Error$/;
/** The driver did not send the command. */
const NOT_SENT = /^Mongo(PoolClosed|WaitQueueTimeout|NotConnected|TopologyClosed|ServerClosed)Error$/;

/**
 * Labels of MongoDB and its driver. They take precedence over the codes below, because the server knows more than its code says:
 * `REJECTED` promises that the command was not executed, and `NO_WRITES` that a write was not.
 */
const OVERLOADED_LABEL = 'SystemOverloadedError';
const REJECTED_LABEL = 'RetryableError';
const NO_WRITES_LABEL = 'NoWritesPerformed';
const TROUBLE_LABELS = [OVERLOADED_LABEL, REJECTED_LABEL, 'RetryableWriteError', 'TransientTransactionError'];

/** Codes of MongoDB (`src/mongo/base/error_codes.yml`) with their names. */
type Codes = Readonly<Record<number, string>>;

/** The server is going away, is not the primary, or cannot say whether a write is durable. It may have executed the command. */
const SERVER_UNAVAILABLE: Codes = {
  6: 'HostUnreachable',
  7: 'HostNotFound',
  64: 'WriteConcernTimeout',
  89: 'NetworkTimeout',
  91: 'ShutdownInProgress',
  189: 'PrimarySteppedDown',
  9001: 'SocketException',
  10058: 'LegacyNotPrimary',
  10107: 'NotWritablePrimary',
  11600: 'InterruptedAtShutdown',
  11602: 'InterruptedDueToReplStateChange',
  13435: 'NotPrimaryNoSecondaryOk',
  13436: 'NotPrimaryOrSecondary',
};

/** The server interrupted the command: a part of a write may be stored. */
const INTERRUPTED: Codes = {
  43: 'CursorNotFound',
  50: 'MaxTimeMSExpired',
  175: 'QueryPlanKilled',
  237: 'CursorKilled',
  262: 'ExceededTimeLimit',
  290: 'TransactionExceededLifetimeLimitSeconds',
  11601: 'Interrupted',
};

/** The server refused a command that it could not run at that moment. A write of one document was not made. */
const REFUSED: Codes = {
  24: 'LockTimeout',
  46: 'LockBusy',
  112: 'WriteConflict',
  133: 'FailedToSatisfyReadPreference',
  134: 'ReadConcernMajorityNotAvailableYet',
  246: 'SnapshotUnavailable',
  251: 'NoSuchTransaction',
  365: 'TemporarilyUnavailable',
  388: 'TransactionTooLargeForCache',
  402: 'ResourceExhausted',
  433: 'AdmissionQueueOverflow',
  449: 'RateLimitExceeded',
  450: 'PooledConnectionAcquisitionRejected',
  462: 'IngressRequestRateLimitExceeded',
};

/** Codes from above that usually mean a temporary state of the server, rather than a conflict with the command. */
const PRESSURE = new Set([133, 134, 175, 290, 365, 388, 402, 433, 449, 450, 462]);
/** Codes from `PRESSURE` that a too large or too slow transaction gets every time. */
const TRANSACTION_LIMITS = new Set([290, 388]);
/** Codes for a command that the server ended: a time limit inside the server, `killOp` or `killSessions`. */
const ENDED_BY_SERVER = new Set([262, 11_601]);

/** Most errors of ioredis have no specific name. */
const REDIS_MESSAGE =
  /^(Connection is closed\.|Command timed out|Stream isn't writeable|Command aborted due to connection close|Reached the max retries per request|(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN) )/;
const RABBITMQ_NAME =
  /^(BrokerUnavailable|PublishRejected|PublishUnconfirmed|RpcNotSent|RpcTimeout|IllegalOperation)Error$/;

const NETWORK_CODES = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN'],
  ...['ENETUNREACH', 'ENETDOWN', 'ENOTFOUND', 'EAI_AGAIN'],
]);

const isMongoError = ({ name }: ErrorFields): boolean => typeof name === 'string' && /^Mongo/.test(name);
const hasName = ({ name }: ErrorFields, pattern: RegExp): boolean =>
  typeof name === 'string' && pattern.test(name);
const hasMessage = ({ message }: ErrorFields, pattern: RegExp): boolean =>
  typeof message === 'string' && pattern.test(message);

/** Whether an error of the driver, or one of its causes, has a label. */
export const hasLabel = (error: unknown, label: string): boolean =>
  causesOf(error).some((link) => {
    const { hasErrorLabel, errorLabels } = link as { hasErrorLabel?: unknown; errorLabels?: unknown };
    if (typeof hasErrorLabel === 'function') return hasErrorLabel.call(link, label) === true;
    return Array.isArray(errorLabels) && errorLabels.includes(label);
  });

const mongoCodesOf = (error: unknown): number[] =>
  causesOf(error)
    .filter(isMongoError)
    .map(({ code }) => Number(code));
const hasCode = (error: unknown, codes: Codes): boolean =>
  mongoCodesOf(error).some((code) => Object.hasOwn(codes, code));

const isLost = (link: ErrorFields): boolean =>
  hasName(link, CONNECTION_LOST) ||
  (isMongoError(link) && Object.hasOwn(SERVER_UNAVAILABLE, Number(link.code)));

/** Whether the database was lost during a command, which it may have executed. */
export const isDatabaseLost = (error: unknown): boolean => causesOf(error).some(isLost);

/** Whether the database could not be reached or had no primary. */
const isDatabaseDown = (error: unknown): boolean =>
  causesOf(error).some((link) => isLost(link) || hasName(link, NOT_SENT));

/** Whether the database is overloaded, or temporarily cannot serve the command. */
export const isDatabaseUnderPressure = (error: unknown): boolean =>
  hasLabel(error, OVERLOADED_LABEL) || mongoCodesOf(error).some((code) => PRESSURE.has(code));

/** Whether a transaction has exceeded a limit of the database. A retry after a pause may or may not help. */
export const isTransactionLimit = (error: unknown): boolean =>
  mongoCodesOf(error).some((code) => TRANSACTION_LIMITS.has(code));

/** Whether the command reached no server: none was found, or no connection was free in time. */
export const isNotSent = (error: unknown): boolean =>
  causesOf(error).some((link) => hasName(link, /^Mongo(ServerSelection|WaitQueueTimeout)Error$/));

/** Whether the database, or the driver before it, has rejected the command without executing any of it. */
export const isRejected = (error: unknown): boolean =>
  hasLabel(error, OVERLOADED_LABEL) && hasLabel(error, REJECTED_LABEL);

/** Whether the work failed because of the state of the database, not because of the work itself. */
export const isDatabaseAtFault = (error: unknown): boolean =>
  isDatabaseDown(error) ||
  isDatabaseUnderPressure(error) ||
  mongoCodesOf(error).some((code) => ENDED_BY_SERVER.has(code)) ||
  (isAppError(error) && error.code === OUTCOME_UNKNOWN && causesOf(error).some(isMongoError));

export interface FailedWrite {
  /** The write changes at most one document. */
  isSingle: boolean;
  /** Whether the driver repeats such a write: an error of the repeat says nothing about the first one. */
  isRepeated: boolean;
}

/** Whether a write outside of a transaction that has failed may be stored, or a part of it. */
export const mayBeStored = (error: unknown, { isSingle, isRepeated }: FailedWrite): boolean => {
  // The driver reports this label only if it is true of the first attempt, too.
  if (hasLabel(error, NO_WRITES_LABEL)) return false;
  if (isRejected(error)) return isRepeated;
  if (isDatabaseLost(error) || hasCode(error, INTERRUPTED)) return true;
  return (!isSingle || isRepeated) && (isDatabaseUnderPressure(error) || hasCode(error, REFUSED));
};

/** Whether the cause is an unreachable or overloaded server, rather than a mistake in the work. */
const isOutage = (error: unknown): boolean =>
  isDatabaseDown(error) ||
  hasCode(error, INTERRUPTED) ||
  hasCode(error, REFUSED) ||
  TROUBLE_LABELS.some((label) => hasLabel(error, label)) ||
  causesOf(error).some(
    (link) =>
      hasName(link, RABBITMQ_NAME) ||
      hasMessage(link, REDIS_MESSAGE) ||
      (typeof link.code === 'string' && NETWORK_CODES.has(link.code)),
  );

/** A provider has asked for a pause before the next attempt. */
export class TryAgainLater extends Error {
  override name = 'TryAgainLater';
  readonly waitMs: number;
  constructor(message: string, waitMs: number) {
    super(message);
    this.waitMs = waitMs;
  }
}

/**
 * The 503 for an error that is an outage; undefined for any other error. A request that has already had an effect gets
 * `outcome_unknown`, because it cannot be said that nothing was changed.
 */
export const toOutage = (error: unknown, scope: RequestScope | undefined): AppError | undefined => {
  const appError = isAppError(error) ? error : undefined;
  if (appError === undefined ? !isOutage(error) : appError.kind !== 'unavailable') return undefined;
  if (appError?.code === OUTCOME_UNKNOWN) return appError;
  const text = error instanceof Error ? error.message : String(error);
  if (scope?.hasEffect === true) return outcomeUnknown(text, error);
  return appError ?? unavailable(text, error);
};
