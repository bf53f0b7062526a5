/** Publishes committed events, at least once, in order per aggregate. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../clock.ts';
import { type Connection, trusted } from '../mongo/connect.ts';
import { type OutboxDocument, prepareEventModels, registerEventModels } from '../mongo/event-models.ts';
import type { Broker } from './broker.ts';
import { createLease } from './lease.ts';
import { createBatchSettler, publishBatch } from './relay-batch.ts';
import { onCommittedEvents } from './wake.ts';

const BATCH_SIZE = 100;
const LEASE_MS = 10_000;
const LEASE_BUSY_DELAY_MS = 20;
const DISCONNECTED_DELAY_MS = 100;
const UNROUTABLE_RETRY_MS = 5_000;
const UNROUTABLE_GRACE_MS = 60_000;

export interface RelayOptions {
  connection: Connection;
  broker: Broker;
  log: Logger;
  clock?: Clock | undefined;
  /** How often to look for events that nobody announced, in milliseconds. Default 1 s. */
  pollIntervalMs?: number | undefined;
  /** How long a dead replica keeps the others from publishing, in milliseconds. Default 10 s. */
  leaseMs?: number | undefined;
  /** How long an event that no queue is bound for is tried again, in milliseconds. Default 60 s. */
  unroutableGraceMs?: number | undefined;
  /** How often, in milliseconds. Default 5 s. */
  unroutableRetryMs?: number | undefined;
}

interface RelayStats {
  /** Confirmed by the broker and deleted from the outbox. */
  published: number;
  /** Given up because no queue was bound for them. */
  unheard: number;
}

export interface Relay {
  /** Publishes now instead of at the next poll. */
  wake(): void;
  stats(): RelayStats;
  /** Stops after the batch at hand; what is left stays in the outbox. */
  close(): Promise<void>;
}

/**
 * Starts publishing the outbox of `connection`'s database. Any number of replicas may run: a lease lets one at a time
 * publish. Wakes up with every commit of this process (a few milliseconds of delay), by itself once a second, and goes
 * on where it was when the broker or the database comes back.
 *
 * A document is deleted once its event is confirmed: the replicated queue owns it then, and personal data does not
 * linger. An event that no queue is bound for is kept aside and tried again for a minute (its consumer may be starting
 * for the first time and not have declared its queue yet) and then deleted: an event that nobody listens to must not
 * block those behind it, nor pile up.
 */
export const startRelay = (options: RelayOptions): Relay => {
  const { connection, broker, log, pollIntervalMs = 1_000 } = options;
  const stats: RelayStats = { published: 0, unheard: 0 };
  const doze = createDoze();
  const stopListening = onCommittedEvents(connection, doze.wake);
  const drain = createDrain(options, stats, () => closed);
  let closed = false;
  let failing = false;

  const step = async (announced: boolean): Promise<number> => {
    if (!broker.isConnected()) return DISCONNECTED_DELAY_MS;
    const outcome = await drain(announced);
    if (failing && outcome !== 'failed') log.info('events are published again');
    failing = outcome === 'failed';
    return outcome === 'busy' ? LEASE_BUSY_DELAY_MS : pollIntervalMs;
  };

  const run = async (): Promise<void> => {
    while (!closed) {
      const announced = doze.takeAnnouncement();
      let delayMs = pollIntervalMs;
      try {
        delayMs = await step(announced);
      } catch (error) {
        if (!failing) log.warn({ err: error }, 'the outbox could not be published; trying again');
        failing = true;
      }
      // After a failure an announcement must not shorten the wait: with everything down it would spin.
      if (!closed) await doze.sleep(delayMs, { wakeable: !failing && broker.isConnected() });
    }
  };

  const running = run();
  return {
    wake: doze.wake,
    stats: () => ({ ...stats }),
    close: async () => {
      closed = true;
      stopListening();
      doze.end();
      await running;
    },
  };
};

/** A sleep that announcements shorten; one that comes while awake is remembered. */
const createDoze = () => {
  let announced = false;
  let ended = false;
  let rouse: (() => void) | undefined;
  let wakeable = true;
  return {
    takeAnnouncement: (): boolean => {
      const was = announced;
      announced = false;
      return was;
    },
    wake: (): void => {
      announced = true;
      if (wakeable) rouse?.();
    },
    end: (): void => {
      ended = true;
      rouse?.();
    },
    sleep: async (durationMs: number, mode: { wakeable: boolean }): Promise<void> => {
      if (ended || (announced && mode.wakeable)) return;
      wakeable = mode.wakeable;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, durationMs);
        rouse = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      rouse = undefined;
    },
  };
};

/** Every date: a range is read along the index by every server, an inequality is not. */
const KEPT_ASIDE = { unroutableSince: trusted({ $gt: new Date(0) }) };

type DrainOutcome = 'drained' | 'busy' | 'failed';

const createDrain = (options: RelayOptions, stats: RelayStats, isClosed: () => boolean) => {
  const { connection, broker, log, clock = systemClock, leaseMs = LEASE_MS } = options;
  const { unroutableGraceMs = UNROUTABLE_GRACE_MS, unroutableRetryMs = UNROUTABLE_RETRY_MS } = options;
  const { outbox } = registerEventModels(connection);
  const lease = createLease({ connection, clock, owner: randomUUID(), leaseMs });
  const { settle, isUnheard } = createBatchSettler({ outbox, clock, log, stats, unroutableGraceMs });
  const publish = (batch: OutboxDocument[]) => publishBatch({ broker, lease, log, isUnheard }, batch);
  let unroutableCheckedMs = Number.NEGATIVE_INFINITY;

  const publishAll = async (): Promise<DrainOutcome> => {
    while (!isClosed()) {
      const batch = await outbox.find({ unroutableSince: null }).sort({ _id: 1 }).limit(BATCH_SIZE).lean();
      if (batch.length === 0) return 'drained';
      const complete = await settle(batch, await publish(batch));
      if (!complete) return lease.held() ? 'failed' : 'busy';
      if (!(await lease.take())) return 'busy';
    }
    return 'drained';
  };

  const isRetryDue = (): boolean => performance.now() - unroutableCheckedMs >= unroutableRetryMs;

  const retryUnroutable = async (): Promise<void> => {
    if (!isRetryDue()) return;
    unroutableCheckedMs = performance.now();
    const batch = await outbox.find(KEPT_ASIDE).sort({ unroutableSince: 1, _id: 1 }).limit(BATCH_SIZE).lean();
    await settle(batch, await publish(batch));
  };

  const holds = async (filter: { unroutableSince: null } | typeof KEPT_ASIDE): Promise<boolean> =>
    (await outbox.exists(filter)) !== null;

  /** `announced` says that there is something to publish; else a cheap read or two decide. */
  return async (announced: boolean): Promise<DrainOutcome> => {
    await prepareEventModels(connection);
    const hasWork =
      announced || (await holds({ unroutableSince: null })) || (isRetryDue() && (await holds(KEPT_ASIDE)));
    if (!hasWork) return 'drained';
    if (!(await lease.take())) return 'busy';
    try {
      const outcome = await publishAll();
      if (outcome === 'drained' && !isClosed()) await retryUnroutable();
      return outcome;
    } finally {
      await lease.release();
    }
  };
};
