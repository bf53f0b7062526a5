import { defineEvent } from '@fitness/proto/events/define-event.ts';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { systemClock, systemRandom } from '../../src/kernel/clock.ts';
import { runWithTraceparent } from '../../src/kernel/trace.ts';
import type { Broker } from '../../src/messaging/broker.ts';
import { onEvent } from '../../src/messaging/consumer.ts';
import { registerEventModels } from '../../src/messaging/models.ts';
import { createOutbox, type Outbox } from '../../src/messaging/outbox.ts';
import { startRelay } from '../../src/messaging/relay.ts';
import { startConsumers } from '../../src/messaging/start-consumers.ts';
import { consumerQueue } from '../../src/messaging/topology.ts';
import type { Connection } from '../../src/mongo/connect.ts';
import { CHANGES_MAX } from '../../src/mongo/steps.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import { type EventTap, tapEvents } from '../../src/testing/events.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import {
  cutConnection,
  dropDatabase,
  effectsOf,
  log,
  openBroker,
  openDatabase,
  orderCancelled,
  orderPlaced,
  orderShipped,
  removeBroker,
  until,
} from './support.ts';

let connection: Connection;
let broker: Broker;
/** The queue of a tap ends with its connection; this one is never cut. */
let tapped: Broker;
let outbox: Outbox;
let tap: EventTap;
const services: string[] = [];

const waiting = () => registerEventModels(connection).outbox.countDocuments({});
const place = (subject: string, aggregateVersion = 1) =>
  inTransaction(connection, (session) =>
    outbox.publish(session, orderPlaced, { subject, data: { order_id: 7 }, aggregateVersion }),
  );

beforeAll(async () => {
  connection = await openDatabase();
  broker = await openBroker();
  tapped = await openBroker(broker.namespace);
  outbox = createOutbox({ connection, service: 'shop', clock: systemClock, random: systemRandom });
  tap = await tapEvents(tapped, 'shop.order.placed');
});

afterAll(async () => {
  await tap.close();
  await tapped.close();
  await removeBroker(broker, services, undefined, [], services);
  await dropDatabase(connection);
});

describe('publish', () => {
  test('more events than a transaction may change documents abort it', async () => {
    const many = inTransaction(connection, async (session) => {
      for (let version = 0; version <= CHANGES_MAX; version += 1) {
        const event = { subject: 'many', data: { order_id: 7 }, aggregateVersion: version };
        await outbox.publish(session, orderPlaced, event);
      }
    });
    await expect(many).rejects.toThrow(`publishes ${CHANGES_MAX + 1} events`);
    expect(await waiting()).toBe(0);
  });

  test('an aborted transaction emits nothing', async () => {
    const aborted = inTransaction(connection, async (session) => {
      await outbox.publish(session, orderPlaced, {
        subject: 'aborted',
        data: { order_id: 1 },
        aggregateVersion: 1,
      });
      throw new Error('abort');
    });
    await expect(aborted).rejects.toThrow('abort');
    expect(await waiting()).toBe(0);
  });

  test('data that does not fit the definition throws and aborts', async () => {
    const wrong = inTransaction(connection, (session) =>
      outbox.publish(session, orderPlaced, {
        subject: 'wrong',
        data: { order_id: 'seven' as unknown as number },
        aggregateVersion: 1,
      }),
    );
    await expect(wrong).rejects.toThrow('shop.order.placed does not fit its definition: data.order_id');
    expect(await waiting()).toBe(0);
  });

  test('the events of one transaction are written together, in the order of emission', async () => {
    const { outbox: stored } = registerEventModels(connection);
    const inserts = jest.spyOn(stored.collection, 'insertMany');
    const subjects = Array.from({ length: 20 }, (_, index) => `together-${index}`);
    await inTransaction(connection, async (session) => {
      for (const subject of subjects)
        await outbox.publish(session, orderPlaced, { subject, data: { order_id: 7 }, aggregateVersion: 1 });
      expect(await stored.countDocuments({})).toBe(0);
    });
    expect(inserts).toHaveBeenCalledTimes(1);
    inserts.mockRestore();
    const rows = await stored.find({}).sort({ _id: 1 }).lean();
    expect(rows.map(({ aggregate }) => aggregate)).toEqual(
      subjects.map((subject) => `/services/shop/${subject}`),
    );
    await stored.deleteMany({});
  });

  test('a repeated attempt emits its events once', async () => {
    const { outbox: stored } = registerEventModels(connection);
    const contested = connection.collection<{ _id: string; value: number }>('contested');
    await contested.insertOne({ _id: 'one', value: 0 });
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        inTransaction(connection, async (session) => {
          await outbox.publish(session, orderPlaced, {
            subject: `contested-${index}`,
            data: { order_id: 7 },
            aggregateVersion: 1,
          });
          await contested.updateOne({ _id: 'one' }, { $inc: { value: 1 } }, { session });
        }),
      ),
    );
    expect((await contested.findOne({ _id: 'one' }))?.value).toBe(20);
    expect(await stored.countDocuments({})).toBe(20);
    await stored.deleteMany({});
  });

  test('a session outside a transaction is refused', async () => {
    const session = await connection.startSession();
    const emitted = outbox.publish(session, orderPlaced, {
      subject: 'x',
      data: { order_id: 1 },
      aggregateVersion: 1,
    });
    await expect(emitted).rejects.toThrow('inTransaction');
    await session.endSession();
  });
});

describe('startRelay', () => {
  test('a commit publishes the event once, as a CloudEvent, and deletes it from the outbox', async () => {
    const relay = startRelay({ connection, broker, log, pollIntervalMs: 60_000 });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await runWithTraceparent(traceparent, () => place('committed', 3));
    const event = await tap.waitFor('shop.order.placed', {
      matches: ({ subject }) => subject === 'committed',
    });
    expect(event).toMatchObject({
      specversion: '1.0',
      source: '/services/shop',
      datacontenttype: 'application/json',
      aggregateversion: 3,
      data: { order_id: 7 },
    });
    expect(event.traceparent).toContain('0af7651916cd43dd8448eb211c80319c');
    await until(async () => (await waiting()) === 0);
    await place('behind-the-committed');
    await tap.waitFor('shop.order.placed', { matches: ({ subject }) => subject === 'behind-the-committed' });
    expect(tap.events.filter(({ subject }) => subject === 'committed')).toHaveLength(1);
    await relay.close();
  });

  test('a committed event is published without waiting for the poll', async () => {
    const relay = startRelay({ connection, broker, log, pollIntervalMs: 60_000 });
    for (let round = 0; round < 5; round += 1) {
      await place(`quick-${round}`);
      const matches = ({ subject }: { subject: string }) => subject === `quick-${round}`;
      // The next poll is a minute away.
      await tap.waitFor('shop.order.placed', { matches, timeoutMs: 10_000 });
    }
    await relay.close();
  });

  test('events that were committed before the relay closes are published first', async () => {
    const relay = startRelay({ connection, broker, log, pollIntervalMs: 60_000 });
    await place('before');
    await until(async () => (await waiting()) === 0);
    await inTransaction(connection, async (session) => {
      for (let number = 0; number < 110; number += 1) {
        const event = { subject: `last-${number}`, data: { order_id: 7 }, aggregateVersion: 1 };
        await outbox.publish(session, orderPlaced, event);
      }
    });
    await relay.close();
    expect(await waiting()).toBe(0);
  });

  test('events of one aggregate are published in the order of their versions', async () => {
    const versions = Array.from({ length: 10 }, (_, index) => index + 1);
    for (const version of versions) await place('ordered', version);
    const relay = startRelay({ connection, broker, log });
    const arrived = () => tap.events.filter(({ subject }) => subject === 'ordered');
    await until(() => arrived().length === 10);
    expect(arrived().map(({ aggregateversion }) => aggregateversion)).toEqual(versions);
    await relay.close();
  });

  test('two relays on one outbox publish each event once', async () => {
    services.push('twice');
    const effects = effectsOf(connection);
    const consumers = await startConsumers({
      connection,
      broker,
      service: 'twice',
      log,
      consumers: [
        onEvent(orderShipped, async (event, { session }) => {
          await effects.create([{ consumer: 'twice', eventId: event.id }], { session });
        }),
      ],
    });
    const published = await tapEvents(broker, orderShipped.type);
    const relays = [0, 1].map(() => startRelay({ connection, broker, log, pollIntervalMs: 50 }));
    const publish = (order: number) =>
      inTransaction(connection, (session) =>
        outbox.publish(session, orderShipped, {
          subject: order,
          data: { order_id: order },
          aggregateVersion: 1,
        }),
      );
    await Promise.all(Array.from({ length: 20 }, (_, order) => publish(order)));
    await until(async () => published.events.length >= 20 && (await waiting()) === 0);
    await publish(20);
    await until(async () => (await effects.countDocuments({})) >= 21 && published.events.length >= 21);
    expect(await effects.countDocuments({})).toBe(21);
    expect(published.events).toHaveLength(21);
    await Promise.all(relays.map((relay) => relay.close()));
    await consumers.close();
    await published.close();
  });

  test('a connection lost between commit and publish delays the event but does not lose it', async () => {
    await cutConnection(broker);
    await place('after-the-cut');
    const relay = startRelay({ connection, broker, log, pollIntervalMs: 100 });
    await tap.waitFor('shop.order.placed', {
      matches: ({ subject }) => subject === 'after-the-cut',
    });
    await until(async () => (await waiting()) === 0);
    await relay.close();
  });

  const emitAll = (definition: typeof orderCancelled, subjects: readonly string[]) =>
    inTransaction(connection, async (session) => {
      for (const subject of subjects)
        await outbox.publish(session, definition, { subject, data: { order_id: 1 }, aggregateVersion: 1 });
    });

  test('events without a consumer leave the outbox and block no others, until a service consumes them', async () => {
    const relay = startRelay({ connection, broker, log });
    const publishes = jest.spyOn(broker, 'publish');
    // More than one batch.
    await emitAll(
      orderCancelled,
      Array.from({ length: 105 }, (_, index) => `unconsumed-${index}`),
    );
    await place('behind-the-unconsumed');
    await tap.waitFor('shop.order.placed', {
      matches: ({ subject }) => subject === 'behind-the-unconsumed',
    });
    await until(async () => (await waiting()) === 0);
    expect(publishes).toHaveBeenCalledTimes(106);
    const late = await tapEvents(broker, orderCancelled.type);
    await emitAll(orderCancelled, ['consumed']);
    await late.waitFor(orderCancelled.type);
    expect(late.events.map(({ subject }) => subject)).toEqual(['consumed']);
    await late.close();
    await emitAll(orderCancelled, ['unconsumed-again']);
    await until(async () => (await waiting()) === 0);
    expect(publishes).toHaveBeenCalledTimes(108);
    publishes.mockRestore();
    await relay.close();
  });

  describe('an event for a service that was never started', () => {
    const orderReturned = defineEvent({
      type: 'shop.order.returned',
      data: orderCancelled.data,
      // Both services use one database here, so their consumers have different names.
      consumers: ['accounting/accounting', 'warehouse/warehouse'],
    });
    const received = (service: string) => effectsOf(connection).countDocuments({ consumer: service });
    const startService = (service: string) =>
      startConsumers({
        connection,
        broker,
        service,
        log,
        consumers: [
          {
            ...onEvent(orderReturned, async (event, { session }) => {
              await effectsOf(connection).create([{ consumer: service, eventId: event.id }], { session });
            }),
            name: service,
          },
        ],
      });
    let publisher: Broker;

    beforeAll(async () => {
      services.push('accounting', 'warehouse');
      publisher = await openBroker(broker.namespace, [orderReturned]);
    });

    afterAll(() => publisher.close());

    test('an event waits for a new service although another consumer is running', async () => {
      const accounting = await startService('accounting');
      const relay = startRelay({ connection, broker: publisher, log });
      await emitAll(orderReturned, ['early']);
      await until(async () => (await waiting()) === 0 && (await received('accounting')) === 1);
      const warehouse = await startService('warehouse');
      await until(async () => (await received('warehouse')) === 1);
      await Promise.all([relay, accounting, warehouse].map((opened) => opened.close()));
    });

    test('an event waits for a new service although the broker has lost its queues', async () => {
      for (const service of ['accounting', 'warehouse'])
        await broker.withChannel((channel) =>
          channel.deleteQueue(consumerQueue(broker.namespace, service, service)),
        );
      await cutConnection(publisher);
      await until(() => publisher.isConnected());
      const relay = startRelay({ connection, broker: publisher, log });
      await emitAll(orderReturned, ['after-the-loss']);
      await until(async () => (await waiting()) === 0);
      const before = await received('warehouse');
      const warehouse = await startService('warehouse');
      await until(async () => (await received('warehouse')) === before + 1);
      await Promise.all([relay, warehouse].map((opened) => opened.close()));
    });

    test('an event waits for a new service although its queues were deleted under the publisher', async () => {
      for (const service of ['accounting', 'warehouse'])
        await broker.withChannel((channel) =>
          channel.deleteQueue(consumerQueue(broker.namespace, service, service)),
        );
      const relay = startRelay({ connection, broker: publisher, log, pollIntervalMs: 20 });
      const before = await received('warehouse');
      await emitAll(orderReturned, ['after-the-deletion']);
      await until(async () => (await waiting()) === 0);
      const warehouse = await startService('warehouse');
      await until(async () => (await received('warehouse')) === before + 1);
      await Promise.all([relay, warehouse].map((opened) => opened.close()));
    });
  });

  test('the lease of a crashed relay is taken over, but not before it expires', async () => {
    const { leases } = registerEventModels(connection);
    const clock = new ManualClock();
    const until10s = new Date(clock.now().getTime() + 10_000);
    await leases.updateOne({ _id: 'outbox' }, { $set: { owner: 'dead', until: until10s } }, { upsert: true });
    const relay = startRelay({ connection, broker, log, realTime: clock, pollIntervalMs: 50 });
    const takes = jest.spyOn(leases, 'updateOne');
    await place('succession');
    await until(() => takes.mock.calls.length >= 3);
    takes.mockRestore();
    expect(tap.events.some(({ subject }) => subject === 'succession')).toBe(false);
    clock.advance(10_001);
    await tap.waitFor('shop.order.placed', { matches: ({ subject }) => subject === 'succession' });
    await relay.close();
  });
});
