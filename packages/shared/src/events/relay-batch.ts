/** One batch of the outbox: published, and settled by what the broker said of each event. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { trusted } from '../mongo/connect.ts';
import type { EventModels, OutboxDocument } from '../mongo/event-models.ts';
import type { Broker } from './broker.ts';
import type { Lease } from './lease.ts';

export type PublishOutcome = 'published' | 'unroutable' | 'failed';

/** Publishes aggregates side by side and each one's events one after the other, stopping an aggregate at a failure. */
export const publishBatch = async (
  broker: Broker,
  lease: Lease,
  batch: OutboxDocument[],
  log: Logger,
): Promise<Map<number, PublishOutcome>> => {
  const outcomes = new Map<number, PublishOutcome>();
  const publishInOrder = async (events: OutboxDocument[]): Promise<void> => {
    for (const event of events.toSorted((a, b) => a.aggregateVersion - b.aggregateVersion || a._id - b._id)) {
      const outcome = lease.held() ? await publishOne(broker, event, log) : 'failed';
      outcomes.set(event._id, outcome);
      if (outcome === 'failed') return;
    }
  };
  const aggregates = Map.groupBy(batch, ({ aggregate }) => aggregate);
  await Promise.all([...aggregates.values()].map(publishInOrder));
  return outcomes;
};

const publishOne = async (broker: Broker, event: OutboxDocument, log: Logger): Promise<PublishOutcome> => {
  try {
    const { routed } = await broker.publish(broker.eventsExchange, event.type, Buffer.from(event.body), {
      contentType: 'application/cloudevents+json',
      type: event.type,
    });
    return routed ? 'published' : 'unroutable';
  } catch (error) {
    log.debug({ err: error, event: event.type }, 'an event could not be published');
    return 'failed';
  }
};

interface SettlerOptions {
  outbox: EventModels['outbox'];
  clock: Clock;
  log: Logger;
  /** Counted up. */
  stats: { published: number; unheard: number };
  unroutableGraceMs: number;
}

/**
 * Deletes what was published, keeps aside what no queue is bound for, and gives that up after its grace. Resolves with
 * whether the whole batch was dealt with.
 */
export const createBatchSettler = ({ outbox, clock, log, stats, unroutableGraceMs }: SettlerOptions) => {
  const toldTypes = new Set<string>();

  const tellUnheard = ({ type }: OutboxDocument): void => {
    const level = toldTypes.has(type) ? 'debug' : 'info';
    toldTypes.add(type);
    log[level]({ event: type }, 'an event was dropped: no service listens to it');
  };

  const setAside = async (events: OutboxDocument[]): Promise<void> => {
    const now = clock.now();
    const isLate = ({ unroutableSince }: OutboxDocument): boolean =>
      unroutableSince !== null && now.getTime() - unroutableSince.getTime() >= unroutableGraceMs;
    const fresh = events.filter(({ unroutableSince }) => unroutableSince === null);
    const late = events.filter(isLate);
    if (fresh.length > 0) await outbox.updateMany(among(fresh), { $set: { unroutableSince: now } });
    if (late.length > 0) await outbox.deleteMany(among(late));
    stats.unheard += late.length;
    for (const event of late) tellUnheard(event);
  };

  return async (batch: OutboxDocument[], outcomes: Map<number, PublishOutcome>): Promise<boolean> => {
    const those = (wanted: PublishOutcome) => batch.filter(({ _id }) => outcomes.get(_id) === wanted);
    const published = those('published');
    const unroutable = those('unroutable');
    if (published.length > 0) await outbox.deleteMany(among(published));
    stats.published += published.length;
    await setAside(unroutable);
    return published.length + unroutable.length === batch.length;
  };
};

const among = (events: OutboxDocument[]) => ({ _id: trusted({ $in: events.map(({ _id }) => _id) }) });
