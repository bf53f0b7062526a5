/**
 * Failures of MongoDB, Redis and RabbitMQ. They are recognised by names, codes and messages, because the kernel imports
 * no driver.
 */
import { type AppError, isAppError, OUTCOME_UNKNOWN, outcomeUnknown, unavailable } from './error.ts';
import type { RequestScope } from './request-scope.ts';

const CAUSE_DEPTH = 5;

type Link = Record<string, unknown>;

/** The error and its causes. */
export const causesOf = (error: unknown): Link[] => {
  const chain: Link[] = [];
  for (let next = error; typeof next === 'object' && next !== null && chain.length < CAUSE_DEPTH; ) {
    const link = next as Link;
    chain.push(link);
    // The driver keeps the cause of a failed bulk write as `errorResponse`.
    next = link.cause ?? (link.errorResponse instanceof Error ? link.errorResponse : undefined);
  }
  return chain;
};

/** The connection broke, or no server was found: a command may have been executed. */
const LOST =
  /^(Mongo(Network|NetworkTimeout|ServerSelection|PoolCleared|WriteConcern)|MongooseServerSelection|PoolClearedOnNetwork)Error$/;
/** No command was sent. */
const NOT_SENT =
  /^Mongo(PoolClosed|WaitQueueTimeout|NotConnected|TopologyClosed|ClientClosed|ServerClosed)Error$/;
/**
 * HostUnreachable, HostNotFound, NetworkTimeout, ShutdownInProgress, PrimarySteppedDown, SocketException,
 * LegacyNotPrimary, NotWritablePrimary, InterruptedAtShutdown, InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk,
 * NotPrimaryOrSecondary.
 */
const SERVER_LEAVES = new Set([6, 7, 89, 91, 189, 9001, 10058, 10107, 11600, 11602, 13435, 13436]);
/**
 * LockTimeout, CursorNotFound, LockBusy, MaxTimeMSExpired, WriteConflict, CursorKilled, NoSuchTransaction, ExceededTimeLimit,
 * Interrupted.
 */
const GAVE_UP = new Set([24, 43, 46, 50, 112, 237, 251, 262, 11601]);

/** ioredis gives most of its errors no name of their own. */
const REDIS =
  /^(Connection is closed\.|Command timed out|Stream isn't writeable|Command aborted due to connection close|Reached the max retries per request|(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN) )/;
const RABBITMQ =
  /^(BrokerUnavailable|PublishRejected|PublishUnconfirmed|RpcNotSent|RpcTimeout|IllegalOperation)Error$/;

const SYSTEM = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN'],
  ...['ENETUNREACH', 'ENETDOWN', 'ENOTFOUND', 'EAI_AGAIN'],
]);

const isMongo = ({ name }: Link): boolean => typeof name === 'string' && /^Mongo/.test(name);
const named = ({ name }: Link, pattern: RegExp): boolean => typeof name === 'string' && pattern.test(name);
const says = ({ message }: Link, pattern: RegExp): boolean =>
  typeof message === 'string' && pattern.test(message);

const isLost = (link: Link): boolean =>
  named(link, LOST) || (isMongo(link) && SERVER_LEAVES.has(Number(link.code)));

/** Whether the database was lost during a command, which it may have executed. */
export const isDatabaseLost = (error: unknown): boolean => causesOf(error).some(isLost);

/** Whether the database could not be reached or had no primary. */
export const isDatabaseDown = (error: unknown): boolean =>
  causesOf(error).some((link) => isLost(link) || named(link, NOT_SENT));

/** Whether the error means that a server is missing or does not get to the work, and not that the work is wrong. */
const isOutage = (error: unknown): boolean =>
  isDatabaseDown(error) ||
  causesOf(error).some(
    (link) =>
      (isMongo(link) && GAVE_UP.has(Number(link.code))) ||
      named(link, RABBITMQ) ||
      says(link, REDIS) ||
      (typeof link.code === 'string' && SYSTEM.has(link.code)),
  );

/**
 * The 503 for an error that means one; undefined for any other error. After an effect of the request a failure does not
 * mean that nothing was changed, so the 503 says that the outcome is unknown.
 */
export const toOutage = (error: unknown, scope: RequestScope | undefined): AppError | undefined => {
  const known = isAppError(error) ? error : undefined;
  if (known === undefined ? !isOutage(error) : known.kind !== 'unavailable') return undefined;
  if (known?.code === OUTCOME_UNKNOWN) return known;
  const text = error instanceof Error ? error.message : String(error);
  if (scope?.hasEffect === true) return outcomeUnknown(text, error);
  return known ?? unavailable(text, error);
};
