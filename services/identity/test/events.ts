/** What the service has told, once it has left. */
import { connectBroker } from '@fitness/shared/events/broker.ts';
import { tapEvents } from '@fitness/shared/events/testing.ts';
import { createLog } from '@fitness/shared/log.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import type { World } from './support.ts';

interface Told {
  type: string;
  data: unknown;
}

export interface EventWatch {
  /** Resolves when nothing is left to be told, and all of it has arrived here. */
  settled(): Promise<void>;
  /** The events about an account that have arrived, each once, in the order in which they were told. */
  seen(userId: number): Told[];
  /** The same, once it is settled. */
  about(userId: number): Promise<Told[]>;
  close(): Promise<void>;
}

/** Sees what is told from now on. */
export const watchEvents = async (world: World): Promise<EventWatch> => {
  const { AMQP_URL: url, EVENTS_NAMESPACE: namespace } = world.config;
  const log = createLog({ service: 'watch', level: 'silent' });
  const broker = await connectBroker({ url, namespace, log, name: 'watch' });
  const tap = await tapEvents(broker);
  const outbox = world.database.collection('outbox');
  let markers = 0;
  const settled = async (): Promise<void> => {
    await eventually(async () => (await outbox.findOne({})) === null);
    // What the broker has confirmed is on its way here, and comes before what is published now.
    const marker = String(++markers);
    await broker.publish(broker.eventsExchange, MARKER, Buffer.from(markerEvent(marker)));
    await tap.waitFor(MARKER, { matches: ({ subject }) => subject === marker });
  };
  const seen = (userId: number): Told[] => {
    const mine = tap.events.filter(
      ({ source, subject }) => source === '/services/identity' && subject === String(userId),
    );
    // An event may be published twice, under its one id.
    const once = [...new Map(mine.map((event) => [event.id, event])).values()];
    return once.map(({ type, data }) => ({ type, data }));
  };
  return {
    settled,
    seen,
    about: async (userId) => {
      await settled();
      return seen(userId);
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
