/** Two releases of one service run beside each other, on one broker and one database, as during a rolling update. */
import type { EventDefinition } from '@fitness/proto/events/define-event.ts';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { systemRandom } from '../../src/kernel/clock.ts';
import type { Broker } from '../../src/messaging/broker.ts';
import { type EventConsumer, onEvent } from '../../src/messaging/consumer.ts';
import { createDeadLetters } from '../../src/messaging/dead-letter.ts';
import { type Consumers, startConsumers } from '../../src/messaging/start-consumers.ts';
import { formerEventsQueue, HEADER, serviceExchange } from '../../src/messaging/topology.ts';
import type { Connection } from '../../src/mongo/connect.ts';
import {
  dropDatabase,
  effectsOf,
  log,
  openBroker,
  openDatabase,
  orderPlaced,
  orderShipped,
  publishEvent,
  removeBroker,
  until,
} from './support.ts';

const EVENTS = 20;
const RETRY_DELAYS_MS = [50, 100];

let connection: Connection;
/** The newer release: its catalogue has the new event and the second consumer. */
let broker: Broker;
/** Each test has its own service. */
let service = '';
const services = new Set<string>();
const running = new Set<Consumers>();

const catalogue = (name: string): EventDefinition[] => [
  { ...orderPlaced, consumers: [name, `${name}/second`] },
  { ...orderShipped, consumers: [name] },
];

beforeAll(async () => {
  connection = await openDatabase();
  broker = await openBroker();
});

afterEach(async () => {
  for (const consumers of running) await consumers.close();
  running.clear();
  await effectsOf(connection).deleteMany({});
});

afterAll(async () => {
  const names = [orderPlaced.type, 'second', orderShipped.type];
  await removeBroker(broker, [...services], RETRY_DELAYS_MS, [], names);
  await dropDatabase(connection);
});

const newService = (): void => {
  service = `service-${systemRandom.uuid().slice(0, 8)}`;
  services.add(service);
};

/** First tries that have failed, of both releases. */
const failed = new Set<string>();

/** Its repeated effect is visible. Each third event fails at its first try, and is retried. */
const recorder = (event: EventDefinition, name = event.type): EventConsumer => ({
  ...onEvent(event, async ({ id }, { session }) => {
    const isThird = Number.parseInt(id.slice(0, 4), 16) % 3 === 0;
    if (isThird && !failed.has(`${name} ${id}`)) {
      failed.add(`${name} ${id}`);
      throw new Error('not yet');
    }
    await effectsOf(connection).create([{ consumer: name, eventId: id }], { session });
  }),
  name,
});

const start = async (consumers: EventConsumer[]): Promise<Consumers> => {
  const retryDelaysMs = RETRY_DELAYS_MS;
  const started = await startConsumers({ connection, broker, service, consumers, log, retryDelaysMs });
  running.add(started);
  return started;
};

/** The release before: it knows neither `orderShipped` nor the second consumer of `orderPlaced`. */
const startOlder = () => start([recorder(orderPlaced)]);
const startNewer = () =>
  start([recorder(orderPlaced), recorder(orderPlaced, 'second'), recorder(orderShipped)]);
const stop = async (consumers: Consumers): Promise<void> => {
  running.delete(consumers);
  await consumers.close();
};

const publishAll = async (): Promise<void> => {
  await Promise.all(
    Array.from({ length: EVENTS }, async (_, order) => {
      await publishEvent(broker, { subject: String(order) });
      await publishEvent(broker, { type: orderShipped.type, subject: String(order) });
    }),
  );
};

/** Effects and different events, by consumer: the two differ when an event has had an effect twice. */
const effects = async (): Promise<Record<string, [number, number]>> => {
  const stored = await effectsOf(connection).find().lean<{ consumer: string; eventId: string }[]>();
  const byConsumer = Object.groupBy(stored, ({ consumer }) => consumer);
  return Object.fromEntries(
    Object.entries(byConsumer).map(([name, rows = []]) => [
      name,
      [rows.length, new Set(rows.map(({ eventId }) => eventId)).size],
    ]),
  );
};

const each = (count: number): Record<string, [number, number]> => ({
  [orderPlaced.type]: [count, count],
  second: [count, count],
  [orderShipped.type]: [count, count],
});

const untilEffects = async (count: number): Promise<void> => {
  await until(async () => (await effectsOf(connection).countDocuments({})) >= 3 * count).catch(
    () => undefined,
  );
  expect(await effects()).toEqual(each(count));
};

test('events that the older release does not know are all handled once', async () => {
  newService();
  await startOlder();
  await startNewer();
  await publishAll();
  await untilEffects(EVENTS);
});

test('no event is lost or handled twice by a rollout, a rollback and another rollout', async () => {
  newService();
  const older = await startOlder();
  const newer = await startNewer();
  await publishAll();
  await stop(older);
  await publishAll();
  // Rolled back: the older one alone.
  await Promise.all([stop(newer), startOlder()]);
  await publishAll();
  const [again] = running;
  await startNewer();
  await publishAll();
  if (again !== undefined) await stop(again);
  await publishAll();
  await untilEffects(5 * EVENTS);
});

/** The queue of all consumers of the service, as release 1.0 declares it. */
const declareFormerQueue = async (): Promise<string> => {
  const { namespace, eventsExchange } = broker;
  const exchange = serviceExchange(namespace, service);
  const queue = formerEventsQueue(namespace, service);
  await broker.withChannel(async (channel) => {
    await channel.assertExchange(exchange, 'direct', { durable: true });
    await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
    await channel.bindQueue(queue, exchange, queue);
    await channel.bindQueue(queue, eventsExchange, orderPlaced.type);
  });
  return queue;
};

/** An event whose try by `consumer` has failed in release 1.0: it returns by the exchange of the service. */
const returnToFormerQueue = (routingKey: string, consumer: string): Promise<string> =>
  publishEvent(broker, {
    exchange: serviceExchange(broker.namespace, service),
    routingKey,
    headers: { [HEADER.consumer]: consumer, [HEADER.originalRoutingKey]: orderPlaced.type },
  });

test('an event in the queue of release 1.0 is handled once, even with a copy in the new queue', async () => {
  newService();
  const former = await declareFormerQueue();
  const retried = await returnToFormerQueue(former, orderPlaced.type);
  const unknown = await returnToFormerQueue(former, 'unknown');
  // While no new queue exists: the publisher is of release 1.0, too.
  await publishAll();
  await startNewer();
  // Both queues get each event.
  await publishAll();
  const letters = createDeadLetters(broker);
  const isDone = async (): Promise<boolean> => {
    const { messageCount } = await broker.withChannel((channel) => channel.checkQueue(former));
    const handled = await effectsOf(connection).countDocuments({});
    return messageCount === 0 && handled >= 5 * EVENTS + 1 && (await letters.list(service)).length > 0;
  };
  await until(isDone).catch(() => undefined);
  expect(await effects()).toEqual({
    [orderPlaced.type]: [2 * EVENTS + 1, 2 * EVENTS + 1],
    second: [2 * EVENTS, 2 * EVENTS],
    [orderShipped.type]: [EVENTS, EVENTS],
  });
  expect(await effectsOf(connection).countDocuments({ eventId: retried })).toBe(1);
  // A consumer that no release has: an operator decides.
  expect(await letters.list(service)).toMatchObject([{ id: unknown, consumer: 'unknown' }]);
});

test('a publisher that is newer than every consumer loses nothing', async () => {
  newService();
  await startOlder();
  const publisher = await openBroker(broker.namespace, catalogue(service));
  await publisher.close();
  await publishAll();
  await startNewer();
  await untilEffects(EVENTS);
});
