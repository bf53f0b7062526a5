import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { ManualClock } from '../../src/clock.ts';
import { type Broker, connectBroker } from '../../src/events/broker.ts';
import {
  commandQueue,
  createRpcClient,
  type RpcClient,
  type RpcContext,
  type RpcServer,
  serveRpc,
} from '../../src/events/rpc.ts';
import { amqpUrl, cutConnection, log, openBroker, removeBroker, until } from './support.ts';

const request = z.object({ text: z.string() });
const response = z.object({ echoed: z.string() });

let asking: Broker;
let answering: Broker;
let client: RpcClient | undefined;
let server: RpcServer | undefined;
let lastQueue = 0;
const queues: string[] = [];

beforeAll(async () => {
  asking = await openBroker();
  answering = await openBroker(asking.namespace);
});

afterEach(async () => {
  await client?.close();
  await server?.close();
  client = undefined;
  server = undefined;
});

afterAll(async () => {
  await answering.close();
  await removeBroker(asking, [], [], queues);
});

const newQueue = (): string => {
  lastQueue += 1;
  const queue = commandQueue(asking.namespace, `echo.${lastQueue}`);
  queues.push(queue);
  return queue;
};

type Handle = (payload: { text: string }, context: RpcContext) => Promise<{ echoed: string }>;

const echo: Handle = async ({ text }) => ({ echoed: text });

const serve = async (
  queue: string,
  handle: Handle,
  options: { clock?: ManualClock; prefetch?: number } = {},
) => {
  server = await serveRpc({ broker: answering, queue, request, handle, log, ...options });
};

const connectClient = async (queue: string, clock?: ManualClock): Promise<RpcClient> => {
  client = await createRpcClient({ broker: asking, queue, log, clock });
  return client;
};

const ask = (text: string, timeoutMs = 20_000) => {
  if (client === undefined) throw new Error('no client');
  return client.call(request, response, { text }, { timeoutMs });
};

describe('an answer', () => {
  test('comes back to the one who asked, many at once', async () => {
    const queue = newQueue();
    await serve(queue, echo);
    await connectClient(queue);
    const texts = Array.from({ length: 100 }, (_, index) => `text ${index}`);
    const answers = await Promise.all(texts.map((text) => ask(text)));
    expect(answers.map(({ echoed }) => echoed)).toEqual(texts);
  });

  test('says when the handler failed, and when the command does not fit', async () => {
    const queue = newQueue();
    await serve(queue, async () => {
      throw new Error('provider down');
    });
    await connectClient(queue);
    await expect(ask('x')).rejects.toMatchObject({ name: 'RpcRemoteError', code: 'failed' });
    const unfit = client?.call(
      z.object({ other: z.string() }),
      response,
      { other: 'x' },
      { timeoutMs: 20_000 },
    );
    await expect(unfit).rejects.toMatchObject({ name: 'RpcRemoteError', code: 'invalid_request' });
  });

  test('that does not fit its schema is an error of its own', async () => {
    const queue = newQueue();
    await serve(queue, async () => ({ something: 'else' }) as never);
    await connectClient(queue);
    await expect(ask('x')).rejects.toMatchObject({ code: 'invalid_response' });
  });
});

describe('a command whose outcome is unknown', () => {
  test('times out at its deadline', async () => {
    const queue = newQueue();
    const released = Promise.withResolvers<void>();
    await serve(queue, async (payload, context) => {
      await released.promise;
      return echo(payload, context);
    });
    await connectClient(queue);
    await expect(ask('slow', 200)).rejects.toMatchObject({ name: 'RpcTimeoutError' });
    released.resolve();
  });

  test('is told at once when the connection breaks before the answer', async () => {
    const queue = newQueue();
    let started = false;
    const released = Promise.withResolvers<void>();
    await serve(queue, async (payload, context) => {
      started = true;
      await released.promise;
      return echo(payload, context);
    });
    await connectClient(queue);
    const asked = ask('x', 30_000);
    asked.catch(() => undefined);
    await until(() => started);
    await cutConnection(asking);
    await expect(asked).rejects.toMatchObject({ name: 'RpcTimeoutError' });
    released.resolve();
    await until(() => asking.isConnected());
  });
});

describe('a late command', () => {
  test('that waited too long in the queue is never handled', async () => {
    const queue = newQueue();
    const handled: string[] = [];
    const handle: Handle = async (payload, context) => {
      handled.push(payload.text);
      return echo(payload, context);
    };
    await serve(queue, handle);
    await server?.close();
    await connectClient(queue);
    await expect(ask('late', 150)).rejects.toMatchObject({ name: 'RpcTimeoutError' });
    await serve(queue, handle);
    await ask('in time');
    expect(handled).toEqual(['in time']);
  });

  test('that was handed out in time but started too late is dropped by its deadline', async () => {
    const queue = newQueue();
    const clock = new ManualClock();
    const serverClock = new ManualClock();
    serverClock.advance(5_001);
    const handled: string[] = [];
    await serve(
      queue,
      async (payload, context) => {
        handled.push(payload.text);
        return echo(payload, context);
      },
      { clock: serverClock },
    );
    await connectClient(queue, clock);
    const late = ask('late', 5_000);
    late.catch(() => undefined);
    clock.advance(5_001);
    await expect(ask('in time', 5_000)).resolves.toEqual({ echoed: 'in time' });
    expect(handled).toEqual(['in time']);
    await client?.close();
    await expect(late).rejects.toMatchObject({ name: 'RpcTimeoutError' });
  });
});

describe('a command that was definitely not sent', () => {
  test('because nobody ever served the queue', async () => {
    await connectClient(commandQueue(asking.namespace, 'nobody'));
    await expect(ask('x')).rejects.toMatchObject({ name: 'RpcNotSentError' });
  });

  test('because the broker is gone', async () => {
    const queue = newQueue();
    await serve(queue, echo);
    const own = await connectBroker({ url: amqpUrl(), namespace: asking.namespace, log });
    client = await createRpcClient({ broker: own, queue, log });
    await cutConnection(own);
    await expect(ask('x')).rejects.toMatchObject({ name: 'RpcNotSentError' });
    await until(() => own.isConnected());
    await until(() =>
      ask('back').then(
        () => true,
        () => false,
      ),
    );
    await own.close();
    await expect(ask('x')).rejects.toMatchObject({ name: 'RpcNotSentError' });
  });
});

describe('a server whose connection broke while it handled', () => {
  test('handles the command once, answers it, and goes on serving', async () => {
    const queue = newQueue();
    let handled = 0;
    await serve(queue, async (payload, context) => {
      handled += 1;
      if (handled === 1) await cutConnection(answering);
      return echo(payload, context);
    });
    await connectClient(queue);
    await expect(ask('x', 20_000)).resolves.toEqual({ echoed: 'x' });
    expect(handled).toBe(1);
    await expect(ask('y', 20_000)).resolves.toEqual({ echoed: 'y' });
    expect(handled).toBe(2);
  });

  test('tells another process that the command came before', async () => {
    const queue = newQueue();
    const never = new Promise<{ echoed: string }>(() => undefined);
    const dying = await openBroker(asking.namespace);
    let started = false;
    await serveRpc({
      broker: dying,
      queue,
      log,
      handle: () => {
        started = true;
        return never;
      },
    });
    await connectClient(queue);
    const asked = ask('x', 20_000);
    await until(() => started);
    const flags: boolean[] = [];
    await serve(queue, async (payload, context) => {
      flags.push(context.redelivered);
      return echo(payload, context);
    });
    await dying.close();
    await expect(asked).resolves.toEqual({ echoed: 'x' });
    expect(flags).toEqual([true]);
  });
});
