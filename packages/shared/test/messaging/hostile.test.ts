import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { systemRandom } from '../../src/kernel/clock.ts';
import { onEvent } from '../../src/messaging/consumer.ts';
import { createDeadLetters } from '../../src/messaging/dead-letter.ts';
import { createRpcClient } from '../../src/messaging/rpc-client.ts';
import { serveRpc } from '../../src/messaging/rpc-server.ts';
import { commandQueue, consumerQueue, deadLetterQueue, HEADER } from '../../src/messaging/topology.ts';
import {
  cutConnection,
  log,
  openConsumers,
  orderPlaced,
  orderShipped,
  publishBeforeCut,
  publishEvent,
  until,
} from './support.ts';

const PREFETCH = 4;
/** The prefetch of a command queue. */
const COMMAND_PREFETCH = 20;

const { broker, outcomes, consume, stop, reset, close, effects, orderConsumer, record, recorder } =
  await openConsumers({
    retryDelaysMs: [50],
    prefetch: PREFETCH,
  });
const queues: string[] = [];
const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);

beforeAll(() => void process.on('unhandledRejection', note));

// A late rejection may come from an earlier test file in this process.
beforeEach(() => {
  unhandled.length = 0;
});

afterEach(async () => {
  await reset();
  expect(unhandled).toEqual([]);
});

afterAll(async () => {
  process.off('unhandledRejection', note);
  await close(queues);
});

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

/** More than the prefetch: messages that are never acked would block the queue. */
const COPIES = PREFETCH + 1;

test('messages that are no events are dead-lettered, and later events are handled', async () => {
  const deep = (count: number): string => `${'['.repeat(count)}${']'.repeat(count)}`;
  const messages: [string, string | Buffer, Record<string, unknown>?][] = [
    ['nothing', ''],
    ['bytes', Buffer.from([0xff, 0xfe, 0x00, 0x7b])],
    ['null', 'null'],
    ['a list', '[]'],
    ['text', '"event"'],
    ['lists in lists', deep(200_000)],
    ['a megabyte', 'x'.repeat(1024 * 1024)],
    ['an event of another version', envelope({ specversion: '0.3' })],
    ['an event without an id', envelope({ id: undefined })],
    ['an event with an invalid time', envelope({ time: 'yesterday' })],
    ['data of another type', envelope({ data: deep(10) })],
    ['an event without data', envelope({ data: undefined })],
    [
      'headers of wrong types',
      'x',
      { [HEADER.attempts]: 'x', [HEADER.consumer]: { a: [1] }, [HEADER.error]: 7 },
    ],
    ['a count of tries below zero', envelope({ data: null }), { [HEADER.attempts]: -1e15 }],
    ['headers too large to be sent on', 'x', { [HEADER.originalRoutingKey]: 'k'.repeat(65_400) }],
  ];
  expect(messages.length).toBeGreaterThan(PREFETCH);
  await consume('odd', [recorder('odd')]);
  const letters = createDeadLetters(broker);
  for (const [index, [what, content, headers = {}]] of messages.entries()) {
    await broker.publish(broker.eventsExchange, orderPlaced.type, Buffer.from(content), { headers });
    await until(() => outcomes.length === index + 1);
    expect([what, outcomes.at(-1)]).toEqual([what, 'dead']);
  }
  await publishEvent(broker, { subject: 'behind' });
  await until(async () => (await effects('odd')) === 1);
  expect(await letters.list('odd')).toHaveLength(messages.length);
});

test('an event published as another type is dead-lettered, even when an operator returns it', async () => {
  const shipped = { ...onEvent(orderShipped, record('forged')), name: 'forged' };
  await consume('forged', [orderConsumer('placed', async () => undefined), shipped]);
  const headers = { [HEADER.originalRoutingKey]: orderShipped.type, [HEADER.consumer]: 'forged' };
  const content = Buffer.from(envelope({ type: orderShipped.type }));
  // The broker may allow a process to publish the one and not the other.
  await broker.publish(broker.eventsExchange, orderPlaced.type, content, { headers });
  const letters = createDeadLetters(broker);
  await until(async () => (await letters.list('forged')).length === 1);
  expect((await letters.list('forged'))[0]?.error).toContain(`it was published as ${orderPlaced.type}`);
  expect(await letters.replay('forged')).toBe(1);
  await until(() => outcomes.filter((outcome) => outcome === 'dead').length === 2);
  expect(await letters.list('forged')).toHaveLength(1);
  expect(await effects('forged')).toBe(0);
  await publishEvent(broker, { type: orderShipped.type });
  await until(async () => (await effects('forged')) === 1);
});

test('an event whose consumer dies at each delivery is dead-lettered, even when an operator returns it', async () => {
  const shipped = { ...onEvent(orderShipped, record('died')), name: 'died' };
  const consumers = [orderConsumer('placed', async () => undefined), shipped];
  await consume('died', consumers);
  await stop();
  const headers = { [HEADER.originalRoutingKey]: orderShipped.type, [HEADER.consumer]: 'died' };
  const content = Buffer.from(envelope({ type: orderShipped.type }));
  await broker.publish(broker.eventsExchange, orderPlaced.type, content, { headers });
  const letters = createDeadLetters(broker);
  const queue = consumerQueue(broker.namespace, 'died', 'placed');
  await until(() =>
    broker.withChannel(async (channel) => {
      // The channel closes without an ack, as that of a dead consumer. Since 4.3 the broker does not count a nack.
      await channel.get(queue);
      return (await letters.list('died')).length === 1;
    }),
  );
  expect(await letters.replay('died')).toBe(1);
  await consume('died', consumers);
  await until(async () => (await letters.list('died')).length === 1);
  expect((await letters.list('died'))[0]?.error).toContain(`it was published as ${orderPlaced.type}`);
  expect(await effects('died')).toBe(0);
});

test('twenty concurrent deliveries of one event have one effect', async () => {
  await consume('twenty', [recorder('twenty')]);
  const id = systemRandom.uuid();
  // Different aggregates: only the inbox recognizes them.
  await Promise.all(
    Array.from({ length: 20 }, (_, index) => publishEvent(broker, { id, subject: String(index) })),
  );
  await until(() => outcomes.length === 20);
  expect(await effects('twenty')).toBe(1);
  expect(outcomes.filter((outcome) => outcome === 'duplicate')).toHaveLength(19);
});

describe('a connection to the broker that breaks', () => {
  test.each(['before its effect', 'after its effect and before its ack'])(
    '%s: the event is redelivered and has one effect',
    async (phase) => {
      const name = phase.replaceAll(' ', '-');
      let cut = 0;
      const once = async (): Promise<void> => {
        cut += 1;
        if (cut === 1) await cutConnection(broker);
      };
      const consumer = orderConsumer(name, async (event, context) => {
        if (phase === 'before its effect') await once();
        else context.afterCommit(once);
        await record(name)(event, context);
      });
      await consume(name, [consumer]);
      await publishBeforeCut(broker);
      await until(() => outcomes.includes('duplicate'));
      expect(await effects(name)).toBe(1);
    },
  );

  test('a failed event is never lost when the connection breaks while it moves to its retry queue', async () => {
    let tries = 0;
    const consumer = orderConsumer('cut-on-its-way', async () => {
      tries += 1;
      if (tries <= 2) setTimeout(() => void cutConnection(broker).catch(() => undefined), 0);
      throw new Error('never');
    });
    await consume('cut-on-its-way', [consumer]);
    const id = await publishBeforeCut(broker);
    const letters = createDeadLetters(broker);
    await until(async () => {
      const deadLettered = await letters.list('cut-on-its-way').catch(() => []);
      return deadLettered.some((letter) => letter.id === id);
    });
  });

  test('later events are handled after the connection breaks while idle', async () => {
    await consume('cut-idle', [recorder('cut-idle')]);
    await cutConnection(broker);
    await until(() => broker.isConnected());
    await publishEvent(broker);
    await until(async () => (await effects('cut-idle')) === 1);
  });
});

test('a deleted dead-letter queue is declared again: nothing is lost, and later events are handled', async () => {
  await consume('undead', [recorder('undead')]);
  await broker.withChannel((channel) => channel.deleteQueue(deadLetterQueue(broker.namespace, 'undead')));
  for (let copy = 0; copy < COPIES; copy += 1) {
    await broker.publish(broker.eventsExchange, orderPlaced.type, Buffer.from('no event'));
  }
  await publishEvent(broker, { subject: 'behind' });
  await until(async () => (await effects('undead')) === 1);
  await until(() => outcomes.filter((outcome) => outcome === 'dead').length === COPIES);
  expect(await createDeadLetters(broker).list('undead')).toHaveLength(COPIES);
});

describe('a command queue with invalid messages', () => {
  const valid = { deadline: 60_000, correlationId: 'a command', replyTo: 'amq.rabbitmq.reply-to.nobody' };
  test.each<[string, string, Partial<typeof valid>]>([
    ['a message that is not JSON', '{', {}],
    ['a command that does not fit', '{"number":"x"}', {}],
    ['a command without a deadline', '{"number":1}', { deadline: Number.NEGATIVE_INFINITY }],
    ['a command with an endless deadline', '{"number":1}', { deadline: 1e300 }],
    ['a reply that is not JSON', '{"number":-1}', {}],
    ['a reply to a queue that does not exist', '{"number":1}', { replyTo: 'q'.repeat(255) }],
    ['a reply to an empty name', '{"number":1}', { replyTo: '' }],
  ])('a command queue continues after %s', async (what, content, change) => {
    const schema = z.object({ number: z.int() });
    const command = { name: what.replaceAll(' ', '-'), request: schema, response: schema };
    const queue = commandQueue(broker.namespace, command.name);
    queues.push(queue);
    const server = await serveRpc({
      broker,
      command,
      handle: async ({ number }) => ({ number: number < 0 ? (BigInt(number) as never) : number }),
      log,
    });
    const client = await createRpcClient({ broker, command, log });
    const { deadline, ...properties } = { ...valid, ...change };
    for (let copy = 0; copy <= COMMAND_PREFETCH; copy += 1) {
      await broker.publish('', queue, Buffer.from(content), {
        ...properties,
        correlationId: `${properties.correlationId} ${copy}`,
        headers: Number.isFinite(deadline) ? { [HEADER.deadline]: Date.now() + deadline } : {},
      });
    }
    expect(await client.call({ number: 7 }, 20_000)).toEqual({ number: 7 });
    const { messageCount } = await broker.withChannel((channel) => channel.checkQueue(queue));
    expect(messageCount).toBe(0);
    await client.close();
    await server.close();
  });
});
