import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import { Client, credentials, Metadata, type ServiceDefinition, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createGrpcClient, type GrpcClient, LONGEST_RECONNECT_MS } from '../../src/grpc/client.ts';
import { grpcDefinitions } from '../../src/grpc/load.ts';
import { type GrpcHandlers, type GrpcServer, grpcService, startGrpcServer } from '../../src/grpc/server.ts';
import type { Caller } from '../../src/kernel/caller.ts';
import { deadlineIn, MINUTE_MS } from '../../src/kernel/clock.ts';
import {
  AppError,
  badRequest,
  conflict,
  forbidden,
  internalError,
  invalid,
  message,
  notFound,
  unauthenticated,
  unavailable,
} from '../../src/kernel/error.ts';
import { createMetrics } from '../../src/kernel/metrics.ts';
import type { ProcessName } from '../../src/kernel/process-name.ts';
import { currentTrace, runWithTrace, type TraceContext } from '../../src/kernel/trace.ts';
import {
  CALLER_HEADER,
  type CallerSigner,
  type InternalContext,
} from '../../src/process-identity/caller-context.ts';
import { caller, eventually, strangerSigner, testSigner, workerLoopback } from '../../src/testing/harness.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { log, pause } from '../messaging/support.ts';

type GetHiddenUsers = GrpcHandlers<IdentityDefinition>['GetHiddenUsers'];

const definition = grpcDefinitions.identity();
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const startServer = async (handle: GetHiddenUsers, address = '127.0.0.1:0'): Promise<GrpcServer> => {
  const handlers = { GetHiddenUsers: handle } as unknown as GrpcHandlers<IdentityDefinition>;
  const server = await startGrpcServer({
    address,
    services: [grpcService(definition, handlers)],
    signer: testSigner('identity'),
    metrics: createMetrics('identity', { defaults: false }),
    log,
  });
  closers.push(() => server.close());
  return server;
};

const metrics = createMetrics('caller', { defaults: false });

const connect = (
  address: string,
  options: { deadlineMs?: number; signer?: CallerSigner } = {},
): GrpcClient<IdentityDefinition> => {
  const client = createGrpcClient({
    definition,
    address,
    target: 'identity',
    signer: testSigner('content'),
    metrics,
    ...options,
  });
  closers.push(() => client.close());
  return client;
};

const fixed: GetHiddenUsers = async ({ ids }) => ({ pending_ids: ids, gone_ids: [5] });

/** The response of a call, or its error. */
const outcomeOf = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    return await call;
  } catch (error) {
    return error;
  }
};

const ask = (client: GrpcClient<IdentityDefinition>, options?: Parameters<typeof client.call>[2]) =>
  outcomeOf(client.call('GetHiddenUsers', { ids: [1] }, options));

const answered = { pending_ids: [1], gone_ids: [5] };

/** Simulates a process that is killed: a proxy that closes every connection at once. */
const killable = async (address: string) => {
  const [host, port] = address.split(':');
  const sockets = new Set<Socket>();
  let proxy: Server;
  let bound = 0;
  const start = async (): Promise<void> => {
    proxy = createServer((client) => {
      const upstream = dial(Number(port), host);
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on('error', () => undefined);
      }
      client.pipe(upstream).pipe(client);
    });
    await new Promise<void>((resolve) => proxy.listen(bound, workerLoopback(), resolve));
    const listening = proxy.address();
    if (listening === null || typeof listening === 'string') throw new Error('no port');
    bound = listening.port;
  };
  const kill = async (): Promise<void> => {
    const closed = new Promise((resolve) => proxy.close(resolve));
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await closed;
  };
  await start();
  closers.push(kill);
  return { address: `${workerLoopback()}:${bound}`, kill, start };
};

describe('a refusal', () => {
  const refusals: [string, AppError][] = [
    ['bad_request', badRequest('payments.insufficient_balance', message('payments.insufficient_balance'))],
    ['forbidden', forbidden('not yours')],
    ['not_found', notFound('gyms.not_found')],
    ['conflict', conflict('idempotency.running', message('blocker.gym_ownership', { count: 3 }))],
    ['unauthenticated', unauthenticated()],
    ['validation', invalid({ amount: message('validation.min_value', { min: 1 }) })],
    [
      'rate_limited',
      new AppError({
        kind: 'rate_limited',
        code: 'rate_limited',
        message: message('error.rate_limited'),
        retryAfterS: 17,
      }),
    ],
    [
      'too_large',
      new AppError({ kind: 'too_large', code: 'too_large', message: message('error.too_large') }),
    ],
    [
      'unsupported_media_type',
      new AppError({
        kind: 'unsupported_media_type',
        code: 'unsupported_media_type',
        message: message('error.unsupported_media_type'),
      }),
    ],
    [
      'method_not_allowed',
      new AppError({
        kind: 'method_not_allowed',
        code: 'method_not_allowed',
        message: message('error.method_not_allowed'),
      }),
    ],
    [
      'request_timeout',
      new AppError({
        kind: 'request_timeout',
        code: 'request_timeout',
        message: message('error.request_timeout'),
      }),
    ],
  ];

  test.each(refusals)(
    'a refusal of kind %s arrives with its kind, code, text and fields',
    async (_kind, refusal) => {
      const server = await startServer(async () => {
        throw refusal;
      });
      const error = (await ask(connect(server.address))) as AppError;
      expect(error).toMatchObject({ name: 'AppError', kind: refusal.kind, code: refusal.code });
      expect(error.publicMessage).toEqual(refusal.publicMessage);
      expect(error.fields).toEqual(refusal.fields);
      expect(error.retryAfterS).toBe(refusal.retryAfterS);
    },
  );

  test.each([
    [
      'a failure that is named',
      internalError('payments.provider_error', message('payments.provider_error'), 'at db-7'),
    ],
    ['a part that cannot be reached', unavailable('db-7 is gone')],
    ['a fault', new TypeError('cannot read db-7')],
  ])('%s is reported as unavailable, without any internal detail', async (_name, thrown) => {
    const server = await startServer(async () => {
      throw thrown;
    });
    const error = (await ask(connect(server.address))) as AppError;
    expect(error).toMatchObject({ kind: 'unavailable', code: 'unavailable', retryAfterS: 5 });
    expect(error.message).not.toContain('db-7');
  });
});

describe('the caller', () => {
  const unsigned = async (address: string, metadata: Metadata): Promise<unknown> => {
    const client = new Client(address, credentials.createInsecure());
    closers.push(() => client.close());
    const { path, requestSerialize, responseDeserialize } = (definition as unknown as ServiceDefinition)
      .GetHiddenUsers as ServiceDefinition[string];
    return new Promise((resolve) => {
      const deadline = { deadline: deadlineIn(2_000) };
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        { ids: [1] },
        metadata,
        deadline,
        (error, response) => resolve(error?.code ?? response),
      );
    });
  };

  test('a call without a valid signature reaches no handler', async () => {
    let handled = 0;
    const server = await startServer(async (request, context) => {
      handled += 1;
      return fixed(request, context);
    });
    const signedBy = (signer: CallerSigner, audience: ProcessName = 'identity'): Metadata => {
      const metadata = new Metadata();
      metadata.set(CALLER_HEADER, signer.sign(audience, caller(1)));
      return metadata;
    };
    expect(await unsigned(server.address, new Metadata())).toBe(status.UNAUTHENTICATED);
    const minuteAgo = new ManualClock(new Date(Date.now() - MINUTE_MS));
    const refused = {
      forged: signedBy(strangerSigner('content')),
      expired: signedBy(testSigner('content', minuteAgo)),
      'meant for another process': signedBy(testSigner('content'), 'wallet'),
      'of a process that is not declared for it': signedBy(testSigner('gyms')),
      'of the gateway': signedBy(testSigner('gateway')),
    };
    for (const [name, metadata] of Object.entries(refused))
      expect([name, await unsigned(server.address, metadata)]).toEqual([name, status.UNAUTHENTICATED]);
    expect(handled).toBe(0);
    expect(await unsigned(server.address, signedBy(testSigner('content')))).toEqual(answered);
  });

  test('a server does not start with an RPC that nobody is declared to call', async () => {
    const { GetHiddenUsers } = definition as unknown as ServiceDefinition;
    const undeclared = { Empty: { ...GetHiddenUsers, path: '/fitness.identity.v1.Identity/Empty' } };
    const starting = startGrpcServer({
      address: '127.0.0.1:0',
      services: [grpcService(undeclared, { Empty: fixed } as never)],
      signer: testSigner('identity'),
      metrics,
      log,
    });
    await expect(starting).rejects.toThrow('/fitness.identity.v1.Identity/Empty');
  });

  test.each([
    ['with another key', () => strangerSigner('content')],
    ['that is not declared for the RPC', () => testSigner('gyms')],
  ])('a process %s gets `unavailable`, not 401', async (_name, signer) => {
    const server = await startServer(fixed);
    const client = connect(server.address, { signer: signer() });
    expect(await ask(client, { caller: caller(1) })).toMatchObject({ kind: 'unavailable' });
  });

  test('the handler knows the calling process, and the user on whose behalf it calls', async () => {
    const contexts: InternalContext[] = [];
    const server = await startServer(async (request, context) => {
      contexts.push(context);
      return fixed(request, context);
    });
    const client = connect(server.address);
    const user: Caller = caller(12, ['payments.view_own']);
    await ask(client);
    await ask(client, { caller: user });
    expect(contexts).toEqual([
      { from: 'content', caller: { kind: 'guest' } },
      { from: 'content', caller: user },
    ]);
  });

  test('the trace id and the request id are propagated; each call has its own span', async () => {
    const traces: (TraceContext | undefined)[] = [];
    const server = await startServer(async (request, context) => {
      await pause(1);
      traces.push(currentTrace());
      return fixed(request, context);
    });
    const client = connect(server.address);
    const traceparent = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
    await runWithTrace({ traceparent, requestId: 'request-1' }, () =>
      Promise.all([ask(client), ask(client)]),
    );
    await ask(client);
    const [first, second, fresh] = traces;
    for (const trace of [first, second]) {
      expect(trace?.requestId).toBe('request-1');
      expect(trace?.traceparent.slice(0, 36)).toBe(traceparent.slice(0, 36));
    }
    expect(new Set([traceparent, first?.traceparent, second?.traceparent]).size).toBe(3);
    expect(fresh?.requestId).toBeUndefined();
    expect(fresh?.traceparent).not.toContain('a1'.repeat(16));
  });
});

const never = (): Promise<never> => new Promise(() => undefined);

describe('a target that does not respond', () => {
  test('a target without a response by the deadline is unavailable, even by the default deadline', async () => {
    const server = await startServer(never);
    const client = connect(server.address, { deadlineMs: 10 });
    const startedAt = performance.now();
    expect(await ask(client)).toMatchObject({ kind: 'unavailable' });
    expect(await ask(client, { deadlineMs: 20, retry: true })).toMatchObject({ kind: 'unavailable' });
    // Sooner than the default deadline of a client.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test('a target that is down is unavailable at once', async () => {
    const client = connect('127.0.0.1:1', { deadlineMs: 10_000 });
    const startedAt = performance.now();
    expect(await ask(client)).toMatchObject({ kind: 'unavailable' });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test('a killed target is unavailable at once, even for current calls, and recovers after its restart', async () => {
    let isUnderWay = false;
    const server = await startServer(async (request, context) => {
      if (request.ids[0] !== 2) return fixed(request, context);
      isUnderWay = true;
      return never();
    });
    const process = await killable(server.address);
    const client = connect(process.address, { deadlineMs: 20_000 });
    expect(await ask(client)).toEqual(answered);
    const underWay = outcomeOf(client.call('GetHiddenUsers', { ids: [2] }));
    await eventually(() => isUnderWay);
    const killedAt = performance.now();
    await process.kill();
    expect(await underWay).toMatchObject({ kind: 'unavailable' });
    expect(await ask(client)).toMatchObject({ kind: 'unavailable' });
    expect(performance.now() - killedAt).toBeLessThan(5_000);
    // Enough to open the breaker.
    for (let i = 0; i < 12; i += 1) await ask(client);
    await process.start();
    await eventually(
      async () => (await ask(client).then((outcome) => !(outcome instanceof AppError))) === true,
    );
  });
});

describe('the breaker', () => {
  /** A target that counts its calls and fails on demand. */
  const fickle = async () => {
    const state = { calls: 0, failing: true, refusing: false };
    const server = await startServer(async (request, context) => {
      state.calls += 1;
      if (state.refusing) throw notFound();
      if (state.failing) throw new Error('broken');
      return fixed(request, context);
    });
    return { state, client: connect(server.address) };
  };

  test('the breaker does not open before ten calls', async () => {
    const { state, client } = await fickle();
    for (let i = 0; i < 9; i += 1) await ask(client);
    state.failing = false;
    expect(await ask(client)).toEqual(answered);
    expect(state.calls).toBe(10);
  });

  test('the breaker opens after ten failures, sends no calls while open, and closes after the recovery', async () => {
    const { state, client } = await fickle();
    for (let i = 0; i < 10; i += 1) await ask(client);
    expect(await metrics.text()).toContain('circuit_breaker_open{target="identity",service="caller"} 1');
    const refused = await Promise.all(Array.from({ length: 20 }, () => ask(client)));
    for (const outcome of refused) expect(outcome).toMatchObject({ kind: 'unavailable' });
    expect(state.calls).toBe(10);
    state.failing = false;
    await eventually(
      async () => (await ask(client).then((outcome) => !(outcome instanceof AppError))) === true,
    );
    expect(await metrics.text()).toContain('circuit_breaker_open{target="identity",service="caller"} 0');
    for (let i = 0; i < 20; i += 1) expect(await ask(client)).toEqual(answered);
  });

  test('the breaker and the channel reach a restarted target within two seconds', () => {
    expect(LONGEST_RECONNECT_MS).toBeLessThanOrEqual(2_000);
  });

  test('the breaker never opens on refusals', async () => {
    const { state, client } = await fickle();
    state.refusing = true;
    for (let i = 0; i < 50; i += 1) expect(await ask(client)).toMatchObject({ kind: 'not_found' });
    expect(state.calls).toBe(50);
  });
});

describe('a call to a target that is down', () => {
  const failingOnce = async () => {
    let calls = 0;
    const server = await startServer(async (request, context) => {
      calls += 1;
      if (calls === 1) throw unavailable('not yet');
      return fixed(request, context);
    });
    return { client: connect(server.address), calls: () => calls };
  };

  test('a call is retried once if retries are allowed', async () => {
    const { client, calls } = await failingOnce();
    expect(await ask(client, { retry: true })).toEqual(answered);
    expect(calls()).toBe(2);
  });

  test('a call is not retried by default', async () => {
    const { client, calls } = await failingOnce();
    expect(await ask(client)).toMatchObject({ kind: 'unavailable' });
    expect(calls()).toBe(1);
  });

  test('a call is never retried after an error, a refusal or a deadline', async () => {
    let calls = 0;
    const thrown = [new Error('broken'), forbidden()];
    const server = await startServer(async () => {
      calls += 1;
      const error = thrown.shift();
      if (error !== undefined) throw error;
      return never();
    });
    const client = connect(server.address);
    for (let i = 0; i < 2; i += 1) await ask(client, { retry: true });
    await ask(client, { retry: true, deadlineMs: 30 });
    expect(calls).toBe(3);
  });
});

describe('a server', () => {
  test('a server serves two hundred concurrent calls, each with its own response', async () => {
    const server = await startServer(fixed);
    const client = connect(server.address, { deadlineMs: 20_000 });
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => client.call('GetHiddenUsers', { ids: [i + 1] })),
    );
    expect(answers.map((answer) => answer.pending_ids[0])).toEqual(
      Array.from({ length: 200 }, (_, i) => i + 1),
    );
  });

  test('a server that closes finishes current calls', async () => {
    const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const server = await startServer(async (request, context) => {
      arrived.resolve();
      await released.promise;
      return fixed(request, context);
    });
    const client = connect(server.address);
    const underWay = ask(client);
    await arrived.promise;
    const closing = server.close();
    await pause(50);
    released.resolve();
    await closing;
    expect(await underWay).toEqual(answered);
    expect(await ask(client)).toMatchObject({ kind: 'unavailable' });
  });
});
