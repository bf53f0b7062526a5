/** No effect of a request begins after its caller has stopped waiting. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mongoose, { type ClientSession, type Model } from 'mongoose';
import { z } from 'zod';
import { createGrpcClient, type GrpcClient } from '../../src/grpc/client.ts';
import { grpcDefinitions } from '../../src/grpc/load.ts';
import { type GrpcHandlers, grpcService } from '../../src/grpc/server.ts';
import { created, defineRoute } from '../../src/http/define-route.ts';
import { REQUEST_TIMEOUT_HEADER } from '../../src/http/gateway-protocol.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createRequestScope, remainingMs, runInScope } from '../../src/kernel/request-scope.ts';
import type { Connection } from '../../src/mongo/connect.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { monitored } from '../../src/testing/commands.ts';
import {
  type Answer,
  apiClient,
  dropDatabase,
  eventually,
  testConfig,
  testSigner,
} from '../../src/testing/harness.ts';

interface Note {
  _id: number;
  text: string;
}

const config = monitored(testConfig('identity'));
/** A timeout that expires during a test. */
const SHORT_MS = 300;
/** Time for a call to arrive, which then lets it expire; more on a slow machine. */
const CALL_MS = 500;
/** A timeout that does not. */
const LONG_MS = 60_000;

let service: RunningService;
let connection: Connection;
let notes: Model<Note>;
let client: GrpcClient<IdentityDefinition>;
let lastId = 0;
/** What the gRPC handler saw, and what it was able to do after its caller had gone. */
let called: { remaining: number; outcome: Promise<unknown> } | undefined;

const expired = (): Promise<boolean> => eventually(() => remainingMs() <= 0);

const insert = (id: number, before: () => Promise<unknown> = async () => undefined): Promise<unknown> =>
  inTransaction(connection, async (session) => {
    await notes.create([{ _id: id, text: 'new' }], { session });
    await before();
  });

const setText = (id: number, text: string, session: ClientSession | null = null) =>
  notes.updateOne({ _id: id }, { $set: { text } }).session(session);

const work: Record<string, (id: number) => Promise<unknown>> = {
  remaining: async () => undefined,
  'expires-before-the-transaction': async (id) => {
    await expired();
    await insert(id);
  },
  'expires-in-the-transaction': (id) => insert(id, expired),
  'expires-before-a-write': async (id) => {
    await expired();
    await notes.updateOne({ _id: id }, { $set: { text: 'new' } }, { upsert: true });
  },
  write: (id) => inTransaction(connection, (session) => setText(id, 'late', session)),
  'plain-write': (id) => setText(id, 'plain'),
  'expires-before-a-call': async () => {
    await expired();
    await client.call('GetHiddenUsers', { ids: [newId()] });
  },
};

const handlers = {
  GetHiddenUsers: async ({ ids }: { ids: number[] }) => {
    const [id = 0] = ids;
    if (id === 0) return { pending_ids: [], gone_ids: [] };
    const outcome = expired().then(() => insert(id));
    called = { remaining: remainingMs(), outcome: outcome.catch((error: unknown) => error) };
    await outcome;
    return { pending_ids: [], gone_ids: [] };
  },
} as unknown as GrpcHandlers<IdentityDefinition>;

beforeAll(async () => {
  const runtime = await createServiceRuntime('identity', config, {
    log: createLog({ service: 'identity', level: 'silent' }),
  });
  ({ connection } = runtime);
  notes = connection.model<Note>('Note', new mongoose.Schema<Note>({ _id: Number, text: String }));
  const routes = Object.entries(work).map(([name, run]) =>
    defineRoute({
      method: 'POST',
      path: `/${name}`,
      summary: name,
      tag: 'test',
      access: 'guest',
      body: z.object({ id: z.int() }),
      responses: { 201: z.object({ remaining: z.number().nullable() }) },
      handle: async ({ body }) => {
        const remaining = remainingMs();
        await run(body.id);
        return created({ remaining: Number.isFinite(remaining) ? remaining : null });
      },
    }),
  );
  service = await runtime.serve({
    routes,
    grpc: [grpcService(grpcDefinitions.identity(), handlers)],
    consumers: [],
  });
  client = createGrpcClient({
    definition: grpcDefinitions.identity(),
    address: service.grpcAddress,
    target: 'identity',
    signer: testSigner('content'),
    deadlineMs: LONG_MS,
  });
});

afterAll(async () => {
  client.close();
  await service.close();
  await dropDatabase(config);
});

/** A connection that breaks like a killed process's. */
const cuttable = async (address: string) => {
  const [host, port] = address.split(':');
  const sockets = new Set<Socket>();
  const proxy = createServer((from) => {
    const to = connect(Number(port), host);
    for (const socket of [from, to]) sockets.add(socket.on('error', () => undefined));
    from.pipe(to).pipe(from);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut,
    close: () => {
      const closed = new Promise((resolve) => proxy.close(resolve));
      cut();
      return closed;
    },
  };
};

const newId = (): number => {
  lastId += 1;
  return lastId;
};

const post = (name: string, id: number, timeout?: string): Promise<Answer> =>
  apiClient('identity', service.url)('POST', `/${name}`, {
    body: { id },
    ...(timeout === undefined ? {} : { headers: { [REQUEST_TIMEOUT_HEADER]: timeout } }),
  });

const isStored = async (id: number): Promise<boolean> => (await notes.countDocuments({ _id: id })) === 1;

describe('a request', () => {
  test('a request has the timeout that its caller sets, else no limit', async () => {
    const { remaining } = (await post('remaining', 0, String(LONG_MS))).body;
    expect(remaining).toBeGreaterThan(0);
    expect(remaining).toBeLessThanOrEqual(LONG_MS);
    for (const timeout of [undefined, '0', '-5', 'soon', '1e9', '99999999999'])
      expect((await post('remaining', 0, timeout)).body).toEqual({ remaining: null });
  });

  test.each(['expires-before-the-transaction', 'expires-in-the-transaction', 'expires-before-a-write'])(
    'a request that %s fails with 503, and nothing is stored',
    async (name) => {
      const id = newId();
      const answer = await post(name, id, String(SHORT_MS));
      expect([answer.status, answer.body]).toEqual([503, { message: expect.any(String) }]);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await isStored(id)).toBe(false);
    },
  );

  test('an expired request calls no other service', async () => {
    called = undefined;
    expect((await post('expires-before-a-call', 0, String(SHORT_MS))).status).toBe(503);
    expect(called).toBeUndefined();
  });

  test('a write that waits for an orphaned transaction fails with 503, and never has an effect', async () => {
    const id = newId();
    await notes.create({ _id: id, text: 'first' });
    const orphan = await connection.startSession();
    orphan.startTransaction();
    await notes.updateOne({ _id: id }, { $set: { text: 'orphaned' } }, { session: orphan });
    const answer = await post('write', id, String(SHORT_MS));
    expect([answer.status, answer.body]).toEqual([503, { message: expect.any(String) }]);
    await orphan.abortTransaction();
    await orphan.endSession();
    // A write that comes later is executed.
    const other = newId();
    expect((await post('write', other, String(LONG_MS))).status).toBe(201);
    expect((await notes.findById(id).lean())?.text).toBe('first');
  });

  test('a request limits each of its commands at the server', async () => {
    const limits: unknown[] = [];
    const watch = ({ commandName, command }: mongoose.mongo.CommandStartedEvent): void => {
      if (commandName === 'update' && command.update === 'notes') limits.push(command.maxTimeMS);
    };
    connection.getClient().on('commandStarted', watch);
    await post('plain-write', newId(), String(5_000));
    await post('plain-write', newId());
    connection.getClient().off('commandStarted', watch);
    expect(limits).toEqual([expect.any(Number), undefined]);
    expect(limits[0]).toBeLessThanOrEqual(5_000);
  });
});

describe('a call', () => {
  const startCall = (timeoutMs: number, id: number): Promise<unknown> => {
    called = undefined;
    return runInScope(createRequestScope(timeoutMs), () => client.call('GetHiddenUsers', { ids: [id] }));
  };

  test('a call has at most the time of its request, and changes nothing afterwards', async () => {
    const id = newId();
    // Connects.
    await client.call('GetHiddenUsers', { ids: [0] });
    let limitMs = CALL_MS;
    await expect(startCall(limitMs, id)).rejects.toMatchObject({ kind: 'unavailable' });
    while (called === undefined) {
      limitMs *= 2;
      await expect(startCall(limitMs, id)).rejects.toMatchObject({ kind: 'unavailable' });
    }
    const { remaining, outcome } = await eventually(() => called);
    expect(remaining).toBeLessThanOrEqual(limitMs);
    expect(await outcome).toMatchObject({ kind: 'unavailable' });
    expect(await isStored(id)).toBe(false);
  });

  test('a call whose caller has gone changes nothing', async () => {
    const id = newId();
    const proxy = await cuttable(service.grpcAddress);
    const leaving = createGrpcClient({
      definition: grpcDefinitions.identity(),
      address: proxy.address,
      target: 'identity',
      signer: testSigner('content'),
      deadlineMs: LONG_MS,
    });
    called = undefined;
    const call = leaving.call('GetHiddenUsers', { ids: [id] }).catch((error: unknown) => error);
    const { outcome } = await eventually(() => called);
    proxy.cut();
    expect(await call).toMatchObject({ kind: 'unavailable' });
    expect(await outcome).toMatchObject({ kind: 'unavailable' });
    expect(await isStored(id)).toBe(false);
    leaving.close();
    await proxy.close();
  });
});
