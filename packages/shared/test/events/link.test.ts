import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Channel } from 'amqplib';
import { systemRandom } from '../../src/clock.ts';
import { type Broker, connectBroker } from '../../src/events/broker.ts';
import { onEvent, startConsumers } from '../../src/events/consumer.ts';
import { createRpcClient } from '../../src/events/rpc-client.ts';
import { commandQueue } from '../../src/events/rpc-protocol.ts';
import { serveRpc } from '../../src/events/rpc-server.ts';
import {
  declareEventsExchange,
  declareServiceQueues,
  RETRY_DELAYS_MS,
  retryQueue,
} from '../../src/events/topology.ts';
import { SHUTDOWN_DEADLINE_MS } from '../../src/lifecycle.ts';
import { currentTraceparent } from '../../src/trace.ts';
import {
  amqpUrl,
  dropDatabase,
  log,
  openBroker,
  openDatabase,
  orderPlaced,
  publishEvent,
  removeBroker,
  until,
} from './support.ts';

const sockets = new Set<Socket>();
const wires: Server[] = [];

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const wire of wires.splice(0)) wire.close();
});

/** The broker behind a wire that falls silent without being cut, as behind a switch that lost its power. */
const openWire = async () => {
  const { hostname, port } = new URL(amqpUrl());
  let silent = false;
  const waiting: Socket[] = [];
  const serve = (client: Socket): void => {
    const upstream = connect(Number(port || 5672), hostname);
    sockets.add(upstream.on('error', () => undefined));
    client.on('data', (chunk) => silent || upstream.write(chunk));
    upstream.on('data', (chunk) => silent || client.write(chunk));
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  };
  const wire = createServer((client) => {
    sockets.add(client.on('error', () => undefined));
    // What is sent to a silent wire is sent again by the system until it arrives.
    if (silent) waiting.push(client);
    else serve(client);
  });
  wires.push(wire);
  await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve));
  const url = new URL(amqpUrl());
  url.host = `127.0.0.1:${(wire.address() as AddressInfo).port}`;
  return {
    url: url.href,
    silence: (is = true): void => {
      silent = is;
      if (!is) for (const client of waiting.splice(0)) serve(client);
    },
  };
};

const newNamespace = (): string => `test-${systemRandom.uuid()}`;

const tookMs = async (work: Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work;
  return performance.now() - startedAt;
};

describe('a broker that falls silent', () => {
  test('is noticed by its missing heartbeats, and used again when it speaks', async () => {
    const wire = await openWire();
    const url = `${wire.url}?heartbeat=1`;
    const broker = await connectBroker({ url, namespace: newNamespace(), log });
    wire.silence();
    await until(() => !broker.isConnected());
    wire.silence(false);
    await until(() => broker.isConnected());
    expect(await broker.publish('', `${broker.namespace}.nobody`, Buffer.from('x'))).toEqual({
      routed: false,
    });
    await removeBroker(broker, []);
  });

  test('is asked for a heartbeat every five seconds, unless the address says otherwise', async () => {
    const broker = await openBroker();
    const heartbeat = await broker.withChannel(
      async ({ connection }) => (connection as unknown as { heartbeat: number }).heartbeat,
    );
    expect(heartbeat).toBe(5);
    await removeBroker(broker, []);
  });

  test('does not hold up the closing of whoever listens, asks, answers or publishes', async () => {
    const wire = await openWire();
    const broker = await connectBroker({ url: wire.url, namespace: newNamespace(), log });
    const connection = await openDatabase();
    const queue = commandQueue(broker.namespace, 'silent');
    const consumers = [onEvent(orderPlaced, async () => undefined)];
    const listening = await startConsumers({ connection, broker, service: 'silent', consumers, log });
    const serving = await serveRpc({ broker, queue, handle: async () => null, log });
    const asking = await createRpcClient({ broker, queue, log });
    wire.silence();
    const parts = [listening, serving, asking].map((part) => part.close());
    const closing = Promise.all(parts).then(() => broker.close());
    expect(await tookMs(closing)).toBeLessThan(SHUTDOWN_DEADLINE_MS);
    await dropDatabase(connection);
    await removeBroker(await openBroker(broker.namespace), ['silent'], undefined, [queue]);
  });

  test('at the start is given up at the end of the time for it', async () => {
    const wire = await openWire();
    wire.silence();
    const opening = connectBroker({ url: wire.url, namespace: newNamespace(), log, startTimeoutMs: 500 });
    expect(await tookMs(expect(opening).rejects.toThrow())).toBeLessThan(10_000);
  });
});

describe('on the broker', () => {
  const PRECONDITION_FAILED = { code: 406 };
  const differing = (broker: Broker, declare: (channel: Channel) => Promise<unknown>) =>
    expect(broker.withChannel(declare)).rejects.toMatchObject(PRECONDITION_FAILED);

  test('the exchange and the queues outlive a restart, are replicated, and hand on without loss', async () => {
    const broker = await openBroker();
    const { namespace } = broker;
    await broker.withChannel(async (channel) => {
      await declareEventsExchange(channel, namespace);
      await declareServiceQueues(channel, namespace, 'lasting', [50]);
    });
    await differing(broker, (channel) =>
      channel.assertExchange(broker.eventsExchange, 'topic', { durable: false }),
    );
    const lasting = {
      'x-queue-type': 'quorum',
      'x-overflow': 'reject-publish',
      'x-dead-letter-strategy': 'at-least-once',
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': `${namespace}.lasting.events`,
      'x-message-ttl': 50,
    };
    const queue = retryQueue(namespace, 'lasting', 50);
    await broker.withChannel((channel) => channel.assertQueue(queue, { durable: true, arguments: lasting }));
    for (const name of ['x-queue-type', 'x-overflow', 'x-dead-letter-strategy'] as const) {
      const { [name]: _without, ...rest } = lasting;
      await differing(broker, (channel) => channel.assertQueue(queue, { durable: true, arguments: rest }));
    }
    await removeBroker(broker, ['lasting'], [50]);
  });

  test('each wait for the next try is longer than the last', () => {
    expect(RETRY_DELAYS_MS.length).toBeGreaterThanOrEqual(3);
    expect(RETRY_DELAYS_MS.toSorted((a, b) => a - b)).toEqual(RETRY_DELAYS_MS);
    expect(new Set(RETRY_DELAYS_MS).size).toBe(RETRY_DELAYS_MS.length);
  });
});

test('an event is handled in the trace of the request that caused it', async () => {
  const broker = await openBroker();
  const connection = await openDatabase();
  const seen: (string | undefined)[] = [];
  const consumers = [onEvent(orderPlaced, async () => void seen.push(currentTraceparent()))];
  const listening = await startConsumers({ connection, broker, service: 'traced', consumers, log });
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  await publishEvent(broker, { traceparent: `00-${traceId}-b7ad6b7169203331-01` });
  await until(() => seen.length === 1);
  expect(seen[0]).toContain(traceId);
  await listening.close();
  await removeBroker(broker, ['traced']);
  await dropDatabase(connection);
});
