import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { systemRandom } from '../../src/clock.ts';
import type { Broker } from '../../src/events/broker.ts';
import {
  type Consumers,
  type EventConsumer,
  type EventOutcome,
  onEvent,
  startConsumers,
} from '../../src/events/consumer.ts';
import { createDeadLetters } from '../../src/events/dead-letter.ts';
import { createRpcClient } from '../../src/events/rpc-client.ts';
import { commandQueue } from '../../src/events/rpc-protocol.ts';
import { serveRpc } from '../../src/events/rpc-server.ts';
import { deadQueue, HEADER } from '../../src/events/topology.ts';
import type { Connection } from '../../src/mongo/connect.ts';
import {
  cutConnection,
  dropDatabase,
  effectsOf,
  log,
  openBroker,
  openDatabase,
  orderPlaced,
  publishEvent,
  removeBroker,
  until,
} from './support.ts';

const RETRY_DELAYS_MS = [50];
const PREFETCH = 4;

let connection: Connection;
let broker: Broker;
let running: Consumers | undefined;
let outcomes: EventOutcome[] = [];
const services: string[] = [];
const queues: string[] = [];
const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);

beforeAll(async () => {
  process.on('unhandledRejection', note);
  connection = await openDatabase();
  broker = await openBroker();
});

afterEach(async () => {
  await running?.close();
  running = undefined;
  outcomes = [];
  expect(unhandled).toEqual([]);
});

afterAll(async () => {
  process.off('unhandledRejection', note);
  await removeBroker(broker, services, RETRY_DELAYS_MS, queues);
  await dropDatabase(connection);
});

const listen = async (service: string, consumers: EventConsumer[]): Promise<void> => {
  services.push(service);
  running = await startConsumers({
    connection,
    broker,
    service,
    consumers,
    log,
    prefetch: PREFETCH,
    retryDelaysMs: RETRY_DELAYS_MS,
    onOutcome: (_type, outcome) => void outcomes.push(outcome),
  });
};

const record =
  (consumer: string): EventConsumer['handle'] =>
  async (event, { session }) => {
    await effectsOf(connection).create([{ consumer, eventId: event.id }], { session });
  };

const recorder = (consumer: string): EventConsumer =>
  onEvent(orderPlaced, record(consumer), { name: consumer });

const effects = (consumer: string) => effectsOf(connection).countDocuments({ consumer });

const envelope = (change: Record<string, unknown> = {}): string =>
  JSON.stringify({
    specversion: '1.0',
    id: systemRandom.uuid(),
    source: '/services/shop',
    type: orderPlaced.type,
    subject: '1',
    time: '2026-01-15T10:00:00.000Z',
    datacontenttype: 'application/json',
    aggregateversion: 1,
    data: { order_id: 1 },
    ...change,
  });

/** More of each than are handed out at once: had one kind a place that it never leaves, all places would be taken. */
const COPIES = PREFETCH + 1;

describe('what is no event is parked, and those behind it are handled', () => {
  const deep = (count: number): string => `${'['.repeat(count)}${']'.repeat(count)}`;

  test.each<[string, string | Buffer, Record<string, unknown>?]>([
    ['nothing', ''],
    ['bytes', Buffer.from([0xff, 0xfe, 0x00, 0x7b])],
    ['null', 'null'],
    ['a list', '[]'],
    ['text', '"event"'],
    ['lists in lists', deep(200_000)],
    ['eight megabytes', 'x'.repeat(8 * 1024 * 1024)],
    ['an event of another version', envelope({ specversion: '0.3' })],
    ['an event without an id', envelope({ id: undefined })],
    ['an event of no time', envelope({ time: 'yesterday' })],
    ['data of another kind', envelope({ data: deep(10) })],
    ['data that is not there', envelope({ data: undefined })],
    [
      'headers of wrong types',
      'x',
      { [HEADER.attempts]: 'x', [HEADER.consumer]: { a: [1] }, [HEADER.error]: 7 },
    ],
    ['a count of tries below zero', envelope({ data: null }), { [HEADER.attempts]: -1e15 }],
    ['headers too large to be sent on', 'x', { [HEADER.originalRoutingKey]: 'k'.repeat(65_400) }],
  ])('%s', async (what, content, headers = {}) => {
    const service = `odd-${what.replaceAll(' ', '-')}`;
    await listen(service, [recorder(service)]);
    for (let copy = 0; copy < COPIES; copy += 1) {
      await broker.publish(broker.eventsExchange, orderPlaced.type, Buffer.from(content), { headers });
    }
    await publishEvent(broker, { subject: 'behind' });
    await until(async () => (await effects(service)) === 1);
    await until(() => outcomes.filter((outcome) => outcome === 'dead').length === COPIES);
    expect(await createDeadLetters(broker).list(service)).toHaveLength(COPIES);
  });
});

test('twenty deliveries of one event at once have one effect', async () => {
  await listen('twenty', [recorder('twenty')]);
  const id = systemRandom.uuid();
  // Of different aggregates, so that nothing but the inbox keeps them apart.
  await Promise.all(
    Array.from({ length: 20 }, (_, index) => publishEvent(broker, { id, subject: String(index) })),
  );
  await until(() => outcomes.length === 20);
  expect(await effects('twenty')).toBe(1);
  expect(outcomes.filter((outcome) => outcome === 'duplicate')).toHaveLength(19);
});

describe('the connection to the broker breaks', () => {
  test.each(['before its effect', 'after its effect and before its ack'])(
    '%s: the event comes again and has one effect',
    async (phase) => {
      const name = phase.replaceAll(' ', '-');
      let cut = 0;
      const once = async (): Promise<void> => {
        cut += 1;
        if (cut === 1) await cutConnection(broker);
      };
      const consumer = onEvent(
        orderPlaced,
        async (event, context) => {
          if (phase === 'before its effect') await once();
          else context.afterCommit(once);
          await record(name)(event, context);
        },
        { name },
      );
      await listen(name, [consumer]);
      await publishEvent(broker);
      await until(() => outcomes.includes('duplicate'));
      expect(await effects(name)).toBe(1);
    },
  );

  test('while a failed one is on its way to its next try: it is tried again, or parked, and never lost', async () => {
    let tries = 0;
    const consumer = onEvent(
      orderPlaced,
      async () => {
        tries += 1;
        if (tries <= 2) setTimeout(() => void cutConnection(broker).catch(() => undefined), 0);
        throw new Error('never');
      },
      { name: 'cut-on-its-way' },
    );
    await listen('cut-on-its-way', [consumer]);
    const id = await publishEvent(broker);
    const letters = createDeadLetters(broker);
    await until(async () => {
      const parked = await letters.list('cut-on-its-way').catch(() => []);
      return parked.some((letter) => letter.id === id);
    });
  });

  test('while nothing is under way: what is published later is handled', async () => {
    await listen('cut-idle', [recorder('cut-idle')]);
    await cutConnection(broker);
    await until(() => broker.isConnected());
    await publishEvent(broker);
    await until(async () => (await effects('cut-idle')) === 1);
  });
});

test('a parking place that was removed is made again: nothing is lost, and those behind are handled', async () => {
  await listen('unparked', [recorder('unparked')]);
  await broker.withChannel((channel) => channel.deleteQueue(deadQueue(broker.namespace, 'unparked')));
  for (let copy = 0; copy < COPIES; copy += 1) {
    await broker.publish(broker.eventsExchange, orderPlaced.type, Buffer.from('no event'));
  }
  await publishEvent(broker, { subject: 'behind' });
  await until(async () => (await effects('unparked')) === 1);
  await until(() => outcomes.filter((outcome) => outcome === 'dead').length === COPIES);
  expect(await createDeadLetters(broker).list('unparked')).toHaveLength(COPIES);
});

describe('a command queue goes on after', () => {
  const answerTo = { deadline: 60_000, correlationId: 'a command', replyTo: 'amq.rabbitmq.reply-to.nobody' };
  test.each<[string, string, Partial<typeof answerTo>]>([
    ['what is no JSON', '{', {}],
    ['a command that fits nothing', '{"number":"x"}', {}],
    ['a command without a deadline', '{"number":1}', { deadline: Number.NEGATIVE_INFINITY }],
    ['a command whose deadline never comes', '{"number":1}', { deadline: 1e300 }],
    ['an answer that is no JSON', '{"number":-1}', {}],
    ['an answer to a queue that is none', '{"number":1}', { replyTo: 'q'.repeat(255) }],
    ['an answer to nobody', '{"number":1}', { replyTo: '' }],
  ])('%s', async (what, content, change) => {
    const queue = commandQueue(broker.namespace, what.replaceAll(' ', '-'));
    queues.push(queue);
    const server = await serveRpc({
      broker,
      queue,
      request: z.object({ number: z.int() }),
      handle: async ({ number }) => ({ number: number < 0 ? BigInt(number) : number }),
      log,
      prefetch: PREFETCH,
    });
    const client = await createRpcClient({ broker, queue, log });
    const { deadline, ...properties } = { ...answerTo, ...change };
    for (let copy = 0; copy < COPIES; copy += 1) {
      await broker.publish('', queue, Buffer.from(content), {
        ...properties,
        correlationId: `${properties.correlationId} ${copy}`,
        headers: Number.isFinite(deadline) ? { [HEADER.deadline]: Date.now() + deadline } : {},
      });
    }
    const schema = z.object({ number: z.int() });
    expect(await client.call(schema, schema, { number: 7 }, { timeoutMs: 20_000 })).toEqual({ number: 7 });
    const { messageCount } = await broker.withChannel((channel) => channel.checkQueue(queue));
    expect(messageCount).toBe(0);
    await client.close();
    await server.close();
  });
});
