/** Decides what happens to a failed event: it is retried after a delay, and finally dead-lettered. */
import type { ConsumeMessage } from 'amqplib';
import { type Clock, DAY_MS, HOUR_MS, systemClock } from '../kernel/clock.ts';
import { isDatabaseAtFault, isTransactionLimit, TryAgainLater } from '../kernel/outage.ts';
import { consumerQueue, deadLetterQueue, HEADER, serviceExchange, waitQueue } from './topology.ts';

const ERROR_TEXT_LENGTH = 500;
/** A transaction that exceeds its limit for longer than this is too large. The database is then not the cause. */
const LIMIT_GRACE_MS = HOUR_MS;
/** The longest pause that a provider may request. */
const MAX_WAIT_MS = DAY_MS;
/**
 * No name of a consumer or event type is longer. A longer header from an unknown publisher could not be
 * published again.
 */
const NAME_LENGTH = 255;

/** Earlier tries of an event, from the headers of its delivery. */
export interface DeliveryHistory {
  /** Failed attempts so far. */
  attempts: number;
  /** The consumer that a retried copy is for. */
  consumer: string | undefined;
  originalRoutingKey: string;
  /** The type that the producer may publish; undefined when the broker dead-lettered the event before any attempt ended. */
  publishedAs: string | undefined;
  /** ISO 8601; undefined at the first attempt. */
  firstFailure: string | undefined;
  /** Milliseconds since 1970: the next attempt is not earlier. */
  notBefore: number | undefined;
}

/** Headers of a retry are read only behind the exchange that retries use, because a producer could set them. */
export const readHistory = (message: ConsumeMessage, eventsExchange: string): DeliveryHistory => {
  const { exchange, routingKey } = message.fields;
  const isFirstTry = exchange === eventsExchange;
  const headers: Record<string, unknown> = isFirstTry ? {} : (message.properties.headers ?? {});
  const text = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value.slice(0, NAME_LENGTH) : undefined;
  };
  const number = (name: string): number | undefined => {
    const value = headers[name];
    return typeof value === 'number' ? value : undefined;
  };
  const publishedAs = isFirstTry ? routingKey : text(HEADER.originalRoutingKey);
  return {
    attempts: number(HEADER.attempts) ?? 0,
    consumer: text(HEADER.consumer),
    originalRoutingKey: publishedAs ?? routingKey,
    publishedAs,
    firstFailure: text(HEADER.firstFailure),
    notBefore: number(HEADER.notBefore),
  };
};

/** The exchange and the routing key that lead to the next queue of an event. */
export interface Route {
  exchange: string;
  routingKey: string;
}

interface RetryDecision extends Route {
  outcome: 'retried' | 'dead';
  headers: Record<string, unknown>;
}

export interface RetryContext {
  namespace: string;
  service: string;
  retryDelaysMs: readonly number[];
  clock: Clock;
}

/**
 * Decides after a failed attempt of `consumer`. A non-retryable failure is dead-lettered at once: an event that does not fit
 * its schema will not fit it later. An attempt while the database is unavailable or overloaded is not counted, or an outage
 * would dead-letter every event. An attempt that exceeds a transaction limit is counted from an hour after the first failure.
 * If a provider asks for a pause, the next attempt is after it.
 */
export const decideRetry = (
  context: RetryContext,
  history: DeliveryHistory,
  failure: { error: unknown; consumer: string | undefined; nonRetryable?: boolean },
): RetryDecision => {
  const { namespace, service, retryDelaysMs, clock } = context;
  // Without a retry queue, an uncounted attempt could not wait anywhere.
  const isCounted =
    !isDatabaseAtFault(failure.error) ||
    isLastingLimit(context, history, failure.error) ||
    retryDelaysMs.length === 0;
  const attempts = history.attempts + (isCounted ? 1 : 0);
  const { consumer } = failure;
  const waitMs = failure.error instanceof TryAgainLater ? Math.min(failure.error.waitMs, MAX_WAIT_MS) : 0;
  const headers = {
    [HEADER.attempts]: attempts,
    [HEADER.error]: errorText(failure.error),
    [HEADER.originalRoutingKey]: history.originalRoutingKey,
    [HEADER.firstFailure]: history.firstFailure ?? clock.now().toISOString(),
    ...(consumer === undefined ? {} : { [HEADER.consumer]: consumer }),
    // This uses the system clock, as the delays of the broker do, even if a test sets the injected one.
    ...(waitMs > 0 ? { [HEADER.notBefore]: systemClock.now().getTime() + waitMs } : {}),
  };
  // While the database is at fault, the delay stays that of the last counted attempt. It is at least the second delay, to avoid
  // futile attempts.
  const step = isCounted ? attempts - 1 : Math.max(attempts - 1, Math.min(1, retryDelaysMs.length - 1));
  const delayMs = failure.nonRetryable === true ? undefined : retryDelaysMs[step];
  if (delayMs !== undefined && consumer !== undefined) {
    return { ...waitFor(context, consumer, Math.max(delayMs, waitMs)), outcome: 'retried', headers };
  }
  const routingKey = deadLetterQueue(namespace, service);
  return { exchange: serviceExchange(namespace, service), routingKey, outcome: 'dead', headers };
};

const isLastingLimit = (
  { clock }: RetryContext,
  { firstFailure }: DeliveryHistory,
  error: unknown,
): boolean =>
  firstFailure !== undefined &&
  isTransactionLimit(error) &&
  clock.now().getTime() - new Date(firstFailure).getTime() > LIMIT_GRACE_MS;

/** The route with the shortest delay that is long enough; without one the longest, which delivers the event too early. */
export const waitFor = (
  { namespace, service, retryDelaysMs }: Omit<RetryContext, 'clock'>,
  consumer: string,
  waitMs: number,
): Route => {
  const delayMs = retryDelaysMs.find((each) => each >= waitMs) ?? retryDelaysMs.at(-1);
  if (delayMs === undefined) throw new Error(`${service} has no queue in which an event can wait`);
  return {
    exchange: waitQueue(namespace, service, delayMs),
    routingKey: consumerQueue(namespace, service, consumer),
  };
};

/** The error as one line without a stack, short enough for a header. */
export const errorText = (error: unknown): string => {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  const text =
    typeof message === 'string' ? `${typeof name === 'string' ? name : 'Error'}: ${message}` : String(error);
  return text.replaceAll(/\s+/g, ' ').slice(0, ERROR_TEXT_LENGTH);
};
