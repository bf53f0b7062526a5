/** What becomes of an event that could not be handled: later tries, and a parking place in the end. */
import type { ConsumeMessage } from 'amqplib';
import type { Clock } from '../clock.ts';
import { isDatabaseDown } from '../mongo/transaction.ts';
import { deadQueue, HEADER, retryQueue } from './topology.ts';

const ERROR_TEXT_LENGTH = 500;
/** No name of ours is longer; what somebody else wrote could be too long to be sent on. */
const NAME_LENGTH = 255;

/** What the headers of a delivery tell of earlier tries. */
export interface DeliveryHistory {
  /** Failed tries so far. */
  attempts: number;
  /** The only consumer it is meant for, when it is a retried copy. */
  consumer: string | undefined;
  originalRoutingKey: string;
  /** ISO 8601, undefined at the first try. */
  firstFailure: string | undefined;
}

export const readHistory = (message: ConsumeMessage): DeliveryHistory => {
  const headers: Record<string, unknown> = message.properties.headers ?? {};
  const text = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value.slice(0, NAME_LENGTH) : undefined;
  };
  const attempts = headers[HEADER.attempts];
  return {
    attempts: typeof attempts === 'number' ? attempts : 0,
    consumer: text(HEADER.consumer),
    originalRoutingKey: text(HEADER.originalRoutingKey) ?? message.fields.routingKey,
    firstFailure: text(HEADER.firstFailure),
  };
};

/** Where a failed event goes next, and the headers it carries there. */
export interface NextStop {
  queue: string;
  outcome: 'retried' | 'dead';
  headers: Record<string, unknown>;
}

export interface FailureContext {
  namespace: string;
  service: string;
  retryDelaysMs: readonly number[];
  clock: Clock;
}

/**
 * Decides after a failed try of `consumer`. `hopeless` parks at once: an event that does not fit its schema will not
 * fit it later. While the database is away the try does not count, or every event of an outage would end up parked.
 */
export const nextStop = (
  context: FailureContext,
  history: DeliveryHistory,
  failure: { error: unknown; consumer?: string | undefined; hopeless?: boolean },
): NextStop => {
  const { namespace, service, retryDelaysMs, clock } = context;
  const excused = isDatabaseDown(failure.error) && retryDelaysMs.length > 0;
  const attempts = history.attempts + (excused ? 0 : 1);
  const consumer = failure.consumer ?? history.consumer;
  const headers = {
    [HEADER.attempts]: attempts,
    [HEADER.error]: errorText(failure.error),
    [HEADER.originalRoutingKey]: history.originalRoutingKey,
    [HEADER.firstFailure]: history.firstFailure ?? clock.now().toISOString(),
    ...(consumer === undefined ? {} : { [HEADER.consumer]: consumer }),
  };
  const step = excused ? Math.max(attempts - 1, Math.min(1, retryDelaysMs.length - 1)) : attempts - 1;
  const delayMs = failure.hopeless === true ? undefined : retryDelaysMs[step];
  return delayMs === undefined
    ? { queue: deadQueue(namespace, service), outcome: 'dead', headers }
    : { queue: retryQueue(namespace, service, delayMs), outcome: 'retried', headers };
};

/** One line without a stack, short enough for a header. */
export const errorText = (error: unknown): string => {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  const text =
    typeof message === 'string' ? `${typeof name === 'string' ? name : 'Error'}: ${message}` : String(error);
  return text.replaceAll(/\s+/g, ' ').slice(0, ERROR_TEXT_LENGTH);
};
