import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { createRequestScope, runInScope } from '../../src/kernel/request-scope.ts';
import { type Broker, connectBroker } from '../../src/messaging/broker.ts';
import type { Command } from '../../src/messaging/rpc.ts';
import { createRpcClient, type RpcClient } from '../../src/messaging/rpc-client.ts';
import { type RpcServer, serveRpc } from '../../src/messaging/rpc-server.ts';
import { commandQueue } from '../../src/messaging/topology.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { amqpUrl, cutConnection, log, openBroker, removeBroker, until } from './support.ts';

const request = z.object({ text: z.string() });
const response = z.object({ echoed: z.string() });

let calling: Broker;
let serving: Broker;
type Echo = Command<z.output<typeof request>, z.output<typeof response>>;

let client: RpcClient<{ text: string }, { echoed: string }> | undefined;
let server: RpcServer | undefined;
let lastCommand = 0;
const queues: string[] = [];

beforeAll(async () => {
  calling = await openBroker();
  serving = await openBroker(calling.namespace);
});

afterEach(async () => {
  await client?.close();
  await server?.close();
  client = undefined;
  server = undefined;
});

afterAll(async () => {
  await serving.close();
  await removeBroker(calling, [], [], queues);
});

/** Each test has its own command, and so its own queue. */
const newCommand = (): Echo => {
  lastCommand += 1;
  const name = `echo.${lastCommand}`;
  queues.push(commandQueue(calling.namespace, name));
  return { name, request, response };
};

type Handle = Parameters<typeof serveRpc<{ text: string }, { echoed: string }>>[0]['handle'];

const echo: Handle = async ({ text }) => ({ echoed: text });

const serve = async (command: Echo, handle: Handle, clock?: ManualClock): Promise<void> => {
  server = await serveRpc({ broker: serving, command, handle, log, clock });
};

const connectClient = async (command: Echo, clock?: ManualClock): Promise<void> => {
  client = await createRpcClient({ broker: calling, command, log, clock });
};

const call = (text: string, timeoutMs = 20_000) => {
  if (client === undefined) throw new Error('no client');
  return client.call({ text }, timeoutMs);
};

describe('a reply', () => {
  test('a reply reaches its caller, with many calls at once', async () => {
    const command = newCommand();
    await serve(command, echo);
    await connectClient(command);
    const texts = Array.from({ length: 100 }, (_, index) => `text ${index}`);
    const answers = await Promise.all(texts.map((text) => call(text)));
    expect(answers.map(({ echoed }) => echoed)).toEqual(texts);
  });

  test('a reply reports a failed handler and a command that does not match its schema', async () => {
    const command = newCommand();
    await serve(command, async () => {
      throw new Error('provider down');
    });
    await connectClient(command);
    await expect(call('x')).rejects.toMatchObject({ name: 'RpcRemoteError', code: 'failed' });
    const other = { ...command, request: z.object({ other: z.string() }) };
    const mismatched = await createRpcClient({ broker: calling, command: other, log });
    await expect(mismatched.call({ other: 'x' }, 20_000)).rejects.toMatchObject({
      name: 'RpcRemoteError',
      code: 'invalid_request',
    });
    await mismatched.close();
  });

  test('a reply that does not match its schema is reported', async () => {
    const command = newCommand();
    await serve(command, async () => ({ something: 'else' }) as never);
    await connectClient(command);
    await expect(call('x')).rejects.toMatchObject({ code: 'invalid_response' });
  });
});

describe('a command whose outcome is unknown', () => {
  test('a command without a reply times out at its deadline', async () => {
    const command = newCommand();
    const released = Promise.withResolvers<void>();
    await serve(command, async (payload, delivery) => {
      await released.promise;
      return echo(payload, delivery);
    });
    await connectClient(command);
    await expect(call('slow', 200)).rejects.toMatchObject({ name: 'RpcTimeoutError' });
    released.resolve();
  });

  test('a command fails at once if the connection breaks before the reply', async () => {
    const command = newCommand();
    let started = false;
    const released = Promise.withResolvers<void>();
    await serve(command, async (payload, delivery) => {
      started = true;
      await released.promise;
      return echo(payload, delivery);
    });
    await connectClient(command);
    const reply = call('x', 30_000);
    reply.catch(() => undefined);
    await until(() => started);
    await cutConnection(calling);
    await expect(reply).rejects.toMatchObject({ name: 'RpcTimeoutError' });
    released.resolve();
    await until(() => calling.isConnected());
  });
});

describe('a late command', () => {
  test('a command that waited too long in the queue is never handled', async () => {
    const command = newCommand();
    const handled: string[] = [];
    const handle: Handle = async (payload, delivery) => {
      handled.push(payload.text);
      return echo(payload, delivery);
    };
    await serve(command, handle);
    await server?.close();
    await connectClient(command);
    await expect(call('late', 150)).rejects.toMatchObject({ name: 'RpcTimeoutError' });
    await serve(command, handle);
    await call('in time');
    expect(handled).toEqual(['in time']);
  });

  test('a command that is received after its deadline is dropped, even if delivered in time', async () => {
    const command = newCommand();
    const clock = new ManualClock();
    const serverClock = new ManualClock();
    serverClock.advance(5_001);
    const handled: string[] = [];
    await serve(
      command,
      async (payload, delivery) => {
        handled.push(payload.text);
        return echo(payload, delivery);
      },
      serverClock,
    );
    await connectClient(command, clock);
    const late = call('late', 5_000);
    late.catch(() => undefined);
    clock.advance(5_001);
    await expect(call('in time', 5_000)).resolves.toEqual({ echoed: 'in time' });
    expect(handled).toEqual(['in time']);
    await client?.close();
    await expect(late).rejects.toMatchObject({ name: 'RpcTimeoutError' });
  });
});

describe('a command that was not sent', () => {
  test('a command is not sent if the queue was never declared', async () => {
    await connectClient({ name: 'nobody', request, response });
    await expect(call('x')).rejects.toMatchObject({ name: 'RpcNotSentError' });
  });

  test('a command is not sent if the deadline of the request has passed', async () => {
    const command = newCommand();
    const handled: string[] = [];
    await serve(command, async ({ text }) => {
      handled.push(text);
      return { echoed: text };
    });
    await connectClient(command);
    const late = runInScope(createRequestScope(0), () => call('late'));
    await expect(late).rejects.toMatchObject({ name: 'RpcNotSentError' });
    await call('next');
    expect(handled).toEqual(['next']);
  });

  test('a command is not sent if the broker is not connected', async () => {
    const command = newCommand();
    await serve(command, echo);
    const own = await connectBroker({ url: amqpUrl(), namespace: calling.namespace, log });
    client = await createRpcClient({ broker: own, command, log });
    await cutConnection(own);
    await expect(call('x')).rejects.toMatchObject({ name: 'RpcNotSentError' });
    await until(() => own.isConnected());
    await until(() =>
      call('back').then(
        () => true,
        () => false,
      ),
    );
    await own.close();
    await expect(call('x')).rejects.toMatchObject({ name: 'RpcNotSentError' });
  });
});

describe('a server whose connection breaks while it handles a command', () => {
  test('a server that reconnects handles the command once, replies, and continues to serve', async () => {
    const command = newCommand();
    let handled = 0;
    await serve(command, async (payload, delivery) => {
      handled += 1;
      if (handled === 1) await cutConnection(serving);
      return echo(payload, delivery);
    });
    await connectClient(command);
    await expect(call('x', 20_000)).resolves.toEqual({ echoed: 'x' });
    expect(handled).toBe(1);
    await expect(call('y', 20_000)).resolves.toEqual({ echoed: 'y' });
    expect(handled).toBe(2);
  });

  test('a server that disconnects leaves the command to another process, marked as redelivered', async () => {
    const command = newCommand();
    const never = new Promise<{ echoed: string }>(() => undefined);
    const dying = await openBroker(calling.namespace);
    let started = false;
    await serveRpc({
      broker: dying,
      command,
      log,
      handle: () => {
        started = true;
        return never;
      },
    });
    await connectClient(command);
    const reply = call('x', 20_000);
    await until(() => started);
    const flags: boolean[] = [];
    await serve(command, async (payload, delivery) => {
      flags.push(delivery.redelivered);
      return echo(payload, delivery);
    });
    await dying.close();
    await expect(reply).resolves.toEqual({ echoed: 'x' });
    expect(flags).toEqual([true]);
  });
});
