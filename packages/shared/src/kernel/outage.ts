/**
 * Failures of MongoDB, Redis and RabbitMQ. They are recognised by names, codes and messages, because the kernel imports
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
  /^(Mongo(Network|NetworkTimeout|ServerSelection|PoolCleared|WriteConcern)|MongooseServerSelection|PoolClearedOnNetwork)Error$/;
/** The driver did not send the command. */
const NOT_SENT =
  /^Mongo(PoolClosed|WaitQueueTimeout|NotConnected|TopologyClosed|ClientClosed|ServerClosed)Error$/;
/**
 * HostUnreachable, HostNotFound, NetworkTimeout, ShutdownInProgress, PrimarySteppedDown, SocketException,
 * LegacyNotPrimary, NotWritablePrimary, InterruptedAtShutdown, InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk,
 * NotPrimaryOrSecondary.
 */
const SERVER_UNAVAILABLE_CODES = new Set([6, 7, 89, 91, 189, 9001, 10058, 10107, 11600, 11602, 13435, 13436]);
/**
 * LockTimeout, CursorNotFound, LockBusy, MaxTimeMSExpired, WriteConflict, CursorKilled, NoSuchTransaction, ExceededTimeLimit,
 * Interrupted.
 */
const COMMAND_ABORTED_CODES = new Set([24, 43, 46, 50, 112, 237, 251, 262, 11601]);

/** ioredis gives most of its errors no name of their own. */
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

const isLost = (link: ErrorFields): boolean =>
  hasName(link, CONNECTION_LOST) || (isMongoError(link) && SERVER_UNAVAILABLE_CODES.has(Number(link.code)));

/** Whether the database was lost during a command, which it may have executed. */
export const isDatabaseLost = (error: unknown): boolean => causesOf(error).some(isLost);

/** Whether the database could not be reached or had no primary. */
export const isDatabaseDown = (error: unknown): boolean =>
  causesOf(error).some((link) => isLost(link) || hasName(link, NOT_SENT));

/** Whether the cause is a server that is unreachable or overloaded, and not a mistake in the work itself. */
const isOutage = (error: unknown): boolean =>
  isDatabaseDown(error) ||
  causesOf(error).some(
    (link) =>
      (isMongoError(link) && COMMAND_ABORTED_CODES.has(Number(link.code))) ||
      hasName(link, RABBITMQ_NAME) ||
      hasMessage(link, REDIS_MESSAGE) ||
      (typeof link.code === 'string' && NETWORK_CODES.has(link.code)),
  );

/** A provider that asks for a wait before the next try. */
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
  const known = isAppError(error) ? error : undefined;
  if (known === undefined ? !isOutage(error) : known.kind !== 'unavailable') return undefined;
  if (known?.code === OUTCOME_UNKNOWN) return known;
  const text = error instanceof Error ? error.message : String(error);
  if (scope?.hasEffect === true) return outcomeUnknown(text, error);
  return known ?? unavailable(text, error);
};
