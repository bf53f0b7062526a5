/** What the ground asks of the collections that every service has. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HOUR_MS, ManualClock, MINUTE_MS, systemRandom } from '../../src/clock.ts';
import type { Broker } from '../../src/events/broker.ts';
import { handleOnce } from '../../src/events/inbox.ts';
import { createOutbox } from '../../src/events/outbox.ts';
import { startRelay } from '../../src/events/relay.ts';
import { tapEvents } from '../../src/events/testing.ts';
import { created } from '../../src/http/define-route.ts';
import { createIdempotency, createIdempotencyIndexes, storedKey } from '../../src/http/idempotency.ts';
import { createKeyAgreement } from '../../src/http/key-agreement.ts';
import { createRateLimitIndexes, createWindowCounter } from '../../src/http/window-counter.ts';
import { type Connection, connectMongo, syncIndexes } from '../../src/mongo/connect.ts';
import { registerEventModels } from '../../src/mongo/event-models.ts';
import { createSequences } from '../../src/mongo/sequence.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import { connectRedis, type Redis } from '../../src/redis.ts';
import {
  type CommandWatch,
  exceptOnPrebuilt,
  FILL_TIMEOUT_MS,
  fillLike,
  monitored,
  watchCommands,
} from '../../src/testing/commands.ts';
import { dropDatabase, testConfig } from '../../src/testing/harness.ts';
import {
  log,
  openBroker,
  orderCancelled,
  orderPlaced,
  redisUrl,
  removeBroker,
  until,
} from '../events/support.ts';

const config = monitored(testConfig('ground'));
const NEVER = new Date('2100-01-01T00:00:00Z');
const clock = new ManualClock();

const EXCEPTIONS = [
  ...exceptOnPrebuilt(
    'it reads all that a condition finds, and sorts it anew; these wait for a moment, as a rule',
    [
      'SORT: find outbox {"unroutableSince":"?"}',
      'SORT: find outbox {"unroutableSince":{"$gt":"?"}}',
      'a wide index scan: find outbox {"unroutableSince":"?"}',
      'a wide index scan: find outbox {"unroutableSince":{"$gt":"?"}}',
    ],
  ),
  ...exceptOnPrebuilt(
    'it scans for a condition beside the indexed one; once a minute, for what nobody hears',
    ['COLLSCAN: delete outbox {"unroutableSince":{"$lte":"?"},"type":{"$in":["?"]}}'],
  ),
];

let connection: Connection;
let broker: Broker;
let redis: Redis;
let watch: CommandWatch;

const fill = async (): Promise<void> => {
  const { outbox, inbox } = registerEventModels(connection);
  const event = { type: orderCancelled.type, aggregate: 'shop/1', aggregateVersion: 1, occurredAt: NEVER };
  await outbox.create({ ...event, _id: 1_000_000, body: '{}', unroutableSince: NEVER });
  await fillLike(connection, 'outbox', (n) => ({ _id: 1_000_000 + n, aggregate: `shop/${n}` }));
  await inbox.create({ consumer: 'shop', eventId: 'none', processedAt: new Date() });
  await fillLike(connection, 'inbox', (n) => ({ eventId: `event-${n}` }));
  await idempotency().run({ userId: 0, key: 'first', fingerprint: {} }, async () => created({ data: {} }));
  await fillLike(connection, 'idempotency_keys', (n) => ({ _id: `key-${n}`, user_id: n, expires_at: NEVER }));
  await createWindowCounter(connection).take({ points: 3, windowS: 60 }, 'first');
  await fillLike(connection, 'rate_limits', (n) => ({ _id: `key-${n}`, expire: NEVER }));
};

beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  redis = await connectRedis({ url: redisUrl(), log });
  broker = await openBroker();
  await syncIndexes(connection);
  await createIdempotencyIndexes(connection);
  await createRateLimitIndexes(connection);
  await fill();
  watch = watchCommands(config.MONGODB_DATABASE, { ground: true, exceptions: EXCEPTIONS });
}, FILL_TIMEOUT_MS);
afterAll(async () => {
  redis.disconnect();
  await removeBroker(broker, []);
  await connection.close();
  await dropDatabase(config);
});

const idempotency = (at = clock) =>
  createIdempotency({
    connection,
    agreement: createKeyAgreement(redis, config.EVENTS_NAMESPACE, at),
    clock: at,
    uuid: () => systemRandom.uuid(),
  });

const expectServed = async (collection: string, work: () => Promise<unknown>): Promise<void> => {
  const sent = await watch.during(work);
  expect(sent.filter((command) => command.collection === collection)).not.toEqual([]);
  expect(await watch.faults(sent)).toEqual([]);
};

test('the relay: what is heard, and what nobody hears', async () => {
  const outbox = createOutbox({ connection, service: 'shop', clock, random: systemRandom });
  const emit = (definition: typeof orderPlaced | typeof orderCancelled, subject: string) =>
    inTransaction(connection, (session) =>
      outbox.emit(session, definition, { subject, data: { order_id: 1 }, aggregateVersion: 1 }),
    );
  const tap = await tapEvents(broker, orderPlaced.type);
  await expectServed('outbox', async () => {
    const timing = { pollIntervalMs: 20, unroutableRetryMs: 20 };
    const relay = startRelay({ connection, broker, log, clock, ...timing });
    await emit(orderPlaced, 'heard');
    await tap.waitFor(orderPlaced.type);
    await emit(orderCancelled, 'unheard');
    const waiting = () => registerEventModels(connection).outbox.countDocuments({ unroutableSince: null });
    await until(async () => (await waiting()) === 0);
    clock.advance(MINUTE_MS);
    await until(() => relay.stats().unheard === 1);
    await relay.close();
  });
  await tap.close();
});

test('the inbox', async () => {
  const event = { id: 'new', type: orderPlaced.type } as Parameters<typeof handleOnce>[2];
  const consumer = { name: 'shop', handle: async () => undefined } as unknown as Parameters<
    typeof handleOnce
  >[1];
  await expectServed('inbox', async () => {
    expect(await handleOnce(connection, consumer, event, log)).toBe('done');
    expect(await handleOnce(connection, consumer, event, log)).toBe('duplicate');
  });
});

describe('an Idempotency-Key', () => {
  const request = (key: string) => ({ userId: 1, key, fingerprint: {} });
  const reply = created({ data: { id: 1 } });

  test('that is new, repeated, and used again a day later', async () => {
    const later = new ManualClock(clock.now());
    await expectServed('idempotency_keys', async () => {
      await idempotency().run(request('a'), (run) =>
        inTransaction(connection, async (session) => {
          await run.complete(session, reply);
          return reply;
        }),
      );
      expect(await idempotency().run(request('a'), async () => created({}))).toMatchObject({ status: 201 });
      later.advance(25 * HOUR_MS);
      await idempotency(later).run(request('a'), async () => reply);
    });
  });

  test('of a run that hangs, and of one that fails', async () => {
    const later = new ManualClock(clock.now());
    later.advance(2 * MINUTE_MS);
    await expectServed('idempotency_keys', async () => {
      const hung = idempotency().run(request('b'), async () => {
        await idempotency(later).run(request('b'), async () => reply);
        return reply;
      });
      await hung;
      const failing = idempotency().run(request('c'), () => Promise.reject(new Error('failed')));
      await expect(failing).rejects.toThrow('failed');
      expect(
        await connection.collection('idempotency_keys').findOne({ _id: storedKey(1, 'c') as never }),
      ).toBeNull();
    });
  });

  test('of an erased user', async () => {
    await expectServed('idempotency_keys', () =>
      inTransaction(connection, (session) => idempotency().forgetUser(session, 1)),
    );
  });
});

test('a window of requests that begins, goes on, is spent and ends', async () => {
  const { take } = createWindowCounter(connection);
  await expectServed('rate_limits', async () => {
    for (const points of [2, 2, 2, 3]) await take({ points, windowS: 60 }, 'new');
    await connection
      .collection('rate_limits')
      .updateOne({ _id: 'new' as never }, { $set: { expire: new Date(0) } });
    await take({ points: 2, windowS: 60 }, 'new');
  });
});

test('a sequence', async () => {
  await expectServed('sequences', () => createSequences(connection).take('new', 3));
});
