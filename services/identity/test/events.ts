/** The events that the service publishes, and those that it consumes. */
import { randomUUID } from 'node:crypto';
import type { EventDefinition, EventInput } from '@fitness/proto/events/define-event.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { type Broker, connectBroker } from '@fitness/shared/messaging/broker.ts';
import { tapEvents } from '@fitness/shared/testing/events.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import type { Harness } from './support.ts';

interface PublishedEvent {
  type: string;
  data: unknown;
}

export interface EventWatch {
  /** Resolves when the outbox is empty and this watch has received all of its events. */
  settled(): Promise<void>;
  /** The received events about an account, without duplicates, in the order of publication. */
  received(userId: number): PublishedEvent[];
  /** Like `received`, but waits for `settled` first. */
  publishedAbout(userId: number): Promise<PublishedEvent[]>;
  close(): Promise<void>;
}

const connect = ({ config: { AMQP_URL: url, EVENTS_NAMESPACE: namespace } }: Harness): Promise<Broker> =>
  connectBroker({ url, namespace, name: 'test', log: createLog({ service: 'test', level: 'silent' }) });

export interface Publisher {
  /** Publishes an event of another service at once. Events with the same subject are handled in order. */
  publish<Definition extends EventDefinition>(
    definition: Definition,
    data: EventInput<Definition>,
    options?: { id?: string; subject?: string; aggregateVersion?: number },
  ): Promise<void>;
  close(): Promise<void>;
}

export const openPublisher = async (harness: Harness): Promise<Publisher> => {
  const broker = await connect(harness);
  return {
    publish: async ({ type }, data, { id = randomUUID(), subject = '1', aggregateVersion = 1 } = {}) => {
      const event = {
        specversion: '1.0',
        id,
        source: `/services/${type.split('.')[0]?.replaceAll('_', '-')}`,
        type,
        subject,
        time: '2026-01-15T10:00:00.000Z',
        datacontenttype: 'application/json',
        aggregateversion: aggregateVersion,
        data,
      };
      await broker.publish(broker.eventsExchange, type, Buffer.from(JSON.stringify(event)));
    },
    close: () => broker.close(),
  };
};

/** Receives every event published from now on. */
export const watchEvents = async (harness: Harness): Promise<EventWatch> => {
  const broker = await connect(harness);
  const tap = await tapEvents(broker);
  const outbox = harness.database.collection('outbox');
  let markers = 0;
  const settled = async (): Promise<void> => {
    await eventually(async () => (await outbox.findOne({})) === null);
    // Events that the broker has confirmed arrive before the marker.
    const marker = String(++markers);
    await broker.publish(broker.eventsExchange, MARKER, Buffer.from(markerEvent(marker)));
    await tap.waitFor(MARKER, { matches: ({ subject }) => subject === marker });
  };
  const received = (userId: number): PublishedEvent[] => {
    const ofAccount = tap.events.filter(
      ({ source, subject }) => source === '/services/identity' && subject === String(userId),
    );
    // An event may be published twice with the same id.
    const distinct = [...new Map(ofAccount.map((event) => [event.id, event])).values()];
    return distinct.map(({ type, data }) => ({ type, data }));
  };
  return {
    settled,
    received,
    publishedAbout: async (userId) => {
      await settled();
      return received(userId);
    },
    close: async () => {
      await tap.close();
      await broker.close();
    },
  };
};

const MARKER = 'test.marker';

const markerEvent = (subject: string): string =>
  JSON.stringify({
    specversion: '1.0',
    id: crypto.randomUUID(),
    source: '/services/test',
    type: MARKER,
    subject,
    time: '2026-01-15T10:00:00.000Z',
    datacontenttype: 'application/json',
    aggregateversion: 0,
    data: {},
  });
