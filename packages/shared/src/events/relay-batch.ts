/** One batch of the outbox: published, and settled by what the broker said of each event. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { trusted } from '../mongo/connect.ts';
import type { EventModels, OutboxDocument } from '../mongo/event-models.ts';
import type { Broker } from './broker.ts';
import type { Lease } from './lease.ts';

export type PublishOutcome = 'published' | 'unroutable' | 'failed';

export interface BatchOptions {
  broker: Broker;
  lease: Lease;
  log: Logger;
  /** Whether no queue was bound for events of this type when the last one was published. */
  isUnheard: (type: string) => boolean;
}

/**
 * Publishes aggregates side by side and each one's events one after the other, stopping an aggregate at a failure. Of a
 * type that was not heard before, one event asks for all of the batch whether it is by now.
 */
export const publishBatch = async (
  { broker, lease, log, isUnheard }: BatchOptions,
  batch: OutboxDocument[],
): Promise<Map<number, PublishOutcome>> => {
  const outcomes = new Map<number, PublishOutcome>();
  const probes = new Map<string, Promise<PublishOutcome>>();
  const publish = async (event: OutboxDocument): Promise<PublishOutcome> => {
    if (!isUnheard(event.type)) return publishOne(broker, event, log);
    const probe = probes.get(event.type);
    if (probe !== undefined)
      return (await probe) === 'unroutable' ? 'unroutable' : publishOne(broker, event, log);
    const asked = publishOne(broker, event, log);
    probes.set(event.type, asked);
    return asked;
  };
  const publishInOrder = async (events: OutboxDocument[]): Promise<void> => {
    for (const event of events.toSorted((a, b) => a.aggregateVersion - b.aggregateVersion || a._id - b._id)) {
      const outcome = lease.held() ? await publish(event) : 'failed';
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

export interface BatchSettler {
  /** Resolves with whether the whole batch was dealt with. */
  settle(batch: OutboxDocument[], outcomes: Map<number, PublishOutcome>): Promise<boolean>;
  isUnheard(type: string): boolean;
}

/**
 * Deletes what was published, keeps aside what no queue is bound for, and gives that up after its grace. A type that
 * nobody has listened to for as long as the grace is not kept aside any more: its events go at once, so that what
 * nobody hears costs little and does not pile up.
 */
export const createBatchSettler = (options: SettlerOptions): BatchSettler => {
  const { outbox, clock, log, stats, unroutableGraceMs } = options;
  const toldTypes = new Set<string>();
  /** Since when this relay knows that no queue is bound for a type. */
  const unheardSinceMs = new Map<string, number>();

  const tellUnheard = (type: string): void => {
    const level = toldTypes.has(type) ? 'debug' : 'info';
    toldTypes.add(type);
    log[level]({ event: type }, 'an event was dropped: no service listens to it');
  };

  const note = (published: OutboxDocument[], unroutable: OutboxDocument[], nowMs: number): void => {
    for (const { type } of published) unheardSinceMs.delete(type);
    for (const { type } of unroutable) {
      if (!unheardSinceMs.has(type)) unheardSinceMs.set(type, nowMs);
    }
  };

  const setAside = async (events: OutboxDocument[], now: Date): Promise<void> => {
    const givenUpBefore = new Date(now.getTime() - unroutableGraceMs);
    const isLate = ({ type, unroutableSince }: OutboxDocument): boolean =>
      unroutableSince === null
        ? (unheardSinceMs.get(type) ?? now.getTime()) <= givenUpBefore.getTime()
        : unroutableSince <= givenUpBefore;
    const fresh = events.filter((event) => event.unroutableSince === null && !isLate(event));
    const late = events.filter(isLate);
    if (fresh.length > 0) await outbox.updateMany(among(fresh), { $set: { unroutableSince: now } });
    if (late.length === 0) return;
    const types = [...new Set(late.map(({ type }) => type))];
    const { deletedCount } = await outbox.deleteMany(among(late));
    // What waits behind them is of the same type, and its time is over as well: nobody hears it either.
    const behind = { unroutableSince: trusted({ $lte: givenUpBefore }), type: trusted({ $in: types }) };
    stats.unheard += deletedCount + (await outbox.deleteMany(behind)).deletedCount;
    for (const type of types) tellUnheard(type);
  };

  const settle: BatchSettler['settle'] = async (batch, outcomes) => {
    const those = (wanted: PublishOutcome) => batch.filter(({ _id }) => outcomes.get(_id) === wanted);
    const published = those('published');
    const unroutable = those('unroutable');
    const now = clock.now();
    if (published.length > 0) await outbox.deleteMany(among(published));
    stats.published += published.length;
    note(published, unroutable, now.getTime());
    await setAside(unroutable, now);
    return published.length + unroutable.length === batch.length;
  };
  return { settle, isUnheard: (type) => unheardSinceMs.has(type) };
};

const among = (events: readonly Pick<OutboxDocument, '_id'>[]) => ({
  _id: trusted({ $in: events.map(({ _id }) => _id) }),
});
