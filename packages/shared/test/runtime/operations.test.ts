/** The operations that `/ops` of the gateway uses in every service. */
import { randomUUID } from 'node:crypto';
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Caller } from '../../src/kernel/caller.ts';
import { SECOND_MS } from '../../src/kernel/clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import { DEAD_LETTERS_PER_PAGE } from '../../src/kernel/operations.ts';
import { MEMBER_PERMISSIONS, PERMISSIONS } from '../../src/kernel/permissions.ts';
import { onEvent } from '../../src/messaging/consumer.ts';
import { registerEventModels } from '../../src/messaging/models.ts';
import {
  consumerQueue,
  deadLetterQueue,
  formerEventsQueue,
  HEADER,
  serviceExchange,
} from '../../src/messaging/topology.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime, type ServiceRuntime } from '../../src/runtime/service-runtime.ts';
import {
  type Answer,
  apiClient,
  caller,
  dropDatabase,
  dropQueues,
  eventually,
  gatewayContext,
  testConfig,
} from '../../src/testing/harness.ts';

const config = testConfig('wallet');
const ns = config.EVENTS_NAMESPACE;
const OPERATOR = caller(5, ['operations.manage']);

let runtime: ServiceRuntime;
let service: RunningService;
/** Ids of the events that were consumed. */
const consumed: string[] = [];
beforeAll(async () => {
  runtime = await createServiceRuntime('wallet', config, {
    log: createLog({ service: 'wallet', level: 'silent' }),
  });
  service = await runtime.serve({
    routes: [],
    grpc: [],
    consumers: EVENTS.filter((event) => event.consumers?.includes('wallet')).map((event) =>
      onEvent(event, async ({ id }) => void consumed.push(id)),
    ),
  });
});
afterAll(async () => {
  await service.close();
  await dropDatabase(config);
  await dropQueues(config, 'wallet');
});
beforeEach(() => runtime.broker.withChannel((channel) => channel.purgeQueue(deadLetterQueue(ns, 'wallet'))));

const send = async (method: string, path: string, as: Caller = OPERATOR, body?: unknown): Promise<Answer> => {
  const response = await fetch(`${service.url}/internal${path}`, {
    method,
    headers: {
      'x-caller-context': gatewayContext('wallet', as),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
};

/** Dead-letters an event like a consumer after its last try. */
const addDeadLetter = async (): Promise<string> => {
  const id = randomUUID();
  const event = {
    specversion: '1.0',
    id,
    source: '/services/identity',
    type: accountDeleted.type,
    subject: '12',
    time: '2026-01-01T00:00:00.000Z',
    datacontenttype: 'application/json',
    aggregateversion: 3,
    data: { user_id: 12, deleted_at: '2026-01-01T00:00:00.000Z' },
  };
  const headers = { [HEADER.consumer]: accountDeleted.type, [HEADER.error]: 'no such account' };
  const queue = deadLetterQueue(ns, 'wallet');
  await runtime.broker.publish(serviceExchange(ns, 'wallet'), queue, Buffer.from(JSON.stringify(event)), {
    headers,
  });
  return id;
};

const entries = () => runtime.connection.collection('audit_entries').find({}).toArray();

test('events in the queue of release 1.0 are counted, if it exists', async () => {
  const queue = formerEventsQueue(ns, 'wallet');
  const waiting = async (): Promise<number> => (await send('GET', '/operations')).body.queues.waiting;
  expect(await waiting()).toBe(0);
  await runtime.broker.withChannel(async (channel) => {
    await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
    // Its consumers start with the service, which has begun before.
    channel.sendToQueue(queue, Buffer.from('{}'));
    await channel.waitForConfirms();
  });
  await eventually(async () => (await waiting()) === 1);
  await runtime.broker.withChannel((channel) => channel.deleteQueue(queue));
  expect(await waiting()).toBe(0);
});

test('the status has the oldest event of the outbox and the dead letters', async () => {
  const { outbox } = registerEventModels(runtime.connection);
  // The relay would interfere: the broker confirms at once what is really published.
  const occurredAt = new Date(runtime.clock.now().getTime() - 90 * SECOND_MS);
  await addDeadLetter();
  const seen: Answer[] = [];
  for (let tries = 0; tries < 50 && !seen.some(({ body }) => body.outbox.lag_s >= 90); tries += 1) {
    await outbox.create({
      _id: -1 - tries,
      type: 'x.y',
      aggregate: 'x/1',
      aggregateVersion: 1,
      body: '{}',
      occurredAt,
    });
    seen.push(await send('GET', '/operations'));
  }
  const late = seen.find(({ body }) => body.outbox.lag_s >= 90);
  expect(late?.body.outbox.waiting).toBeGreaterThan(0);
  expect(late?.body.queues).toEqual({ waiting: 0, retrying: 0, dead_letters: 1 });
});

test('a message that no consumer can read is counted in a series that starts at 0', async () => {
  const died = async (): Promise<string | undefined> => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return /^events_handled_total\{event="unknown",outcome="dead",service="wallet"\} (\d+)$/m.exec(text)?.[1];
  };
  expect(await died()).toBe('0');
  await runtime.broker.withChannel(async (channel) => {
    channel.sendToQueue(consumerQueue(ns, 'wallet', accountDeleted.type), Buffer.from('no event'));
    await channel.waitForConfirms();
  });
  await eventually(async () => (await died()) === '1');
});

test('dead letters are listed in pages, the oldest first', async () => {
  const ids: string[] = [];
  for (let count = 0; count < DEAD_LETTERS_PER_PAGE + 1; count += 1) ids.push(await addDeadLetter());
  // They have failed at the same time.
  ids.sort();
  const pageOf = async (page: number) => {
    const { body } = await send('GET', `/operations/dead-letters?page=${page}`);
    return [body.total, body.data.map(({ id }: { id: string }) => id)];
  };
  expect(await pageOf(1)).toEqual([ids.length, ids.slice(0, -1)]);
  expect(await pageOf(2)).toEqual([ids.length, ids.slice(-1)]);
  expect(await pageOf(3)).toEqual([ids.length, []]);
  expect((await send('GET', '/operations/dead-letters?page=0')).status).toBe(422);
});

test('dead letters beyond the first thousand are on further pages', async () => {
  const ids = await Promise.all(Array.from({ length: 1_101 }, addDeadLetter));
  const seen: string[] = [];
  for (const [page, length] of [
    [10, 100],
    [11, 100],
    [12, 1],
  ] as const) {
    const { body } = await send('GET', `/operations/dead-letters?page=${page}`);
    expect([page, body.total, body.data.length]).toEqual([page, ids.length, length]);
    seen.push(...body.data.map(({ id }: { id: string }) => id));
  }
  expect(seen).toEqual(ids.sort().slice(900));
}, 60_000);

test('a dead letter is listed without its data, and its replay is recorded with who did it', async () => {
  const id = await addDeadLetter();
  const listed = await send('GET', '/operations/dead-letters');
  expect(listed.body).toEqual({
    data: [
      {
        id,
        type: accountDeleted.type,
        subject: '12',
        consumer: accountDeleted.type,
        attempts: 0,
        error: 'no such account',
        first_failed_at: null,
      },
    ],
    total: 1,
  });
  const before = (await entries()).length;
  const replayed = await send('POST', '/operations/dead-letters/replay', OPERATOR, { id });
  expect([replayed.status, replayed.body]).toEqual([200, { replayed: 1 }]);
  const recorded = (await entries()).slice(before);
  expect(recorded).toMatchObject([{ actor_id: 5, action: 'dead_letters.replay' }]);
  expect(JSON.stringify(recorded[0]?.after)).toContain(`${accountDeleted.type} ${id}`);
  await eventually(() => consumed.includes(id));
  expect((await send('GET', '/operations/dead-letters')).body.total).toBe(0);
  // A second click finds nothing, and records nothing.
  expect((await send('POST', '/operations/dead-letters/replay', OPERATOR, { id })).status).toBe(404);
  expect(await entries()).toHaveLength(before + 1);
});

test('a replay that cannot be recorded does not happen', async () => {
  const id = await addDeadLetter();
  const { record } = runtime.audit;
  runtime.audit.record = () => Promise.reject(new Error('the database is full'));
  try {
    const { status } = await send('POST', '/operations/dead-letters/replay', OPERATOR, { id });
    expect(status).toBe(500);
  } finally {
    runtime.audit.record = record;
  }
  expect((await send('GET', '/operations/dead-letters')).body.total).toBe(1);
});

test('every operations route needs a signature and a permission', async () => {
  const everyOther = PERMISSIONS.filter((permission) => permission !== 'operations.manage');
  for (const [method, path, body] of [
    ['GET', '/operations', undefined],
    ['GET', '/operations/dead-letters', undefined],
    ['POST', '/operations/dead-letters/replay', { id: 'e-4' }],
  ] as const) {
    const statuses = [
      (await send(method, path, caller(6, MEMBER_PERMISSIONS), body)).status,
      (await send(method, path, caller(6, everyOther), body)).status,
      (await send(method, path, { kind: 'guest' }, body)).status,
      (await fetch(`${service.url}/internal${path}`, { method })).status,
    ];
    expect([path, statuses]).toEqual([path, [403, 403, 401, 401]]);
  }
});

test('the operations routes are in no API document and below no public prefix', async () => {
  const document = await (await fetch(`${service.url}/internal/openapi.json`)).text();
  expect(document).not.toContain('operations');
  const publicly = await apiClient('wallet', service.url)('GET', '/operations', { as: OPERATOR });
  expect(publicly.status).toBe(404);
});
