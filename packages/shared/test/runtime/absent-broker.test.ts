/** A service that starts while RabbitMQ is away. */

import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { defineRoute, ok } from '../../src/http/define-route.ts';
import { createLog } from '../../src/kernel/log.ts';
import { onEvent } from '../../src/messaging/consumer.ts';
import { registerEventModels } from '../../src/messaging/models.ts';
import { RpcNotSentError } from '../../src/messaging/rpc.ts';
import { createRpcClient } from '../../src/messaging/rpc-client.ts';
import { serveRpc } from '../../src/messaging/rpc-server.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime, type ServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { apiClient, dropDatabase, dropQueues, eventually, testConfig } from '../../src/testing/harness.ts';
import { startTcpProxy, type TcpProxy } from '../../src/testing/tcp-proxy.ts';

/** Less than the thirty seconds for which a command waits for the broker. */
const START_MS = 15_000;
const config = testConfig('gyms');
const command = { name: 'late.command', request: z.null(), response: z.literal('done') };
const handled: string[] = [];

let proxy: TcpProxy;
let runtime: ServiceRuntime;
let service: RunningService;
let startedInMs = 0;

const route = (method: 'GET' | 'POST', handle: () => Promise<unknown>) =>
  defineRoute({
    method,
    path: '/notes',
    summary: 'notes',
    tag: 'test',
    access: 'guest',
    responses: { 200: z.object({}) },
    handle: async () => {
      await handle();
      return ok({});
    },
  });

beforeAll(async () => {
  proxy = await startTcpProxy(config.AMQP_URL);
  proxy.cut();
  const startedAt = performance.now();
  const log = createLog({ service: 'gyms', level: 'silent' });
  runtime = await createServiceRuntime('gyms', { ...config, AMQP_URL: proxy.uri }, { log });
  const { connection, outbox } = runtime;
  const publish = () =>
    inTransaction(connection, (session) =>
      outbox.publish(session, gymDeleted, { subject: 7, data: { gym_id: 7 } as never, aggregateVersion: 1 }),
    );
  service = await runtime.serve({
    routes: [route('GET', async () => undefined), route('POST', publish)],
    grpc: [],
    consumers: [onEvent(gymDeleted, async ({ subject }) => void handled.push(subject))],
  });
  startedInMs = performance.now() - startedAt;
});

afterAll(async () => {
  await service.close();
  await proxy.close();
  await dropDatabase(config);
  await dropQueues(config, 'gyms', [command.name]);
});

test('a service starts without a broker, and publishes and consumes once the broker is up', async () => {
  expect(startedInMs).toBeLessThan(START_MS);
  const { broker, connection } = runtime;
  const rpc = { broker, command, log: runtime.log };
  const server = await serveRpc({ ...rpc, handle: async () => 'done' as const });
  const client = await createRpcClient(rpc);

  const ready = await fetch(`${service.url}/health/ready`);
  const body = (await ready.json()) as { dependencies: Record<string, { state: string }> };
  expect([ready.status, body.dependencies.rabbitmq?.state, body.dependencies.mongodb?.state]).toEqual([
    200,
    'down',
    'up',
  ]);
  const call = apiClient('gyms', service.url);
  expect((await call('GET', '/notes')).status).toBe(200);
  expect((await call('POST', '/notes')).status).toBe(200);
  await expect(client.call(null, 1_000)).rejects.toThrow(RpcNotSentError);
  expect([await registerEventModels(connection).outbox.countDocuments({}), handled]).toEqual([1, []]);

  proxy.restore();
  await eventually(() => handled.includes('7'));
  await eventually(async () => (await registerEventModels(connection).outbox.countDocuments({})) === 0);
  expect(await client.call(null, 10_000)).toBe('done');
  const later = (await (await fetch(`${service.url}/health/ready`)).json()) as typeof body;
  expect(later.dependencies.rabbitmq?.state).toBe('up');
  await client.close();
  await server.close();
});
