/** Publishes committed events, at least once, in order per aggregate. */
import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import { errorType, startSpan } from '../kernel/trace.ts';
import { type Connection, trusted } from '../mongo/connect.ts';
import type { Broker } from './broker.ts';
import { ensureEventIndexes, type OutboxDocument, registerEventModels } from './models.ts';
import { createRelayLease, type RelayLease } from './relay-lease.ts';
import { messageSpan } from './spans.ts';
import { createWakeableSleep, onCommittedEvents } from './wake.ts';

const BATCH_SIZE = 100;
const LEASE_BUSY_DELAY_MS = 20;
const DISCONNECTED_DELAY_MS = 100;
const FLUSH_MS = 500;
/** Finds the trace in the envelope, which precedes the data. */
const TRACEPARENT = /"traceparent":"([^"]+)"/;

export interface RelayOptions {
  connection: Connection;
  broker: Broker;
  log: Logger;
  /** The clock of the lease. Default: the system clock. */
  realTime?: Clock | undefined;
  /** How often to look for events that another process left, in milliseconds. Default 1 s. */
  pollIntervalMs?: number | undefined;
}

export interface Relay {
  /** Publishes events that were committed before, for at most half a second. The rest stays in the outbox. */
  close(): Promise<void>;
}

/**
 * Starts publishing the outbox of `connection`'s database. Any number of replicas may run: a lease lets one at a time
 * publish. It wakes up a few milliseconds after every commit of this process, and once a second. It continues when the broker
 * or the database is back.
 *
 * A document is deleted once its event is confirmed (docs/adr/0003). An event without a consumer is published, too;
 * the exchange drops it. The queues of all consumers are declared before anything is published, see
 * `BrokerOptions.events`, and again when an event reached none of them.
 */
export const startRelay = (options: RelayOptions): Relay => {
  const { connection, broker, log, pollIntervalMs = 1_000 } = options;
  const { sleep, wake, takeWakeUp, end } = createWakeableSleep();
  const stopListening = onCommittedEvents(connection, wake);
  let closedAt: number | undefined;
  let failing = false;
  const drain = createDrain(options, () => closedAt !== undefined && performance.now() - closedAt > FLUSH_MS);

  const step = async (woken: boolean): Promise<number> => {
    if (!broker.isConnected()) return DISCONNECTED_DELAY_MS;
    const outcome = await drain(woken);
    if (failing && outcome !== 'failed') log.info('events are published again');
    if (!failing && outcome === 'failed') log.warn('some events could not be published; trying again');
    failing = outcome === 'failed';
    return outcome === 'busy' ? LEASE_BUSY_DELAY_MS : pollIntervalMs;
  };

  const run = async (): Promise<void> => {
    for (let isLast = false; !isLast; ) {
      isLast = closedAt !== undefined;
      const woken = takeWakeUp();
      let delayMs = pollIntervalMs;
      try {
        delayMs = await step(woken);
      } catch (error) {
        if (!failing) log.warn({ err: error }, 'the outbox could not be published; trying again');
        failing = true;
      }
      // After a failure a commit must not shorten the wait, or the loop would spin.
      if (!isLast) await sleep(delayMs, { wakeable: !failing && broker.isConnected() });
    }
  };

  const running = run();
  return {
    close: async () => {
      closedAt = performance.now();
      stopListening();
      end();
      await running;
    },
  };
};

type DrainOutcome = 'drained' | 'busy' | 'failed';

const createDrain = (options: RelayOptions, isClosed: () => boolean) => {
  const { connection, broker, log, realTime = systemClock } = options;
  const { outbox } = registerEventModels(connection);
  const lease = createRelayLease({ connection, realTime, owner: randomUUID() });

  const publishAll = async (): Promise<DrainOutcome> => {
    while (!isClosed()) {
      const batch = await outbox.find().sort({ _id: 1 }).limit(BATCH_SIZE).lean();
      if (batch.length === 0) return 'drained';
      const confirmed = await publishBatch(broker, lease, batch, log);
      if (confirmed.length > 0) await outbox.deleteMany({ _id: trusted({ $in: confirmed }) });
      if (confirmed.length < batch.length) return lease.isHeld() ? 'failed' : 'busy';
      if (!(await lease.take())) return 'busy';
    }
    return 'drained';
  };

  // The sort makes the server read along the index of `_id`.
  const isEmpty = async (): Promise<boolean> =>
    (await outbox.findOne().sort({ _id: 1 }).select('_id').lean()) === null;

  /** `woken`: events were committed, so the outbox is not empty. Otherwise a cheap read checks this. */
  return async (woken: boolean): Promise<DrainOutcome> => {
    await ensureEventIndexes(connection);
    if (!woken && (await isEmpty())) return 'drained';
    if (!(await lease.take())) return 'busy';
    try {
      return await publishAll();
    } finally {
      await lease.release();
    }
  };
};

/**
 * Publishes aggregates in parallel and the events of each in order, stopping an aggregate at its first failure. Resolves
 * with the ids of the confirmed events.
 */
const publishBatch = async (
  broker: Broker,
  lease: RelayLease,
  batch: readonly OutboxDocument[],
  log: Logger,
): Promise<number[]> => {
  const confirmed: number[] = [];
  const publishInOrder = async (events: readonly OutboxDocument[]): Promise<void> => {
    for (const event of events.toSorted((a, b) => a.aggregateVersion - b.aggregateVersion || a._id - b._id)) {
      if (!lease.isHeld() || !(await publish(broker, event, log))) return;
      confirmed.push(event._id);
    }
  };
  const aggregates = Map.groupBy(batch, ({ aggregate }) => aggregate);
  await Promise.all([...aggregates.values()].map(publishInOrder));
  return confirmed;
};

/** Whether the event is done: the broker confirmed it, and its consumers, if any, had a queue. */
const publish = async (broker: Broker, event: OutboxDocument, log: Logger): Promise<boolean> => {
  const [, traceparent] = TRACEPARENT.exec(event.body) ?? [];
  const span = startSpan(...messageSpan('producer', 'send', event.type, traceparent));
  try {
    const { routed } = await broker.publish(broker.eventsExchange, event.type, Buffer.from(event.body), {
      contentType: 'application/cloudevents+json',
      type: event.type,
    });
    span.end();
    // Without a queue, it has no consumer or its queues were deleted. In the second case it is published again.
    if (routed || !(await broker.restoreConsumerQueues(event.type))) return true;
    log.debug({ event: event.type }, 'an event reached no queue of its consumers');
    return false;
  } catch (error) {
    span.end({ error: errorType(error) });
    log.debug({ err: error, event: event.type }, 'an event could not be published');
    return false;
  }
};
