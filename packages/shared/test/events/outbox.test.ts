import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { ManualClock, systemClock, systemRandom } from '../../src/clock.ts';
import type { Broker } from '../../src/events/broker.ts';
import { onEvent, startConsumers } from '../../src/events/consumer.ts';
import { createOutbox, type Outbox } from '../../src/events/outbox.ts';
import { startRelay } from '../../src/events/relay.ts';
import { type EventTap, tapEvents } from '../../src/events/testing.ts';
import type { Connection } from '../../src/mongo/connect.ts';
import { registerEventModels } from '../../src/mongo/event-models.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import { runWithTraceparent } from '../../src/trace.ts';
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
let outbox: Outbox;
let tap: EventTap;
const services: string[] = [];

const waiting = () => registerEventModels(connection).outbox.countDocuments({});
const place = (subject: string, aggregateVersion = 1) =>
  inTransaction(connection, (session) =>
    outbox.emit(session, orderPlaced, { subject, data: { order_id: 7 }, aggregateVersion }),
  );

beforeAll(async () => {
  connection = await openDatabase();
  broker = await openBroker();
  outbox = createOutbox({ connection, service: 'shop', clock: systemClock, random: systemRandom });
  tap = await tapEvents(broker, 'shop.order.placed');
});

afterAll(async () => {
  await tap.close();
  await removeBroker(broker, services);
  await dropDatabase(connection);
});

describe('emit', () => {
  test('an aborted transaction emits nothing', async () => {
    const aborted = inTransaction(connection, async (session) => {
      await outbox.emit(session, orderPlaced, {
        subject: 'aborted',
        data: { order_id: 1 },
        aggregateVersion: 1,
      });
      throw new Error('abort');
    });
    await expect(aborted).rejects.toThrow('abort');
    expect(await waiting()).toBe(0);
  });

  test('data that does not fit the definition is a programmer error and aborts', async () => {
    const wrong = inTransaction(connection, (session) =>
      outbox.emit(session, orderPlaced, {
        subject: 'wrong',
        data: { order_id: 'seven' as unknown as number },
        aggregateVersion: 1,
      }),
    );
    await expect(wrong).rejects.toThrow('shop.order.placed does not fit its definition: data.order_id');
    expect(await waiting()).toBe(0);
  });

  test('the events of one transaction are one write, in the order in which they were emitted', async () => {
    const { outbox: stored } = registerEventModels(connection);
    const inserts = jest.spyOn(stored.collection, 'insertMany');
    const subjects = Array.from({ length: 20 }, (_, index) => `together-${index}`);
    await inTransaction(connection, async (session) => {
      for (const subject of subjects)
        await outbox.emit(session, orderPlaced, { subject, data: { order_id: 7 }, aggregateVersion: 1 });
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

  test('an attempt that is repeated emits its events once', async () => {
    const { outbox: stored } = registerEventModels(connection);
    const contested = connection.collection<{ _id: string; value: number }>('contested');
    await contested.insertOne({ _id: 'one', value: 0 });
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        inTransaction(connection, async (session) => {
          await outbox.emit(session, orderPlaced, {
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
    const emitted = outbox.emit(session, orderPlaced, {
      subject: 'x',
      data: { order_id: 1 },
      aggregateVersion: 1,
    });
    await expect(emitted).rejects.toThrow('inTransaction');
    await session.endSession();
  });
});

/** Counts what a relay hands to the broker, by the type of the event. */
const countingBroker = () => {
  const published = new Map<string, number>();
  const counting: Broker = {
    ...broker,
    publish: (exchange, type, ...rest) => {
      published.set(type, (published.get(type) ?? 0) + 1);
      return broker.publish(exchange, type, ...rest);
    },
  };
  /** Until a type was published so many times more. */
  const more = async (type: string, times: number): Promise<void> => {
    const from = published.get(type) ?? 0;
    await until(() => (published.get(type) ?? 0) >= from + times);
  };
  return { broker: counting, more };
};

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

  test('a commit reaches a listener without waiting for the poll', async () => {
    const relay = startRelay({ connection, broker, log, pollIntervalMs: 60_000 });
    for (let round = 0; round < 20; round += 1) {
      await place(`quick-${round}`);
      const matches = ({ subject }: { subject: string }) => subject === `quick-${round}`;
      // The next poll is a minute away.
      await tap.waitFor('shop.order.placed', { matches, timeoutMs: 10_000 });
    }
    await relay.close();
  });

  test('events of one aggregate leave in the order of their versions', async () => {
    const versions = Array.from({ length: 30 }, (_, index) => index + 1);
    for (const version of versions) await place('ordered', version);
    const relay = startRelay({ connection, broker, log });
    const arrived = () => tap.events.filter(({ subject }) => subject === 'ordered');
    await until(() => arrived().length === 30);
    expect(arrived().map(({ aggregateversion }) => aggregateversion)).toEqual(versions);
    await relay.close();
  });

  test('two relays on one outbox publish every event, and each has one effect', async () => {
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
    const relays = [0, 1].map(() =>
      startRelay({ connection, broker, log, pollIntervalMs: 50, leaseMs: 2_000 }),
    );
    const emit = (order: number) =>
      inTransaction(connection, (session) =>
        outbox.emit(session, orderShipped, {
          subject: order,
          data: { order_id: order },
          aggregateVersion: 1,
        }),
      );
    await Promise.all(Array.from({ length: 60 }, (_, order) => emit(order)));
    const published = () => relays.reduce((sum, relay) => sum + relay.stats().published, 0);
    await until(async () => published() >= 60 && (await waiting()) === 0);
    await emit(60);
    await until(async () => (await effects.countDocuments({})) >= 61 && published() >= 61);
    expect(await effects.countDocuments({})).toBe(61);
    expect(published()).toBe(61);
    await Promise.all(relays.map((relay) => relay.close()));
    await consumers.close();
  });

  test('a connection lost between commit and publish delays the event and does not lose it', async () => {
    await cutConnection(broker);
    await place('after-the-cut');
    const relay = startRelay({ connection, broker, log, pollIntervalMs: 100 });
    await tap.waitFor('shop.order.placed', {
      matches: ({ subject }) => subject === 'after-the-cut',
    });
    await until(async () => (await waiting()) === 0);
    await relay.close();
  });

  test('an event that nobody listens to blocks nothing and is dropped after its grace', async () => {
    const clock = new ManualClock();
    const counting = countingBroker();
    const relay = startRelay({
      connection,
      broker: counting.broker,
      log,
      clock,
      pollIntervalMs: 50,
      unroutableRetryMs: 50,
    });
    await inTransaction(connection, (session) =>
      outbox.emit(session, orderCancelled, { subject: 'no-one', data: { order_id: 1 }, aggregateVersion: 1 }),
    );
    await place('behind-the-unheard');
    await tap.waitFor('shop.order.placed', { matches: ({ subject }) => subject === 'behind-the-unheard' });
    await counting.more(orderCancelled.type, 2);
    expect(await waiting()).toBe(1);
    clock.advance(60_000);
    await until(async () => (await waiting()) === 0);
    // Counted when the database has answered that the event is gone.
    await until(() => relay.stats().unheard > 0);
    expect(relay.stats()).toEqual({ published: 1, unheard: 1 });
    await relay.close();
  });

  test('a type that nobody has listened to for a minute is dropped at once, until somebody does', async () => {
    const clock = new ManualClock();
    const timing = { pollIntervalMs: 20, unroutableRetryMs: 20 };
    const counting = countingBroker();
    const relay = startRelay({ connection, broker: counting.broker, log, clock, ...timing });
    const cancel = (subject: string) =>
      inTransaction(connection, (session) =>
        outbox.emit(session, orderCancelled, { subject, data: { order_id: 1 }, aggregateVersion: 1 }),
      );
    // More than one batch: what waits behind the first hundred is given up with them.
    for (let index = 0; index < 105; index += 1) await cancel(`unheard-${index}`);
    await until(async () => (await waiting()) === 105);
    await until(
      async () =>
        (await registerEventModels(connection).outbox.countDocuments({ unroutableSince: null })) === 0,
    );
    clock.advance(60_000);
    await until(async () => (await waiting()) === 0);
    await cancel('unheard-later');
    await until(async () => relay.stats().unheard === 106);
    expect(await waiting()).toBe(0);
    const late = await tapEvents(broker, orderCancelled.type);
    await cancel('heard');
    await late.waitFor(orderCancelled.type, { matches: ({ subject }) => subject === 'heard' });
    await late.close();
    // Heard once, it is kept aside again for a minute.
    await cancel('unheard-again');
    await counting.more(orderCancelled.type, 2);
    expect(await waiting()).toBe(1);
    clock.advance(60_000);
    await until(async () => (await waiting()) === 0);
    await relay.close();
  });

  test('an event that was emitted before its first consumer ever started still reaches it', async () => {
    const counting = countingBroker();
    const timing = { pollIntervalMs: 50, unroutableRetryMs: 50 };
    const relay = startRelay({ connection, broker: counting.broker, log, ...timing });
    await inTransaction(connection, (session) =>
      outbox.emit(session, orderCancelled, { subject: 'early', data: { order_id: 1 }, aggregateVersion: 1 }),
    );
    await counting.more(orderCancelled.type, 2);
    const late = await tapEvents(broker, orderCancelled.type);
    await late.waitFor(orderCancelled.type);
    await until(async () => (await waiting()) === 0);
    await late.close();
    await relay.close();
  });

  test('the lease of a dead relay is taken over, and not before it ends', async () => {
    const { leases } = registerEventModels(connection);
    const clock = new ManualClock();
    const until10s = new Date(clock.now().getTime() + 10_000);
    await leases.updateOne({ _id: 'outbox' }, { $set: { owner: 'dead', until: until10s } }, { upsert: true });
    const relay = startRelay({ connection, broker, log, clock, pollIntervalMs: 50 });
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
