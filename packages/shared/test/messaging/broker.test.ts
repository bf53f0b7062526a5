import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Channel } from 'amqplib';
import { z } from 'zod';
import { systemRandom } from '../../src/kernel/clock.ts';
import { currentTraceparent } from '../../src/kernel/trace.ts';
import { type Broker, connectBroker } from '../../src/messaging/broker.ts';
import { onEvent } from '../../src/messaging/consumer.ts';
import { createRpcClient } from '../../src/messaging/rpc-client.ts';
import { serveRpc } from '../../src/messaging/rpc-server.ts';
import { startConsumers } from '../../src/messaging/start-consumers.ts';
import {
  commandQueue,
  consumerQueue,
  declareEventsExchange,
  declareServiceQueues,
  RETRY_DELAYS_MS,
  serviceExchange,
  topologyMark,
  waitQueue,
} from '../../src/messaging/topology.ts';
import { SHUTDOWN_DEADLINE_MS } from '../../src/runtime/lifecycle.ts';
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
const proxies: Server[] = [];

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const proxy of proxies.splice(0)) proxy.close();
});

/** A proxy in front of the broker that can fall silent without closing its connections, like a switch without power. */
const openProxy = async () => {
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
  const proxy = createServer((client) => {
    sockets.add(client.on('error', () => undefined));
    // A connection to a silent proxy waits, as TCP repeats its packets.
    if (silent) waiting.push(client);
    else serve(client);
  });
  proxies.push(proxy);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = new URL(amqpUrl());
  url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
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

describe('a broker that does not respond', () => {
  test('a silent broker is detected by missing heartbeats, and used again when it responds', async () => {
    const proxy = await openProxy();
    const url = `${proxy.url}?heartbeat=1`;
    const broker = await connectBroker({ url, namespace: newNamespace(), log });
    proxy.silence();
    await until(() => !broker.isConnected());
    proxy.silence(false);
    await until(() => broker.isConnected());
    expect(await broker.publish('', `${broker.namespace}.nobody`, Buffer.from('x'))).toEqual({
      routed: false,
    });
    await removeBroker(broker, []);
  });

  test('a heartbeat is requested every five seconds, unless the URL says otherwise', async () => {
    const broker = await openBroker();
    const heartbeat = await broker.withChannel(
      async ({ connection }) => (connection as unknown as { heartbeat: number }).heartbeat,
    );
    expect(heartbeat).toBe(5);
    await removeBroker(broker, []);
  });

  test('a silent broker does not delay closing consumers, RPC clients and servers, and the connection', async () => {
    const proxy = await openProxy();
    const broker = await connectBroker({ url: proxy.url, namespace: newNamespace(), log });
    const connection = await openDatabase();
    const command = { name: 'silent', request: z.null(), response: z.null() };
    const consumers = [onEvent(orderPlaced, async () => undefined)];
    const consuming = await startConsumers({ connection, broker, service: 'silent', consumers, log });
    const serving = await serveRpc({ broker, command, handle: async () => null, log });
    const calling = await createRpcClient({ broker, command, log });
    proxy.silence();
    const closed = [consuming, serving, calling].map((opened) => opened.close());
    const closing = Promise.all(closed).then(() => broker.close());
    expect(await tookMs(closing)).toBeLessThan(SHUTDOWN_DEADLINE_MS);
    await dropDatabase(connection);
    await removeBroker(await openBroker(broker.namespace), ['silent'], undefined, [
      commandQueue(broker.namespace, command.name),
    ]);
  });

  test('a silent broker fails the start after the start timeout', async () => {
    const proxy = await openProxy();
    proxy.silence();
    const opening = connectBroker({ url: proxy.url, namespace: newNamespace(), log, startTimeoutMs: 500 });
    expect(await tookMs(expect(opening).rejects.toThrow())).toBeLessThan(10_000);
  });
});

describe('the topology', () => {
  const PRECONDITION_FAILED = { code: 406 };
  const differing = (broker: Broker, declare: (channel: Channel) => Promise<unknown>) =>
    expect(broker.withChannel(declare)).rejects.toMatchObject(PRECONDITION_FAILED);

  test('exchange and queues survive a restart, are replicated, and dead-letter without loss', async () => {
    const broker = await openBroker();
    const { namespace } = broker;
    await broker.withChannel(async (channel) => {
      await declareEventsExchange(channel, namespace);
      await declareServiceQueues(channel, {
        namespace,
        service: 'lasting',
        consumers: [],
        retryDelaysMs: [50],
      });
    });
    await differing(broker, (channel) =>
      channel.assertExchange(broker.eventsExchange, 'topic', { durable: false }),
    );
    const lasting = {
      'x-queue-type': 'quorum',
      'x-overflow': 'reject-publish',
      'x-dead-letter-strategy': 'at-least-once',
      'x-dead-letter-exchange': serviceExchange(namespace, 'lasting'),
      'x-message-ttl': 50,
    };
    const queue = waitQueue(namespace, 'lasting', 50);
    await broker.withChannel((channel) => channel.assertQueue(queue, { durable: true, arguments: lasting }));
    for (const name of ['x-queue-type', 'x-overflow', 'x-dead-letter-strategy'] as const) {
      const { [name]: _without, ...rest } = lasting;
      await differing(broker, (channel) => channel.assertQueue(queue, { durable: true, arguments: rest }));
    }
    await removeBroker(broker, ['lasting'], [50]);
  });

  test('a topology that an operator provides is not declared, and missing parts are named', async () => {
    const namespace = newNamespace();
    const events = [{ ...orderPlaced, consumers: ['provided'] }];
    const url = amqpUrl();
    const connecting = { url, namespace, log, events, topology: 'provisioned' } as const;
    const mark = topologyMark(namespace, events);
    const isRefusedFor = (missing: string) =>
      expect(connectBroker(connecting)).rejects.toMatchObject({
        code: 404,
        message: expect.stringContaining(missing),
      });
    const declaring = await connectBroker({ url, namespace, log });
    await isRefusedFor(mark);
    await declaring.withChannel((channel) => channel.assertExchange(mark, 'fanout'));
    const publisher = await connectBroker({ url, namespace, log, events });
    await publisher.close();
    const broker = await connectBroker(connecting);
    const connection = await openDatabase();
    const handled: string[] = [];
    const consumers = [onEvent(orderPlaced, async ({ id }) => void handled.push(id))];
    const consume = () => startConsumers({ connection, broker, service: 'provided', consumers, log });
    // It has no queue for its dead letters yet.
    await expect(consume()).rejects.toMatchObject({ code: 404 });
    await declaring.withChannel((channel) =>
      declareServiceQueues(channel, {
        namespace,
        service: 'provided',
        consumers: [{ name: orderPlaced.type, type: orderPlaced.type }],
        retryDelaysMs: RETRY_DELAYS_MS,
      }),
    );
    const consuming = await consume();
    const id = await publishEvent(broker);
    await until(() => handled.includes(id));
    await consuming.close();
    await broker.close();
    await declaring.withChannel((channel) => channel.deleteExchange(mark));
    await removeBroker(declaring, ['provided']);
    await dropDatabase(connection);
  });

  test('a producer declares the queues of the consumers of its events, and no others', async () => {
    const namespace = newNamespace();
    const events = [
      { ...orderPlaced, consumers: ['billing'] },
      { ...orderPlaced, type: 'other.order.placed', consumers: ['billing'] },
    ];
    const broker = await connectBroker({ url: amqpUrl(), namespace, log, events, producer: 'shop' });
    const exists = (type: string): Promise<boolean> =>
      broker
        .withChannel((channel) => channel.checkQueue(consumerQueue(namespace, 'billing', type)))
        .then(
          () => true,
          () => false,
        );
    expect([await exists(orderPlaced.type), await exists('other.order.placed')]).toEqual([true, false]);
    await removeBroker(broker, ['billing']);
  });

  test('each retry delay is longer than the one before', () => {
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
  const consuming = await startConsumers({ connection, broker, service: 'traced', consumers, log });
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  await publishEvent(broker, { traceparent: `00-${traceId}-b7ad6b7169203331-01` });
  await until(() => seen.length === 1);
  expect(seen[0]).toContain(traceId);
  await consuming.close();
  await removeBroker(broker, ['traced']);
  await dropDatabase(connection);
});
